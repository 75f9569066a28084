"""The configuration as people may see it: what is on the list is shown, and nothing else of it ever is.

Values of variables, tokens, headers, arguments of programs and passwords in addresses are not on the list.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from pydantic import BaseModel

from midwatch.config.llm import Provider
from midwatch.config.load import Config
from midwatch.config.mcp import McpServer, RemoteTransport, StdioTransport, Transport
from midwatch.config.system import System
from midwatch.masking.mask import Mask, compile_mask, mask_result

_DEFAULTS = (
    *("llm_provider", "max_iterations", "llm_backend", "iteration_strategy", "fallback_providers", "success_policy"),
    *("alert_type", "runbook", "alert_masking", "scoring", "summarization", "orchestrator", "memory", "budgets"),
)
_AGENT = (
    *("type", "description", "mcp_servers", "custom_instructions", "llm_backend", "iteration_strategy"),
    *("max_iterations", "native_tools", "orchestrator", "skills", "required_skills"),
)
_CHAIN = (
    *("alert_types", "description", "stages", "chat", "scoring", "llm_provider", "executive_summary_provider"),
    *("llm_backend", "iteration_strategy", "fallback_providers", "max_iterations", "mcp_servers", "sub_agents"),
    *("control_level", "budgets"),
)
_SERVER = (
    *("instructions", "kinds", "trust_annotations", "targets", "discovers", "shared", "isolation"),
    *("health_check_tool", "inherit_env", "run_as", "control_level", "data_masking", "summarization"),
)
_PROVIDER = (
    *("type", "model", "api_key_env", "credentials_env", "project_env", "location_env", "native_tools"),
    *("context_window", "max_tool_result_tokens"),
)
_QUEUE = (
    *("worker_count", "max_concurrent_sessions", "poll_interval", "poll_interval_jitter", "session_timeout"),
    *("graceful_shutdown_timeout", "scoring_shutdown_timeout", "heartbeat_interval"),
)
_SYSTEM = ("allowed_ws_origins", "github", "slack", "retention", "holidays", "cost_estimation")


def describe_config(config: Config) -> dict[str, Any]:
    """JSON-ready. Free text passes the mask as well: an instruction may hold a variable's value."""
    described = {
        "defaults": _describe_defaults(config),
        "queue": _pick(config.queue, _QUEUE),
        "system": _describe_system(config.system),
        "agents": {name: _pick(agent, _AGENT) for name, agent in config.agents.items()},
        "chains": {name: _pick(chain, _CHAIN) for name, chain in config.chains.items()},
        "mcp_servers": {name: _describe_server(server) for name, server in config.mcp_servers.items()},
        "llm_providers": {name: _describe_provider(provider) for name, provider in config.providers.items()},
        "skills": {name: {"description": skill.description} for name, skill in config.skills.items()},
    }
    return cast("dict[str, Any]", _masked(described, compile_mask(groups=("secrets",))))


def _describe_defaults(config: Config) -> dict[str, Any]:
    described = _pick(config.defaults, _DEFAULTS)
    described["memory"]["embedding"]["base_url"] = _describe_url(config.defaults.memory.embedding.base_url)
    return described


def _describe_system(system: System) -> dict[str, Any]:
    runbooks = _pick(system.runbooks, ("cache_ttl", "allowed_domains", "allow_private"))
    return {
        **_pick(system, _SYSTEM),
        "dashboard_url": _describe_url(system.dashboard_url),
        "runbooks": {"repo_url": _describe_url(system.runbooks.repo_url), **runbooks},
    }


def _describe_server(server: McpServer) -> dict[str, Any]:
    described = {"transport": _describe_transport(server.transport), **_pick(server, _SERVER)}
    # A pattern may be the very secret it hides, letter by letter.
    described["data_masking"]["custom_patterns"] = [
        _pick(pattern, ("replacement", "description")) for pattern in server.data_masking.custom_patterns
    ]
    return described


def _describe_transport(transport: Transport) -> dict[str, Any]:
    match transport:
        case StdioTransport():
            return {
                "type": transport.type,
                "command": transport.command,
                "args_count": len(transport.args),
                "env_names": sorted(transport.env),
            }
        case RemoteTransport():
            return {
                **_pick(transport, ("type", "verify_ssl", "timeout")),
                "url": _describe_url(transport.url),
                "has_bearer_token": transport.bearer_token is not None,
                "header_names": sorted(transport.custom_headers),
                "session_cleanup_url": _describe_url(transport.session_cleanup_url),
            }


def _describe_provider(provider: Provider) -> dict[str, Any]:
    address = getattr(provider, "base_url", None)
    return {**_pick(provider, _PROVIDER), "base_url": _describe_url(address)}


def _describe_url(url: str | None) -> str | None:
    """Without a login, and without a query, which is where keys are put."""
    if url is None:
        return None
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname
    port = "" if parts.port is None else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}{parts.path}"


def _pick(block: BaseModel, keys: Iterable[str]) -> dict[str, Any]:
    dumped = block.model_dump(mode="json", include=set(keys))
    return {key: dumped[key] for key in keys if key in dumped}


def _masked(value: Any, mask: Mask) -> Any:
    match value:
        case str():
            return mask_result(mask, value)
        case list():
            return [_masked(item, mask) for item in cast("list[Any]", value)]
        case dict():
            return {key: _masked(item, mask) for key, item in cast("Mapping[str, Any]", value).items()}
        case _:
            return value
