"""Every name one part of the configuration uses for another must lead somewhere."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from midwatch.config.agents import Agent
from midwatch.config.chains import Chain, Stage, StageAgent
from midwatch.config.defaults import Defaults
from midwatch.config.llm import OpenAiProvider, ScriptedProvider, UnsupportedProvider
from midwatch.config.mcp import DataMasking, McpServer
from midwatch.config.sections import Source
from midwatch.config.sentences import dotted, suggest
from midwatch.config.yaml import KeyPath
from midwatch.masking.mask import check_pattern
from midwatch.masking.patterns import GROUPS, KUBERNETES_SECRET, PATTERNS

_RESERVED_SERVERS = frozenset({"infra", "result", "midwatch"})
_PATTERNS = (*PATTERNS, KUBERNETES_SECRET)
_SERVER_ID = re.compile(r"[a-zA-Z0-9_-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The sound entries of both files, before anybody has asked whether they fit together."""

    main: Source
    providers_file: Source
    mcp_servers: Mapping[str, McpServer]
    agents: Mapping[str, Agent]
    chains: Mapping[str, Chain]
    providers: Mapping[str, OpenAiProvider | ScriptedProvider | UnsupportedProvider]
    defaults: Defaults
    environ: Mapping[str, str]


def check_references(parts: Parts) -> None:
    _check_server_ids(parts.main)
    for name, server in parts.mcp_servers.items():
        _check_masking(parts.main, server.data_masking, path=("mcp_servers", name, "data_masking"))
    for name, agent in parts.agents.items():
        _check_servers(parts.main, agent.mcp_servers, path=("agents", name, "mcp_servers"))
    for name, chain in parts.chains.items():
        _check_chain(parts, chain, path=("agent_chains", name))
    _check_alert_types(parts)
    _check_alert_masking(parts)
    _check_providers(parts)


def _check_server_ids(main: Source) -> None:
    for name in main.names("mcp_servers"):
        path = ("mcp_servers", name)
        if name in _RESERVED_SERVERS:
            main.problem(path, f'{dotted(path)}: the id "{name}" is reserved')
        elif "__" in name or not _SERVER_ID.fullmatch(name):
            main.problem(
                path, f"{dotted(path)}: an id is made of letters, digits, - and _, without two _ beside each other"
            )


def _check_chain(parts: Parts, chain: Chain, *, path: KeyPath) -> None:
    _check_servers(parts.main, chain.mcp_servers or (), path=(*path, "mcp_servers"))
    for index, stage in enumerate(chain.stages):
        _check_stage(parts, stage, path=(*path, "stages", index), provider=chain.llm_provider)


def _check_stage(parts: Parts, stage: Stage, *, path: KeyPath, provider: str | None) -> None:
    _check_servers(parts.main, stage.mcp_servers or (), path=(*path, "mcp_servers"))
    if len(stage.agents) > 1 or stage.replicas > 1:
        where = (*path, "agents" if len(stage.agents) > 1 else "replicas")
        parts.main.problem(where, f"{dotted(where)}: parallel agents are not supported by this version; name one agent")
    for index, agent in enumerate(stage.agents):
        _check_stage_agent(parts, agent, path=(*path, "agents", index), provider=provider)


def _check_stage_agent(parts: Parts, agent: StageAgent, *, path: KeyPath, provider: str | None) -> None:
    _check_name(parts.main, agent.name, path=(*path, "name"), what="agent", known=parts.main.names("agents"))
    _check_servers(parts.main, agent.mcp_servers or (), path=(*path, "mcp_servers"))
    if not (agent.llm_provider or provider or _writes_default_provider(parts.main)):
        parts.main.problem(path, f"{dotted(path)}: has no model; set llm_provider here, on the chain or in defaults")


def _writes_default_provider(main: Source) -> bool:
    """Asks the file, since a broken `defaults` block was already complained about."""
    match main.document.data:
        case {"defaults": {"llm_provider": _}}:
            return True
        case _:
            return False


