"""A configuration in which every key is written, with a value that is not its default."""

from typing import Any

SUB_AGENT: dict[str, Any] = {
    "name": "Helper",
    "llm_provider": "gem",
    "llm_backend": "google-native",
    "max_iterations": 3,
    "mcp_servers": ["logs"],
    "required_skills": ["calm"],
    "skills": ["swift"],
}
FALLBACKS: list[Any] = [{"provider": "claude", "backend": "langchain"}]
SCORING: dict[str, Any] = {
    "enabled": True,
    "agent": "Judge",
    "llm_backend": "langchain",
    "llm_provider": "gem",
    "mcp_servers": ["logs"],
    "max_iterations": 2,
}
SPELT = {"llm_backend": "google-native", "iteration_strategy": "native-thinking"}
BUDGETS = {"usd": 1.5, "tokens": 100_000, "seconds": 600}

SERVERS: dict[str, Any] = {
    "logs": {
        "transport": {"type": "stdio", "command": "serve-logs", "args": ["-v"], "env": {"TOKEN": "t"}},
        "instructions": "newest first",
        "kinds": {"read": ["get_*"], "write": ["set_*"], "resolve": ["find_*"], "default": "read"},
        "trust_annotations": True,
        "targets": {"get_*": "host:{host}", "set_*": {"target": "file:{path}", "parent": "host:{host}"}},
        "discovers": {"find_*": "items[].id"},
        "shared": True,
        "health_check_tool": "get_health",
        "inherit_env": ["LOGS_HOME"],
        "run_as": "self",
        "control_level": "controlled",
        "data_masking": {
            "enabled": True,
            "pattern_groups": ["basic"],
            "patterns": ["email"],
            "custom_patterns": [{"pattern": "c-[0-9]+", "replacement": "[C]", "description": "customers"}],
        },
        "summarization": {
            "enabled": True,
            "size_threshold_tokens": 100,
            "summary_max_token_limit": 50,
            "llm_provider": "gem",
            "llm_backend": "langchain",
        },
    },
    "far": {
        "transport": {
            "type": "sse",
            "url": "https://far.example/mcp/",
            "bearer_token": "b",
            "verify_ssl": False,
            "timeout": 30,
            "custom_headers": {"X-Session": "{{.SESSION_ID}}"},
            "session_cleanup_url": "https://far.example/{{.SESSION_ID}}",
        },
        "isolation": "execution",
    },
}

AGENTS: dict[str, Any] = {
    "Judge": {"type": "scoring"},
    "Helper": {"description": "helps"},
    "Reader": {
        "type": "action",
        "mcp_servers": ["logs", "far"],
        "custom_instructions": "look closely",
        "description": "reads",
        **SPELT,
        "max_iterations": 9,
        "native_tools": {"google_search": True, "code_execution": True, "url_context": False},
        "orchestrator": {"max_concurrent_agents": 2, "agent_timeout": "1m", "max_budget": "2m"},
        "skills": ["swift"],
        "required_skills": ["calm"],
    },
}

STAGE: dict[str, Any] = {
    "name": "look",
    "agents": [
        {
            "name": "Reader",
            "type": "synthesis",
            "llm_provider": "gem",
            **SPELT,
            "max_iterations": 4,
            "mcp_servers": ["logs"],
            "sub_agents": ["Helper", SUB_AGENT],
            "fallback_providers": FALLBACKS,
            "required_skills": ["calm"],
            "skills": ["swift"],
            "control_level": "read_only",
        }
    ],
    "replicas": 2,
    "success_policy": "all",
    "max_iterations": 5,
    "mcp_servers": ["far"],
    "fallback_providers": FALLBACKS,
    "sub_agents": [SUB_AGENT],
    "synthesis": {"agent": "Helper", **SPELT, "llm_provider": "gem"},
}

CHAIN: dict[str, Any] = {
    "alert_types": ["down", "slow"],
    "description": "all that can be said",
    "stages": [STAGE],
    "chat": {
        "enabled": True,
        "agent": "Helper",
        **SPELT,
        "llm_provider": "gem",
        "mcp_servers": ["logs"],
        "max_iterations": 6,
        "sub_agents": [SUB_AGENT],
        "control_level": "controlled",
    },
    "scoring": SCORING,
    "llm_provider": "claude",
    "executive_summary_provider": "gem",
    **SPELT,
    "fallback_providers": FALLBACKS,
    "max_iterations": 7,
    "mcp_servers": ["far"],
    "sub_agents": [SUB_AGENT],
    "control_level": "autonomous",
    "budgets": BUDGETS,
}

