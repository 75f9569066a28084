"""Every way a folder can be wrong is told with its file and line, all at once, without repeating secrets."""

from pathlib import Path

import pytest

from midwatch.config.load import load_config
from midwatch.domain.errors import Misconfigured
from tests.unit.config.folder import Folder, stdio

KINDS = "openai, scripted, demo, google, anthropic, xai, vertexai, pydantic-ai"


def test_a_misspelt_top_level_key_is_told_with_the_nearest_known_one(folder: Folder) -> None:
    line = folder.add("agent_chain: {}\n")
    assert folder.problems() == (f'midwatch.yaml:{line}: unknown key "agent_chain"; did you mean "agent_chains"?',)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "command: serve-logs",
            "comand: x, command: y",
            'mcp_servers.logs.transport: unknown key "comand"; did you mean "command"?',
        ),
        (
            "mcp_servers: [logs]",
            "mcp_server: [logs]",
            'agents.Reader: unknown key "mcp_server"; did you mean "mcp_servers"?',
        ),
        (
            "alert_types: [web-down]",
            "alert_types: [web-down]\n    descripton: x",
            'agent_chains.web: unknown key "descripton"; did you mean "description"?',
        ),
        (
            "- name: look",
            "- name: look\n        max_iteration: 3",
            'agent_chains.web.stages[0]: unknown key "max_iteration"; did you mean "max_iterations"?',
        ),
        (
            "- name: Reader",
            "- name: Reader\n            llm_provder: local",
            'agent_chains.web.stages[0].agents[0]: unknown key "llm_provder"; did you mean "llm_provider"?',
        ),
        (
            "llm_provider: local",
            "llm_provider: local\n  alert_masking: {enable: true}",
            'defaults.alert_masking: unknown key "enable"; did you mean "enabled"?',
        ),
    ],
)
def test_a_misspelt_key_is_found_at_every_depth(folder: Folder, old: str, new: str, told: str) -> None:
    line = folder.change(old, new) + new.count("\n")
    assert f"midwatch.yaml:{line}: {told}" in folder.problems()


def test_a_key_that_resembles_nothing_gets_no_suggestion(folder: Folder) -> None:
    line = folder.add("zzz: 1\n")
    assert folder.problems() == (f'midwatch.yaml:{line}: unknown key "zzz"',)


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("queue:\n  worker_count: many\n", "queue.worker_count: expected a whole number"),
        ("queue:\n  worker_count: 0\n", "queue.worker_count: must be at least 1"),
        ("queue:\n  worker_count: 201\n", "queue.worker_count: must be at most 200"),
        ("queue:\n  max_concurrent_sessions: 0\n", "queue.max_concurrent_sessions: must be at least 1"),
        (
            "queue:\n  session_timeout: soon\n",
            "queue.session_timeout: expected a length of time such as 500ms, 1m30s or 2h, or a number of seconds",
        ),
        ("queue:\n  poll_interval: 0s\n", "queue.poll_interval: must be longer than nothing"),
        ("queue:\n  poll_interval_jitter: 1s\n", "queue.poll_interval_jitter: must be shorter than poll_interval"),
        ("queue:\n  worker_count: [5]\n", "queue.worker_count: expected a whole number"),
        ("queue:\n  - worker_count\n", "queue: expected keys with values"),
        ("safety:\n  mode: observed\n", 'safety.mode: expected enforce or observe; did you mean "observe"?'),
        ("safety:\n  control_level: full\n", "safety.control_level: expected read_only, controlled or autonomous"),
        ("safety:\n  strict_resolution: perhaps\n", "safety.strict_resolution: expected true or false"),
    ],
)
def test_a_wrong_value_is_told_by_what_was_expected(folder: Folder, block: str, told: str) -> None:
    line = folder.add(block)
    on_the_key = told.partition(":")[0].count(".")
    assert folder.problems() == (f"midwatch.yaml:{line + on_the_key}: {told}",)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("mcp_servers: [logs]", "max_iterations: 0", "agents.Reader.max_iterations: must be at least 1"),
        ("mcp_servers: [logs]", "mcp_servers: logs", "agents.Reader.mcp_servers: expected a list"),
        ("mcp_servers: [logs]", "custom_instructions: [be brief]", "agents.Reader.custom_instructions: expected text"),
        (
            "mcp_servers: [logs]",
            "llm_backend: langchan",
            'agents.Reader.llm_backend: expected google-native or langchain; did you mean "langchain"?',
        ),
        ("[web-down]", "[]", "agent_chains.web.alert_types: needs at least one entry"),
        ("name: look", 'name: ""', "agent_chains.web.stages[0].name: must not be empty"),
        ("command: serve-logs", "args: []", "mcp_servers.logs.transport.command: is missing"),
        ("command: serve-logs", "command: x, env: [A=b]", "mcp_servers.logs.transport.env: expected keys with values"),
        (
            "type: stdio",
            "type: studio",
            'mcp_servers.logs.transport.type: expected one of stdio, http, sse; did you mean "stdio"?',
        ),
    ],
)
def test_a_wrong_value_inside_an_entry_is_told_on_its_line(folder: Folder, old: str, new: str, told: str) -> None:
    line = folder.change(old, new)
    assert folder.problems() == (f"midwatch.yaml:{line}: {told}",)


