"""Which models and tool servers the operator's chains use. What is only built in is nobody's fault."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from midwatch.config import builtins
from midwatch.config.chains import Chain
from midwatch.config.llm import Provider
from midwatch.config.load import Config
from midwatch.config.mcp import McpServer
from midwatch.config.resolve import ExecutionSettings, resolve_execution


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    chains: tuple[str, ...]
    providers: Mapping[str, Provider]
    servers: Mapping[str, McpServer]


def find_scope(config: Config) -> Scope:
    chains = {name: chain for name, chain in config.chains.items() if _is_used(config, name, chain)}
    executions = [settings for chain in chains.values() for settings in _resolve(config, chain)]
    providers = {name: provider for settings in executions for name, provider in _models_of(settings)}
    servers = {name: config.mcp_servers[name] for settings in executions for name in settings.servers}
    return Scope(chains=tuple(chains), providers=providers, servers=servers)


def _is_used(config: Config, name: str, chain: Chain) -> bool:
    """The operator wrote it, or an alert without a type comes to it."""
    return name not in builtins.CHAINS or config.defaults.alert_type in chain.alert_types


def _resolve(config: Config, chain: Chain) -> Iterator[ExecutionSettings]:
    for stage in chain.stages:
        for agent in stage.agents:
            yield resolve_execution(config, chain, stage=stage, stage_agent=agent)


def _models_of(settings: ExecutionSettings) -> Iterator[tuple[str, Provider]]:
    yield settings.provider_name, settings.provider
    for choice in (*settings.fallbacks, *(summarizer.model for summarizer in settings.summarizers.values())):
        yield choice.provider_name, choice.provider
