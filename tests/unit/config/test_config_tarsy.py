"""A folder written for TARSy loads as it is: what TARSy overlooks is a warning."""

from pathlib import Path

import pytest

from midwatch.config.load import load_config
from midwatch.config.resolve import resolve_chat, resolve_execution, resolve_summary, resolve_synthesis
from midwatch.config.system import Runbooks
from midwatch.domain.safety import ControlLevel, SafetyMode
from midwatch.domain.session import SuccessPolicy
from tests.unit.config.folder import Folder, stdio


def test_a_tarsy_folder_observes_unless_told_otherwise(folder: Folder) -> None:
    folder.become_tarsy()
    config = folder.load()
    assert config.tarsy
    assert config.safety.mode is SafetyMode.OBSERVE
    assert config.safety.control_level is ControlLevel.READ_ONLY
    assert not config.safety_mode_explicit


def test_a_tarsy_folder_may_enforce(folder: Folder) -> None:
    folder.add("safety: {mode: enforce}\n")
    folder.become_tarsy()
    config = folder.load()
    assert config.safety.mode is SafetyMode.ENFORCE
    assert config.safety_mode_explicit


def test_unknown_keys_are_warnings_there(folder: Folder) -> None:
    agent_line = folder.change("mcp_servers: [logs]", "mcp_servers: [logs]\n    temperature: 1") + 1
    stage_line = folder.change("- name: look", "- name: look\n        synthesis: {model: X}") + 1
    transport_line = folder.change("command: serve-logs", "command: serve-logs, shell: true")
    top_line = folder.add("weather: {port: 1}\n")
    provider_line = folder.add("    natve_tools: {}\n", name="llm-providers.yaml")
    folder.become_tarsy()
    config = folder.load()
    assert config.warnings == (
        f'llm-providers.yaml:{provider_line}: llm_providers.local: unknown key "natve_tools" (ignored)',
        f'tarsy.yaml:{transport_line}: mcp_servers.logs.transport: unknown key "shell" (ignored)',
        f'tarsy.yaml:{agent_line}: agents.Reader: unknown key "temperature" (ignored)',
        f'tarsy.yaml:{stage_line}: agent_chains.web.stages[0].synthesis: unknown key "model" (ignored)',
        f'tarsy.yaml:{top_line}: unknown key "weather" (ignored)',
    )
    assert config.agents["Reader"].mcp_servers == ("logs",)


def test_a_wrong_value_is_still_a_problem_there(folder: Folder) -> None:
    line = folder.add("queue:\n  worker_count: 0\n  unknown: 1\n")
    folder.become_tarsy()
    assert folder.problems() == (f"tarsy.yaml:{line + 1}: queue.worker_count: must be at least 1",)


def test_a_missing_variable_is_empty_there_with_a_warning(folder: Folder) -> None:
    line = folder.change("command: serve-logs", 'command: serve-logs, env: {TOKEN: "{{.TOKEN}}"}')
    folder.become_tarsy()
    config = folder.load()
    assert stdio(config).env == {"TOKEN": ""}
    assert config.warnings == (f"tarsy.yaml:{line}: variable TOKEN is not set and counts as empty",)


def test_values_tarsy_never_looks_at_are_set_aside(folder: Folder) -> None:
    chain_line = folder.change("alert_types: [web-down]", "alert_types: [web-down]\n    llm_backend: gpt") + 1
    stage_line = (
        folder.change("- name: look", "- name: look\n        success_policy: most\n        mcp_servers: [gone]") + 1
    )
    folder.become_tarsy()
    config = folder.load()
    chain, policy, server = config.warnings
    assert chain == (
        f"tarsy.yaml:{chain_line}: agent_chains.web.llm_backend: expected google-native or langchain (ignored)"
    )
    assert policy == (
        f"tarsy.yaml:{stage_line}: agent_chains.web.stages[0].success_policy: expected all or any (ignored)"
    )
    assert server == (
        f"tarsy.yaml:{stage_line + 1}: agent_chains.web.stages[0].mcp_servers[0]: "
        'there is no MCP server "gone" (ignored)'
    )
    stage = config.chains["web"].stages[0]
    assert stage.success_policy is None
    assert stage.mcp_servers == ()


def test_an_empty_list_of_servers_means_none_given_there(folder: Folder) -> None:
    folder.change("- name: look", "- name: look\n        mcp_servers: []")
    assert folder.load().chains["web"].stages[0].mcp_servers == ()
    folder.become_tarsy()
    assert folder.load().chains["web"].stages[0].mcp_servers is None


def test_a_custom_pattern_tarsy_would_skip_is_skipped(folder: Folder) -> None:
    custom = "[{pattern: '(', replacement: x}, {pattern: abc, replacement: y}]"
    line = folder.change("    transport:", f"    data_masking: {{custom_patterns: {custom}}}\n    transport:")
    folder.become_tarsy()
    config = folder.load()
    assert [pattern.pattern for pattern in config.mcp_servers["logs"].data_masking.custom_patterns] == ["abc"]
    assert config.warnings == (
        f"tarsy.yaml:{line}: mcp_servers.logs.data_masking.custom_patterns[0]: not a pattern RE2 can match (ignored)",
    )


