"""The configuration as anybody may read it: fields that are named here, and no others.

Commands, arguments, environments and addresses may hold credentials and are left out.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from midwatch.config.load import Config

_DEFAULTS = {"llm_provider", "max_iterations", "llm_backend", "iteration_strategy", "alert_type", "alert_masking"}
_QUEUE = {
    *("worker_count", "max_concurrent_sessions", "poll_interval", "poll_interval_jitter", "session_timeout"),
    *("graceful_shutdown_timeout", "heartbeat_interval"),
}
_AGENT = {
    *("description", "mcp_servers", "custom_instructions", "llm_backend", "iteration_strategy", "max_iterations"),
}
_STAGE_AGENT = {
    *("name", "llm_provider", "llm_backend", "iteration_strategy", "max_iterations", "mcp_servers", "control_level"),
}
_STAGE = {"name": True, "replicas": True, "success_policy": True, "max_iterations": True, "mcp_servers": True}
_CHAIN = {
    **dict.fromkeys(("alert_types", "description", "llm_provider", "llm_backend", "iteration_strategy"), True),
    **dict.fromkeys(("max_iterations", "mcp_servers", "control_level"), True),
    "stages": {"__all__": {**_STAGE, "agents": {"__all__": _STAGE_AGENT}}},
}
_SERVER = {
    **dict.fromkeys(("instructions", "kinds", "trust_annotations", "control_level"), True),
    "transport": {"type"},
    "data_masking": {"enabled", "pattern_groups", "patterns"},
}
_PROVIDER = {"type", "model", "api_key_env", "max_tool_result_tokens", "native_tools"}
_SAFETY = {"mode", "control_level", "strict_resolution"}


def describe_config(config: Config) -> dict[str, Any]:
    return {
        "defaults": _show(config.defaults, _DEFAULTS),
        "queue": _show(config.queue, _QUEUE),
        "system": {"safety": _show(config.safety, _SAFETY)},
        "agents": _show_all(config.agents, _AGENT),
        "chains": _show_all(config.chains, _CHAIN),
        "mcp_servers": _show_all(config.mcp_servers, _SERVER),
        "llm_providers": _show_all(config.providers, _PROVIDER),
        "skills": {},
    }


def _show(model: BaseModel, fields: Any) -> dict[str, Any]:
    return model.model_dump(mode="json", include=fields)


def _show_all(models: Mapping[str, BaseModel], fields: Any) -> dict[str, Any]:
    return {name: _show(model, fields) for name, model in models.items()}