def _check_servers(main: Source, names: Iterable[str], *, path: KeyPath) -> None:
    for index, name in enumerate(names):
        _check_name(main, name, path=(*path, index), what="MCP server", known=main.names("mcp_servers"))


def _check_name(source: Source, name: str, *, path: KeyPath, what: str, known: Iterable[str]) -> bool:
    if name in known:
        return True
    source.problem(path, f'{dotted(path)}: there is no {what} "{name}"{suggest(name, known)}')
    return False


def _check_alert_types(parts: Parts) -> None:
    takers: dict[str, str] = {}
    for chain_name, chain in parts.chains.items():
        for index, alert_type in enumerate(chain.alert_types):
            if alert_type in takers:
                path = ("agent_chains", chain_name, "alert_types", index)
                message = f'{dotted(path)}: alert type "{alert_type}" already belongs to chain "{takers[alert_type]}"'
                parts.main.problem(path, message)
            takers.setdefault(alert_type, chain_name)
    # A chain that could not be read may well hold the type.
    if parts.defaults.alert_type is not None and len(parts.chains) == len(parts.main.names("agent_chains")):
        path = ("defaults", "alert_type")
        _check_name(
            parts.main, parts.defaults.alert_type, path=path, what="chain that takes alert type", known=list(takers)
        )


def _check_alert_masking(parts: Parts) -> None:
    path = ("defaults", "alert_masking", "pattern_group")
    group = parts.defaults.alert_masking.pattern_group
    _check_name(parts.main, group, path=path, what="masking group", known=list(GROUPS))


def _check_masking(main: Source, masking: DataMasking, *, path: KeyPath) -> None:
    for index, group in enumerate(masking.pattern_groups):
        _check_name(main, group, path=(*path, "pattern_groups", index), what="masking group", known=list(GROUPS))
    for index, name in enumerate(masking.patterns):
        _check_name(main, name, path=(*path, "patterns", index), what="masking pattern", known=_PATTERNS)
    for index, custom in enumerate(masking.custom_patterns):
        inner = (*path, "custom_patterns", index, "pattern")
        if refusal := check_pattern(custom.pattern):
            main.problem(inner, f"{dotted(inner)}: {refusal}")


def _check_providers(parts: Parts) -> None:
    used: dict[str, KeyPath] = {}
    for path, name in _provider_references(parts):
        if _check_name(
            parts.main, name, path=path, what="LLM provider", known=parts.providers_file.names("llm_providers")
        ):
            used.setdefault(name, path)
    for name, path in used.items():
        if name in parts.providers:
            _check_used_provider(parts, name, used_by=path)


def _provider_references(parts: Parts) -> Iterator[tuple[KeyPath, str]]:
    if parts.defaults.llm_provider:
        yield ("defaults", "llm_provider"), parts.defaults.llm_provider
    for chain_name, chain in parts.chains.items():
        if chain.llm_provider:
            yield ("agent_chains", chain_name, "llm_provider"), chain.llm_provider
        for stage_index, stage in enumerate(chain.stages):
            for agent_index, agent in enumerate(stage.agents):
                if agent.llm_provider:
                    agent_path = ("agent_chains", chain_name, "stages", stage_index, "agents", agent_index)
                    yield (*agent_path, "llm_provider"), agent.llm_provider


def _check_used_provider(parts: Parts, name: str, *, used_by: KeyPath) -> None:
    provider = parts.providers[name]
    path = ("llm_providers", name)
    if isinstance(provider, UnsupportedProvider):
        parts.providers_file.problem(
            (*path, "type"),
            f"{dotted(path)}: type {provider.type} is not supported by this version (used by {dotted(used_by)})",
        )
    elif provider.api_key_env and not parts.environ.get(provider.api_key_env):
        parts.providers_file.problem(
            (*path, "api_key_env"),
            f"{dotted(path)}: variable {provider.api_key_env} is not set (used by {dotted(used_by)})",
        )