def test_a_required_key_without_a_value_is_missing_on_its_own_line(folder: Folder) -> None:
    line = folder.change(
        "transport: {type: stdio, command: serve-logs}", "transport:\n      command:\n      type: stdio"
    )
    assert folder.problems() == (f"midwatch.yaml:{line + 1}: mcp_servers.logs.transport.command: is missing",)


def test_a_section_that_is_no_mapping_is_told(folder: Folder) -> None:
    folder.write("midwatch.yaml", "agents: [Reader]\n")
    assert folder.problems() == ("midwatch.yaml:1: agents: expected keys with values",)


@pytest.mark.parametrize("stages", ["[]", ""])
def test_a_chain_needs_stages(folder: Folder, stages: str) -> None:
    folder.write("midwatch.yaml", f"agent_chains:\n  web:\n    alert_types: [x]\n    stages: {stages}\n")
    told = "needs at least one entry" if stages else "is missing"
    assert folder.problems() == (f"midwatch.yaml:4: agent_chains.web.stages: {told}",)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "- name: Reader",
            "- name: Raeder",
            'agent_chains.web.stages[0].agents[0].name: there is no agent "Raeder"; did you mean "Reader"?',
        ),
        (
            "mcp_servers: [logs]",
            "mcp_servers: [logs, log]",
            'agents.Reader.mcp_servers[1]: there is no MCP server "log"; did you mean "logs"?',
        ),
        (
            "alert_types: [web-down]",
            "alert_types: [web-down]\n    mcp_servers: [x]",
            'agent_chains.web.mcp_servers[0]: there is no MCP server "x"',
        ),
        (
            "- name: look",
            "- name: look\n        mcp_servers: [x]",
            'agent_chains.web.stages[0].mcp_servers[0]: there is no MCP server "x"',
        ),
        (
            "- name: Reader",
            "- name: Reader\n            mcp_servers: [x]",
            'agent_chains.web.stages[0].agents[0].mcp_servers[0]: there is no MCP server "x"',
        ),
        (
            "llm_provider: local",
            "llm_provider: locl",
            'defaults.llm_provider: there is no LLM provider "locl"; did you mean "local"?',
        ),
        (
            "alert_types: [web-down]",
            "alert_types: [web-down]\n    llm_provider: x",
            'agent_chains.web.llm_provider: there is no LLM provider "x"',
        ),
        (
            "- name: Reader",
            "- name: Reader\n            llm_provider: x",
            'agent_chains.web.stages[0].agents[0].llm_provider: there is no LLM provider "x"',
        ),
        (
            "llm_provider: local",
            "llm_provider: local\n  alert_type: web-dwn",
            'defaults.alert_type: there is no chain that takes alert type "web-dwn"; did you mean "web-down"?',
        ),
        (
            "llm_provider: local",
            "llm_provider: local\n  alert_masking: {pattern_group: secruity}",
            'defaults.alert_masking.pattern_group: there is no masking group "secruity"; did you mean "security"?',
        ),
    ],
)
def test_a_name_that_leads_nowhere_is_told_where_it_is_used(folder: Folder, old: str, new: str, told: str) -> None:
    line = folder.change(old, new) + new.count("\n")
    assert folder.problems() == (f"midwatch.yaml:{line}: {told}",)


