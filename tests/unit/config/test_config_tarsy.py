"""A folder written for TARSy loads as it is: what TARSy overlooks is a warning."""

from midwatch.domain.safety import ControlLevel, SafetyMode
from tests.unit.config.folder import Folder


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
    agent_line = folder.change("mcp_servers: [logs]", "mcp_servers: [logs]\n    skills: []") + 1
    stage_line = folder.change("- name: look", "- name: look\n        synthesis: {agent: X}") + 1
    top_line = folder.add("system: {dashboard_url: http://x}\n")
    provider_line = folder.add("    natve_tools: {}\n", name="llm-providers.yaml")
    folder.become_tarsy()
    config = folder.load()
    assert config.warnings == (
        f'llm-providers.yaml:{provider_line}: llm_providers.local: unknown key "natve_tools" (ignored)',
        f'tarsy.yaml:{agent_line}: agents.Reader: unknown key "skills" (ignored)',
        f'tarsy.yaml:{stage_line}: agent_chains.web.stages[0]: unknown key "synthesis" (ignored)',
        f'tarsy.yaml:{top_line}: unknown key "system" (ignored)',
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
    assert config.mcp_servers["logs"].transport.env == {"TOKEN": ""}
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
