"""The settings of one execution: everything that was said about it, nearest word last."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from midwatch.config.chains import Chain, Stage, StageAgent
from midwatch.config.llm import Provider
from midwatch.config.load import Config
from midwatch.domain.errors import NotFound
from midwatch.domain.safety import ControlLevel, SafetyMode, strictest

Entry = TypeVar("Entry")
Setting = TypeVar("Setting")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionSettings:
    agent: str
    custom_instructions: str
    provider_name: str
    provider: Provider
    max_iterations: int
    servers: tuple[str, ...]
    server_instructions: Mapping[str, str]
    """What the servers in use want said about themselves; silent ones are left out."""
    control_level: ControlLevel
    safety_mode: SafetyMode


def resolve_execution(config: Config, chain: Chain, *, stage: Stage, stage_agent: StageAgent) -> ExecutionSettings:
    """Raises NotFound: a session's chain may be older than the configuration and name what is gone."""
    agent = _find(config.agents, stage_agent.name, what="agent")
    provider_name = _last(config.defaults.llm_provider, chain.llm_provider, stage_agent.llm_provider) or "(none given)"
    servers = _last(agent.mcp_servers, chain.mcp_servers, stage.mcp_servers, stage_agent.mcp_servers) or ()
    told = {server: _find(config.mcp_servers, server, what="MCP server").instructions for server in servers}
    return ExecutionSettings(
        agent=stage_agent.name,
        custom_instructions=agent.custom_instructions,
        provider_name=provider_name,
        provider=_find(config.providers, provider_name, what="LLM provider"),
        max_iterations=_last(
            agent.max_iterations, chain.max_iterations, stage.max_iterations, stage_agent.max_iterations
        )
        or config.defaults.max_iterations,
        servers=tuple(dict.fromkeys(servers)),
        server_instructions={server: text for server, text in told.items() if text},
        control_level=strictest(config.safety.control_level, chain.control_level, stage_agent.control_level),
        safety_mode=config.safety.mode,
    )


def _last(*settings: Setting | None) -> Setting | None:
    """The nearest setting that was given."""
    return next((setting for setting in reversed(settings) if setting is not None), None)


def _find(entries: Mapping[str, Entry], name: str, *, what: str) -> Entry:
    if name not in entries:
        raise NotFound(what, name)
    return entries[name]