@pytest.mark.parametrize(
    ("masking", "told"),
    [
        ("pattern_groups: [basics]", 'pattern_groups[0]: there is no masking group "basics"; did you mean "basic"?'),
        ("patterns: [passwrd]", 'patterns[0]: there is no masking pattern "passwrd"; did you mean "password"?'),
    ],
)
def test_an_unknown_masking_name_is_told(folder: Folder, masking: str, told: str) -> None:
    line = folder.change("    transport:", f"    data_masking: {{{masking}}}\n    transport:")
    assert folder.problems() == (f"midwatch.yaml:{line}: mcp_servers.logs.data_masking.{told}",)


@pytest.mark.parametrize("pattern", ["(?=a)b", "(", "a*"])
def test_a_custom_pattern_that_cannot_be_used_is_refused(folder: Folder, pattern: str) -> None:
    masking = f"    data_masking: {{custom_patterns: [{{pattern: '{pattern}', replacement: x}}]}}\n"
    line = folder.change("    transport:", f"{masking}    transport:")
    (told,) = folder.problems()
    assert told.startswith(f"midwatch.yaml:{line}: mcp_servers.logs.data_masking.custom_patterns[0].pattern: ")


def test_every_built_in_masking_name_may_be_chosen(folder: Folder) -> None:
    masking = "    data_masking: {pattern_groups: [all], patterns: [password, kubernetes_secret]}\n"
    folder.change("    transport:", f"{masking}    transport:")
    assert folder.load().mcp_servers["logs"].data_masking.patterns == ("password", "kubernetes_secret")


@pytest.mark.parametrize("reserved", ["infra", "result", "midwatch"])
def test_some_server_ids_are_reserved(folder: Folder, reserved: str) -> None:
    line = folder.change("  logs:\n", f"  {reserved}: {{transport: {{type: stdio, command: x}}}}\n  logs:\n")
    assert folder.problems() == (f'midwatch.yaml:{line}: mcp_servers.{reserved}: the id "{reserved}" is reserved',)


@pytest.mark.parametrize("bad", ["a.b", "a__b", "a b", "ü"])
def test_a_server_id_must_be_speakable_in_tool_names(folder: Folder, bad: str) -> None:
    line = folder.change("  logs:\n", f"  {bad}: {{transport: {{type: stdio, command: x}}}}\n  logs:\n")
    (told,) = folder.problems()
    assert told.startswith(f"midwatch.yaml:{line}: mcp_servers.{bad}: an id is made of letters, digits, - and _")


def test_an_alert_type_belongs_to_one_chain(folder: Folder) -> None:
    folder.change(
        "defaults:\n", "  other: {alert_types: [web-down], stages: [{name: s, agents: [{name: Reader}]}]}\ndefaults:\n"
    )
    (told,) = folder.problems()
    assert told == (
        'midwatch.yaml:14: agent_chains.other.alert_types[0]: alert type "web-down" already belongs to chain "web"'
    )


def test_an_agent_without_any_model_is_told(folder: Folder) -> None:
    folder.change("defaults:\n  llm_provider: local\n", "")
    (told,) = folder.problems()
    assert told == (
        "midwatch.yaml:13: agent_chains.web.stages[0].agents[0]: has no model; "
        "set llm_provider here, on the chain or in defaults"
    )


@pytest.mark.parametrize("environ", [{}, {"KEY": ""}])
def test_the_key_of_a_provider_in_use_must_be_set(folder: Folder, environ: dict[str, str]) -> None:
    line = folder.add("    api_key_env: KEY\n", name="llm-providers.yaml")
    assert folder.problems(**environ) == (
        f"llm-providers.yaml:{line}: llm_providers.local: variable KEY is not set (used by defaults.llm_provider)",
    )
    assert folder.load(KEY="secret").providers["local"].api_key_env == "KEY"