def test_a_name_that_leads_nowhere_is_a_problem_there_too(folder: Folder) -> None:
    line = folder.change("- name: Reader", "- name: Nobody")
    folder.become_tarsy()
    assert folder.problems() == (
        f'tarsy.yaml:{line}: agent_chains.web.stages[0].agents[0].name: there is no agent "Nobody"',
    )


def test_an_empty_variable_where_a_value_is_needed_is_a_problem_there_too(folder: Folder) -> None:
    line = folder.change("command: serve-logs", "command: {{.GONE}}")
    folder.become_tarsy()
    assert folder.problems() == (f"tarsy.yaml:{line}: mcp_servers.logs.transport.command: is missing",)


def test_more_values_tarsy_never_looks_at_are_set_aside(folder: Folder) -> None:
    folder.change("llm_provider: local", "llm_provider: local\n  success_policy: most\n  llm_backend: gpt")
    folder.change("alert_types: [web-down]", "alert_types: [web-down]\n    executive_summary_provider: gone")
    folder.add("system:\n  runbooks: {cache_ttl: soon}\n  holidays: [{date: 12-32, name: x}, {date: 12-26, name: y}]\n")
    folder.add("  other: {type: openai, model: m, base_url: nowhere}\n", name="llm-providers.yaml")
    assert len(folder.problems()) == 6
    folder.become_tarsy()
    config = folder.load()
    assert all(warning.endswith("(ignored)") for warning in config.warnings)
    assert [day.date for day in config.system.holidays] == ["12-26"]
    assert config.system.runbooks == Runbooks()
    assert config.defaults.success_policy is SuccessPolicy.ANY
    assert config.chains["web"].executive_summary_provider is None


def test_a_default_provider_that_leads_nowhere_matters_only_to_those_without_their_own(folder: Folder) -> None:
    line = folder.change("llm_provider: local", "llm_provider: gone")
    folder.become_tarsy()
    (told,) = folder.problems()
    assert told == (
        "tarsy.yaml:13: agent_chains.web.stages[0].agents[0]: "
        "has no model; set llm_provider here, on the chain or in defaults"
    )
    folder.change("alert_types: [web-down]", "alert_types: [web-down]\n    llm_provider: local", name="tarsy.yaml")
    assert folder.load().warnings == (
        f'tarsy.yaml:{line + 1}: defaults.llm_provider: there is no LLM provider "gone" (ignored)',
    )


def test_an_empty_text_is_none_given_there(folder: Folder) -> None:
    folder.change(
        "alert_types: [web-down]", "alert_types: [web-down]\n    llm_provider: ''\n    llm_backend: '{{.GONE}}'"
    )
    folder.change("- name: Reader", "- name: Reader\n            type: ''\n            llm_provider: ''")
    folder.become_tarsy()
    chain = folder.load().chains["web"]
    assert chain.llm_provider is None
    assert chain.llm_backend is None
    assert chain.stages[0].agents[0].llm_provider is None


def test_an_unknown_key_of_a_sub_agent_is_a_problem_there_too(folder: Folder) -> None:
    unsound = "sub_agents: [{name: GeneralWorker, temprature: 1}]"
    line = folder.change("alert_types: [web-down]", f"alert_types: [web-down]\n    {unsound}\n    colour: blue") + 1
    folder.become_tarsy()
    assert folder.problems() == (f'tarsy.yaml:{line}: agent_chains.web.sub_agents[0]: unknown key "temprature"',)


def test_a_tool_session_lasts_one_execution_there(folder: Folder) -> None:
    assert folder.load().mcp_servers["logs"].isolation is None
    folder.become_tarsy()
    assert folder.load().mcp_servers["logs"].isolation == "execution"


EXAMPLES = Path(__file__).parents[3] / "config"
VARIABLES = (
    *("METRICS_URL", "METRICS_TOKEN", "TICKETS_TOKEN", "GITHUB_TOKEN"),
    *("GOOGLE_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"),
)


@pytest.mark.parametrize("example", ["tarsy-p11", "tarsy-head"])
def test_the_folders_of_both_versions_load_as_they_are(example: str) -> None:
    config = load_config(EXAMPLES / example, environ=dict.fromkeys(VARIABLES, "x"))
    assert config.tarsy
    expected = ("does not act on it yet", "has no effect; a lease of three heartbeats takes its place")
    assert [warning for warning in config.warnings if not warning.endswith(expected)] == []
    assert "kubernetes" in config.chains
    for chain in config.chains.values():
        for stage in chain.stages:
            for agent in stage.agents:
                resolve_execution(config, chain, stage=stage, stage_agent=agent)
            resolve_synthesis(config, chain, stage=stage)
        resolve_chat(config, chain)
        resolve_summary(config, chain)


def test_the_older_spelling_is_understood() -> None:
    config = load_config(EXAMPLES / "tarsy-p11", environ=dict.fromkeys(VARIABLES, "x"))
    chain = config.chains["latency"]
    first, second = (
        resolve_execution(config, chain, stage=chain.stages[0], stage_agent=agent) for agent in chain.stages[0].agents
    )
    assert (first.provider_name, first.backend) == ("gemini-2.5-pro", "langchain")
    assert (second.provider_name, second.max_iterations) == ("fast", 8)
    merged = resolve_synthesis(config, chain, stage=chain.stages[0])
    assert (merged.agent, merged.agent_type, merged.backend) == ("Merger", "synthesis", "langchain")
    assert resolve_chat(config, chain).backend == "google-native"
