"""A worked example for every level at which a setting may be given: the nearest word wins."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from midwatch.config.chains import Chain
from midwatch.config.load import Config
from midwatch.config.resolve import (
    ExecutionSettings,
    resolve_chat,
    resolve_execution,
    resolve_success_policy,
    resolve_summary,
    resolve_synthesis,
)
from midwatch.config.selection import McpSelection
from midwatch.domain.errors import NotFound
from midwatch.domain.safety import ControlLevel
from midwatch.domain.session import SuccessPolicy
from midwatch.kit.json import encode_text
from tests.unit.config.folder import Folder

Levels = Mapping[str, dict[str, Any]]

SERVER: dict[str, Any] = {"transport": {"type": "stdio", "command": "x"}}
AGENTS: dict[str, Any] = {"Plain": {"mcp_servers": ["a"]}, "Chatty": {}, "Helper": {"description": "helps"}}
PROVIDERS: dict[str, Any] = {
    "first": {"type": "openai", "model": "one"},
    "second": {"type": "openai", "model": "two"},
    "gem": {"type": "google", "model": "g"},
    "calm gem": {"type": "google", "model": "g", "native_tools": {"google_search": False, "code_execution": True}},
}


def configure(tmp_path: Path, levels: Levels) -> Config:
    folder = Folder(tmp_path)
    main: dict[str, Any] = {
        "mcp_servers": {name: {**SERVER, **levels.get(f"server {name}", {})} for name in ("a", "b", "c")},
        "agents": {name: {**agent, **levels.get(name, {})} for name, agent in AGENTS.items()},
        "defaults": {"llm_provider": "first", **levels.get("defaults", {})},
    }
    folder.write("midwatch.yaml", encode_text(main))
    folder.write("llm-providers.yaml", encode_text({"llm_providers": PROVIDERS}))
    (tmp_path / "skills").mkdir()
    for skill in ("s1", "s2", "s3"):
        folder.write(f"skills/{skill}.md", f"---\nname: {skill}\ndescription: d\n---\n")
    return folder.load()


def build_chain(levels: Levels) -> Chain:
    agent = {"name": "Plain", **levels.get("stage agent", {})}
    stage = {"name": "s", "agents": [agent], **levels.get("stage", {})}
    return Chain.model_validate({"alert_types": ["x"], "stages": [stage], **levels.get("chain", {})})


def resolve(tmp_path: Path, levels: Levels, *, selection: dict[str, Any] | None = None) -> ExecutionSettings:
    chain = build_chain(levels)
    stage = chain.stages[0]
    return resolve_execution(
        configure(tmp_path, levels),
        chain,
        stage=stage,
        stage_agent=stage.agents[0],
        selection=None if selection is None else McpSelection.model_validate(selection),
    )


NATIVE: dict[str, Any] = {"llm_backend": "google-native"}
CHAINED: dict[str, Any] = {"llm_backend": "langchain"}


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({}, "langchain"),
        ({"defaults": NATIVE}, "google-native"),
        ({"defaults": NATIVE, "Plain": CHAINED}, "langchain"),
        ({"defaults": CHAINED, "Plain": CHAINED, "chain": NATIVE}, "google-native"),
        ({"defaults": NATIVE, "Plain": NATIVE, "chain": NATIVE, "stage agent": CHAINED}, "langchain"),
        ({"defaults": {"iteration_strategy": "native-thinking"}}, "google-native"),
        ({"defaults": {"iteration_strategy": "synthesis-native-thinking"}}, "google-native"),
        ({"defaults": NATIVE, "Plain": {"iteration_strategy": "react"}}, "langchain"),
        ({"defaults": NATIVE, "chain": {"iteration_strategy": "synthesis"}}, "langchain"),
        ({"chain": {"iteration_strategy": "langchain", **NATIVE}}, "google-native"),
        ({"stage agent": {"iteration_strategy": "native-thinking"}}, "google-native"),
    ],
)
def test_the_backend_goes_from_defaults_over_agent_and_chain_to_the_stages_agent(
    tmp_path: Path, levels: Levels, expected: str
) -> None:
    assert resolve(tmp_path, levels).backend == expected


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({}, False),
        ({"defaults": {"iteration_strategy": "react"}}, True),
        ({"defaults": {"iteration_strategy": "react"}, "Plain": CHAINED}, False),
        ({"Plain": {"iteration_strategy": "native-thinking"}, "chain": {"iteration_strategy": "react"}}, True),
        ({"chain": {"iteration_strategy": "react", **CHAINED}}, False),
        ({"chain": NATIVE, "stage agent": {"iteration_strategy": "react"}}, True),
    ],
)
def test_a_model_acts_in_text_where_the_nearest_word_is_react(
    tmp_path: Path, levels: Levels, *, expected: bool
) -> None:
    assert resolve(tmp_path, levels).acts_in_text is expected


def fallback(*names: str) -> dict[str, Any]:
    return {"fallback_providers": [{"provider": name, "backend": "langchain"} for name in names]}


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({}, []),
        ({"defaults": fallback("first")}, ["first"]),
        ({"defaults": fallback("first"), "chain": fallback("second", "gem")}, ["second", "gem"]),
        ({"defaults": fallback("first"), "chain": fallback("second"), "stage": fallback("gem")}, ["gem"]),
        ({"chain": fallback("second"), "stage": fallback("gem"), "stage agent": fallback("first")}, ["first"]),
        ({"defaults": fallback("first"), "stage agent": fallback()}, []),
    ],
)
def test_the_nearest_list_of_fallbacks_counts_as_a_whole(tmp_path: Path, levels: Levels, expected: list[str]) -> None:
    assert [choice.provider_name for choice in resolve(tmp_path, levels).fallbacks] == expected


NOTHING: list[str] = []


@pytest.mark.parametrize(
    ("selection", "servers", "narrowed"),
    [
        (None, ("b",), NOTHING),
        ({}, ("b",), NOTHING),
        ({"servers": [{"name": "c"}, {"name": "a"}, {"name": "c"}]}, ("c", "a"), NOTHING),
        ({"servers": NOTHING}, (), NOTHING),
        ({"servers": [{"name": "c", "tools": ["look"]}, {"name": "a", "tools": NOTHING}]}, ("c", "a"), ["c"]),
        ({"native_tools": {"google_search": False}}, ("b",), NOTHING),
    ],
)
def test_what_the_alert_asks_for_replaces_all_servers(
    tmp_path: Path, selection: dict[str, Any] | None, servers: tuple[str, ...], narrowed: list[str]
) -> None:
    settings = resolve(tmp_path, {"stage agent": {"mcp_servers": ["b"]}}, selection=selection)
    assert settings.servers == servers
    assert settings.tool_filters == {server: {"look"} for server in narrowed}
    assert set(settings.summarizers) == set(servers)


def test_an_alert_cannot_ask_for_a_server_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no MCP server gone"):
        resolve(tmp_path, {}, selection={"servers": [{"name": "gone"}]})


def test_instructions_are_those_of_the_servers_the_alert_asked_for(tmp_path: Path) -> None:
    levels = {"server a": {"instructions": "about a"}, "server b": {"instructions": "about b"}}
    settings = resolve(tmp_path, levels, selection={"servers": [{"name": "b"}]})
    assert settings.server_instructions == {"b": "about b"}


@pytest.mark.parametrize(
    ("levels", "selection", "expected"),
    [
        ({}, {}, {"google_search", "url_context"}),
        (
            {"Plain": {"native_tools": {"google_search": False, "code_execution": True}}},
            {},
            {"url_context", "code_execution"},
        ),
        (
            {"Plain": {"native_tools": {"google_search": False}}},
            {"native_tools": {"google_search": True, "url_context": False}},
            {"google_search"},
        ),
        ({"chain": {"llm_provider": "calm gem"}}, {}, {"url_context", "code_execution"}),
        (
            {"chain": {"llm_provider": "calm gem"}, "Plain": {"native_tools": {"code_execution": False}}},
            {"native_tools": {"google_search": True}},
            {"google_search", "url_context"},
        ),
        ({"chain": {"llm_provider": "second"}}, {"native_tools": {"google_search": True}}, set[str]()),
    ],
)
def test_native_tools_go_from_the_provider_over_the_agent_to_the_alert(
    tmp_path: Path, levels: dict[str, Any], selection: dict[str, Any], expected: set[str]
) -> None:
    settings = resolve(tmp_path, {"defaults": {"llm_provider": "gem"}, **levels}, selection=selection)
    assert settings.native_tools == expected


@pytest.mark.parametrize(
    ("agent", "selection", "expected"),
    [
        ({}, {}, "by default"),
        ({"google_search": False}, {}, "by default"),
        ({"google_search": True}, {}, "needed"),
        ({"google_search": True}, {"google_search": False}, "by default"),
        ({}, {"url_context": True}, "needed"),
    ],
)
def test_an_agent_needs_native_tools_when_it_or_the_alert_asked_for_one(
    tmp_path: Path, agent: dict[str, bool], selection: dict[str, bool], expected: str
) -> None:
    levels = {"defaults": {"llm_provider": "gem"}, "Plain": {"native_tools": agent}}
    settings = resolve(tmp_path, levels, selection={"native_tools": selection})
    assert settings.needs_native_tools is (expected == "needed")


@pytest.mark.parametrize(
    ("levels", "provider", "backend"),
    [
        ({}, "first", "langchain"),
        ({"stage agent": {"llm_provider": "second", **NATIVE}}, "second", "google-native"),
        ({"defaults": {"summarization": {"llm_provider": "gem"}}}, "gem", "langchain"),
        ({"defaults": {"summarization": {"llm_provider": "gem", **NATIVE}}}, "gem", "google-native"),
        (
            {
                "defaults": {"summarization": {"llm_provider": "gem", **NATIVE}},
                "server a": {"summarization": {"llm_provider": "second", **CHAINED}},
            },
            "second",
            "langchain",
        ),
    ],
)
def test_the_summarizer_goes_from_the_agents_model_over_defaults_to_the_server(
    tmp_path: Path, levels: Levels, provider: str, backend: str
) -> None:
    summarizer = resolve(tmp_path, levels).summarizers["a"]
    assert (summarizer.model.provider_name, summarizer.model.backend) == (provider, backend)
    assert (summarizer.threshold_tokens, summarizer.limit_tokens) == (5000, 1000)


def test_a_server_may_do_without_summaries(tmp_path: Path) -> None:
    assert resolve(tmp_path, {"server a": {"summarization": {"enabled": False}}}).summarizers == {}


@pytest.mark.parametrize(
    ("levels", "skills", "required"),
    [
        ({}, ("s1", "s2", "s3"), ()),
        ({"Plain": {"skills": []}}, (), ()),
        ({"Plain": {"skills": ["s1"]}}, ("s1",), ()),
        ({"Plain": {"skills": ["s1"]}, "stage agent": {"skills": ["s2", "s1"]}}, ("s1", "s2"), ()),
        (
            {"Plain": {"required_skills": ["s3"]}, "stage agent": {"required_skills": ["s1", "s3"]}},
            ("s2",),
            ("s3", "s1"),
        ),
    ],
)
def test_skills_of_the_stages_agent_come_on_top_of_the_agents(
    tmp_path: Path, levels: Levels, skills: tuple[str, ...], required: tuple[str, ...]
) -> None:
    settings = resolve(tmp_path, levels)
    assert (settings.skills, settings.required_skills) == (skills, required)


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({}, []),
        ({"chain": {"sub_agents": ["Helper"]}}, ["Helper"]),
        ({"chain": {"sub_agents": ["Helper"]}, "stage": {"sub_agents": ["GeneralWorker"]}}, ["GeneralWorker"]),
        ({"chain": {"sub_agents": ["Helper"]}, "stage agent": {"sub_agents": []}}, []),
    ],
)
def test_the_nearest_list_of_sub_agents_counts(tmp_path: Path, levels: Levels, expected: list[str]) -> None:
    assert [sub.name for sub in resolve(tmp_path, levels).sub_agents] == expected


def test_limits_on_sub_agents_are_the_agents_over_the_defaults(tmp_path: Path) -> None:
    levels = {"defaults": {"orchestrator": {"agent_timeout": "1m"}}, "Plain": {"orchestrator": {"max_budget": "2m"}}}
    limits = resolve(tmp_path, levels).sub_agent_limits
    assert limits.max_concurrent_agents == 5
    assert (limits.agent_timeout, limits.max_budget) == (timedelta(minutes=1), timedelta(minutes=2))


def test_a_chains_budgets_go_over_the_defaults_one_by_one(tmp_path: Path) -> None:
    levels = {"defaults": {"budgets": {"usd": 1, "tokens": 10}}, "chain": {"budgets": {"tokens": 20, "seconds": 3}}}
    budgets = resolve(tmp_path, levels).budgets
    assert (budgets.usd, budgets.tokens, budgets.seconds) == (1, 20, 3)


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({}, ""),
        ({"Plain": {"type": "action"}}, "action"),
        ({"Plain": {"type": "action"}, "stage agent": {"type": "synthesis"}}, "synthesis"),
        ({"Plain": {"iteration_strategy": "synthesis"}}, "synthesis"),
    ],
)
def test_the_type_is_the_stages_agents_or_the_agents(tmp_path: Path, levels: Levels, expected: str) -> None:
    assert resolve(tmp_path, levels).agent_type == expected


def chat(tmp_path: Path, levels: Levels, **selection: Any) -> ExecutionSettings:
    chosen = McpSelection.model_validate(selection) if selection else None
    return resolve_chat(configure(tmp_path, levels), build_chain(levels), selection=chosen)


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({}, ("ChatAgent", "first", ("a",), 20)),
        (
            {"stage": {"agents": [{"name": "Plain"}, {"name": "Chatty", "mcp_servers": ["c", "a"]}]}},
            ("ChatAgent", "first", ("a", "c"), 20),
        ),
        (
            {"chain": {"mcp_servers": ["b"], "llm_provider": "second", "max_iterations": 3}},
            ("ChatAgent", "second", ("b",), 3),
        ),
        (
            {"chain": {"mcp_servers": ["b"]}, "stage": {"mcp_servers": ["c"]}},
            ("ChatAgent", "first", ("b",), 20),
        ),
        (
            {
                "chain": {
                    "mcp_servers": ["b"],
                    "llm_provider": "second",
                    "chat": {
                        "enabled": True,
                        "agent": "Chatty",
                        "llm_provider": "gem",
                        "mcp_servers": ["c"],
                        "max_iterations": 4,
                    },
                }
            },
            ("Chatty", "gem", ("c",), 4),
        ),
    ],
)
def test_a_chat_has_the_chains_settings_unless_it_has_its_own(
    tmp_path: Path, levels: Levels, expected: tuple[str, str, tuple[str, ...], int]
) -> None:
    settings = chat(tmp_path, levels)
    assert (settings.agent, settings.provider_name, settings.servers, settings.max_iterations) == expected


def test_what_the_alert_asked_for_holds_in_its_chat_too(tmp_path: Path) -> None:
    assert chat(tmp_path, {}, servers=[{"name": "b"}]).servers == ("b",)


def test_the_strictest_level_counts_in_a_chat_too(tmp_path: Path) -> None:
    block = {"enabled": True, "agent": "Chatty", "control_level": "autonomous", "sub_agents": ["Helper"], **NATIVE}
    settings = chat(tmp_path, {"chain": {"chat": block}})
    assert settings.control_level is ControlLevel.READ_ONLY
    assert settings.backend == "google-native"
    assert [sub.name for sub in settings.sub_agents] == ["Helper"]


def test_a_synthesis_has_no_tools_and_its_own_model(tmp_path: Path) -> None:
    levels: Levels = {
        "chain": {"llm_provider": "second", "mcp_servers": ["b"], "sub_agents": ["Helper"]},
        "stage": {"synthesis": {"llm_provider": "gem", "agent": "Chatty"}, **fallback("first")},
    }
    chain = build_chain(levels)
    settings = resolve_synthesis(configure(tmp_path, levels), chain, stage=chain.stages[0])
    assert (settings.agent, settings.provider_name) == ("Chatty", "gem")
    assert (settings.servers, settings.sub_agents) == ((), ())
    assert [choice.provider_name for choice in settings.fallbacks] == ["first"]


def test_a_synthesis_is_made_by_the_built_in_agent_unless_told_otherwise(tmp_path: Path) -> None:
    chain = build_chain({})
    settings = resolve_synthesis(configure(tmp_path, {}), chain, stage=chain.stages[0])
    assert (settings.agent, settings.agent_type, settings.provider_name) == ("SynthesisAgent", "synthesis", "first")


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ({}, "first"),
        ({"llm_provider": "second"}, "second"),
        ({"llm_provider": "second", "executive_summary_provider": "gem"}, "gem"),
    ],
)
def test_a_summary_may_have_its_own_model(tmp_path: Path, chain: dict[str, Any], expected: str) -> None:
    levels = {"chain": {"mcp_servers": ["b"], **chain}}
    settings = resolve_summary(configure(tmp_path, levels), build_chain(levels))
    assert (settings.agent, settings.provider_name, settings.servers) == ("ExecSummaryAgent", expected, ())


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ({}, SuccessPolicy.ANY),
        ({"defaults": {"success_policy": "all"}}, SuccessPolicy.ALL),
        ({"defaults": {"success_policy": "all"}, "stage": {"success_policy": "any"}}, SuccessPolicy.ANY),
    ],
)
def test_the_success_policy_is_the_stages_or_the_defaults(
    tmp_path: Path, levels: Levels, expected: SuccessPolicy
) -> None:
    assert resolve_success_policy(configure(tmp_path, levels), build_chain(levels).stages[0]) is expected