def test_the_key_of_an_unused_provider_is_not_asked_for(folder: Folder) -> None:
    folder.add("  other: {type: openai, model: m, api_key_env: KEY}\n", name="llm-providers.yaml")
    assert "other" in folder.load().providers


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (
            "{type: opanai, model: m}",
            f'.type: expected one of {KINDS}; did you mean "openai"?',
        ),
        ("{model: m}", f".type: is missing; expected one of {KINDS}"),
        ("{type: [x], model: m}", f".type: expected one of {KINDS}"),
        ("openai", ": expected keys with values"),
        ("{type: openai}", ".model: is missing"),
        ("{type: openai, model: m, base_url: localhost/v1}", ".base_url: must start with http:// or https://"),
        ("{type: openai, model: m, api_key: sk-1}", ': unknown key "api_key"; did you mean "api_key_env"?'),
        ("{type: scripted, script: gone.json}", ".script: there is no such file in the folder"),
        ("{type: scripted}", ".script: is missing"),
    ],
)
def test_a_broken_provider_is_told_on_its_line(folder: Folder, entry: str, told: str) -> None:
    line = folder.add(f"  other: {entry}\n", name="llm-providers.yaml")
    assert folder.problems() == (f"llm-providers.yaml:{line}: llm_providers.other{told}",)


def test_all_problems_of_all_files_are_told_at_once_in_reading_order(folder: Folder) -> None:
    folder.change("mcp_servers: [logs]", "mcp_servers: [x]")
    folder.change("- name: Reader", "- name: Nobody")
    folder.change("model: small", "modle: small", name="llm-providers.yaml")
    folder.add("queue:\n  worker_count: 0\n  worker: 1\nsaftey: {}\n")
    assert [problem.partition(": ")[0] for problem in folder.problems()] == [
        "llm-providers.yaml:2",
        "llm-providers.yaml:4",
        "midwatch.yaml:6",
        "midwatch.yaml:13",
        "midwatch.yaml:17",
        "midwatch.yaml:18",
        "midwatch.yaml:19",
    ]


def test_a_broken_agent_is_still_known_by_name(folder: Folder) -> None:
    line = folder.change("mcp_servers: [logs]", "max_iterations: none")
    assert folder.problems() == (f"midwatch.yaml:{line}: agents.Reader.max_iterations: expected a whole number",)


def test_a_folder_without_either_main_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match=r"holds neither midwatch\.yaml nor tarsy\.yaml"):
        load_config(tmp_path, environ={})


def test_a_folder_without_providers_is_refused(folder: Folder) -> None:
    (folder.path / "llm-providers.yaml").unlink()
    assert folder.problems() == (f"llm-providers.yaml: not found in {folder.path}",)


SECRET = "hunter2-very-secret"


@pytest.mark.parametrize(
    "main",
    [
        "mcp_servers: {s: {transport: {type: stdio, command: x, env: {{.SECRET}} }}}",
        "mcp_servers: {s: {transport: {type: stdio, command: x, env: {TOKEN: [{{.SECRET}}]}}}}",
        "mcp_servers: {s: {transport: {type: {{.SECRET}}, command: x}}}",
        "mcp_servers: {s: {transport: {type: stdio, command: x, bearer_token: {{.SECRET}} }}}",
        "queue: {worker_count: {{.SECRET}}, session_timeout: {{.SECRET}} }",
        "safety: {mode: {{.SECRET}} }",
        "defaults: [{{.SECRET}}]",
        "agents: {{.SECRET}}",
        "agents: *{{.SECRET}}",
        "agents: !{{.SECRET}} x",
        "agents: '{{.SECRET}}",
        "agents: @{{.SECRET}}",
    ],
)
def test_a_value_is_never_repeated_in_a_message(folder: Folder, main: str) -> None:
    folder.write("midwatch.yaml", main)
    told = folder.problems(SECRET=SECRET)
    assert told
    assert not any(SECRET in line or "hunter2" in line for line in told)


def test_a_key_in_the_url_of_a_provider_is_never_repeated(folder: Folder) -> None:
    folder.change("http://localhost:1/v1", f"ftp://user:{SECRET}@host", name="llm-providers.yaml")
    assert SECRET not in str(folder.problems())


def test_secrets_do_not_show_when_a_configuration_is_printed(folder: Folder) -> None:
    folder.change("command: serve-logs", f"command: x, env: {{TOKEN: {SECRET}}}")
    config = folder.load(API_KEY=SECRET)
    assert stdio(config).env == {"TOKEN": SECRET}
    assert SECRET not in repr(config)