DEFAULTS: dict[str, Any] = {
    "llm_provider": "gem",
    "max_iterations": 8,
    **SPELT,
    "fallback_providers": FALLBACKS,
    "success_policy": "all",
    "alert_type": "slow",
    "runbook": "stay calm",
    "alert_masking": {"enabled": False, "pattern_group": "all"},
    "scoring": SCORING,
    "summarization": {"llm_provider": "gem", "llm_backend": "google-native"},
    "orchestrator": {"max_concurrent_agents": 3, "agent_timeout": 60, "max_budget": "90s"},
    "memory": {
        "enabled": True,
        "max_inject": 1,
        "reflector_memory_limit": 2,
        "embedding": {
            "provider": "openai",
            "model": "small",
            "api_key_env": "EMBED_KEY",
            "dimensions": 3,
            "base_url": "http://embed",
        },
    },
    "budgets": BUDGETS,
}

QUEUE: dict[str, Any] = {
    "worker_count": 200,
    "database_connections": 60,
    "warn_depth": 50,
    "max_concurrent_sessions": 300,
    "poll_interval": "2s",
    "poll_interval_jitter": 0,
    "session_timeout": "1h",
    "graceful_shutdown_timeout": "1m",
    "scoring_shutdown_timeout": 0,
    "heartbeat_interval": "5s",
    "orphan_detection_interval": "1m",
    "orphan_threshold": "1m",
}

RATES = {"input_per_million": 0.5, "output_per_million": 0}
SYSTEM: dict[str, Any] = {
    "dashboard_url": "https://watch.example/",
    "allowed_ws_origins": ["https://*.example"],
    "github": {"token_env": "GH"},
    "runbooks": {
        "repo_url": "https://github.com/o/r",
        "cache_ttl": "5m",
        "allowed_domains": ["github.com"],
        "allow_private": True,
    },
    "slack": {"enabled": True, "token_env": "SLACK", "channel": "C1"},
    "retention": {"session_retention_days": 1, "event_ttl": "2h", "cleanup_interval": "1h"},
    "holidays": [{"date": "02-29", "name": "Leap Day"}],
    "cost_estimation": {
        "enabled": False,
        "model_rates": {"big": RATES},
        "promotions": [
            {"id": "a", "model": "big", "end": "2026-01-01", **RATES},
            {"id": "b", "model": "big", "start": "2026-01-01", "end": "2026-02-01T12:00:00+01:00", **RATES},
        ],
    },
}

SAFETY: dict[str, Any] = {
    "mode": "observe",
    "control_level": "autonomous",
    "strict_resolution": False,
    "rules": [
        {
            "tools": ["logs.*"],
            "targets": "host:*",
            "kinds": ["write", "read"],
            "risk": "high",
            "decision": "ask",
            "reason": "production",
        }
    ],
    "egress_allow": ["example.com", "*.example.com", "10.0.0.0/8", "::1"],
}

MAIN: dict[str, Any] = {
    "mcp_servers": SERVERS,
    "agents": AGENTS,
    "agent_chains": {"web": CHAIN},
    "defaults": DEFAULTS,
    "queue": QUEUE,
    "system": SYSTEM,
    "safety": SAFETY,
    "approvals": {"expire_after": "5m"},
    "llm": {"service_addr": "localhost:50051", "service_token_env": "LLM_TOKEN", "service_ca": "talk.json"},
    "telemetry": {
        "metrics": False,
        "traces": {"endpoint": "http://collector:4318", "service_name": "watch", "share": 0.5, "content": True},
    },
}

_HOSTED = {
    "model": "m",
    "api_key_env": "KEY",
    "base_url": "https://proxy.example",
    "max_tool_result_tokens": 1000,
    "context_window": 1000,
}
PROVIDERS: dict[str, Any] = {
    "gem": {
        **_HOSTED,
        "type": "google",
        "native_tools": {"google_search": True, "code_execution": False, "url_context": True},
    },
    "claude": {**_HOSTED, "type": "anthropic"},
    "grok": {**_HOSTED, "type": "xai"},
    "gpt": {**_HOSTED, "type": "openai"},
    "vertex": {
        **_HOSTED,
        "type": "vertexai",
        "credentials_env": "CREDENTIALS",
        "project_env": "PROJECT",
        "location_env": "LOCATION",
    },
    "tail": {**_HOSTED, "type": "pydantic-ai", "model": "openai-chat:small"},
    "play": {"type": "scripted", "script": "talk.json", "model": "played", "context_window": 1000},
    "rules": {"type": "demo", "model": "ruled", "context_window": 1000},
}

ENVIRON = {"KEY": "k", "SLACK": "s"}
