"""The rules that values must keep, each told on its line."""

from dataclasses import replace
from pathlib import Path

import pytest

from midwatch.config.llm import VertexAiProvider
from midwatch.config.load import examine_config, load_config
from tests.unit.config.folder import Folder

CHAIN = "alert_types: [web-down]"
STAGE = "- name: look"
AGENT = "mcp_servers: [logs]"
SERVER = "transport: {type: stdio, command: serve-logs}"
DEFAULT = "llm_provider: local"


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("dashboard_url: watch.example", "system.dashboard_url: must start with http:// or https://"),
        ("dashboard_url: 'https://'", "system.dashboard_url: expected an address such as https://host/path"),
        ("dashboard_url: 'http://h:99999'", "system.dashboard_url: expected an address such as https://host/path"),
        ("allowed_ws_origins: ['']", "system.allowed_ws_origins[0]: must not be empty"),
        ("github: {token_env: ''}", "system.github.token_env: must not be empty"),
        ("runbooks: {repo_url: github}", "system.runbooks.repo_url: must start with http:// or https://"),
        ("runbooks: {cache_ttl: 0s}", "system.runbooks.cache_ttl: must be longer than nothing"),
        ("runbooks: {allowed_domains: [a, '']}", "system.runbooks.allowed_domains[1]: must not be empty"),
        ("slack: {enabled: true}", "system.slack.channel: must be set when enabled is true"),
        ("slack: {enabled: true, channel: C}", "system.slack.token_env: variable SLACK_BOT_TOKEN is not set"),
        (
            "retention: {session_retention_days: 0}",
            "system.retention.session_retention_days: must be at least 1",
        ),
        ("retention: {event_ttl: 0s}", "system.retention.event_ttl: must be longer than nothing"),
        ("holidays: [{date: 13-01, name: x}]", "system.holidays[0].date: expected a month and a day such as 12-25"),
        ("holidays: [{date: 02-30, name: x}]", "system.holidays[0].date: expected a month and a day such as 12-25"),
        ("holidays: [{date: 1-1, name: x}]", "system.holidays[0].date: expected a month and a day such as 12-25"),
        ("holidays: [{date: 01-01}]", "system.holidays[0].name: is missing"),
    ],
)
def test_a_wrong_value_in_the_system_block_is_told(folder: Folder, block: str, told: str) -> None:
    line = folder.add(f"system:\n  {block}\n")
    assert folder.problems() == (f"midwatch.yaml:{line + 1}: {told}",)


@pytest.mark.parametrize(
    ("rate", "told"),
    [
        ("{input_per_million: -1, output_per_million: 1}", "input_per_million: must be at least 0"),
        ("{input_per_million: .inf, output_per_million: 1}", "input_per_million: expected a number"),
        ("{input_per_million: nan, output_per_million: 1}", "input_per_million: expected a number"),
        ("{input_per_million: 1, output_per_million: cheap}", "output_per_million: expected a number"),
        ("{input_per_million: 1}", "output_per_million: is missing"),
    ],
)
def test_a_price_is_a_finite_number(folder: Folder, rate: str, told: str) -> None:
    line = folder.add(f"system: {{cost_estimation: {{model_rates: {{m: {rate}}}}}}}\n")
    assert folder.problems() == (f"midwatch.yaml:{line}: system.cost_estimation.model_rates.m.{told}",)


FREE = "input_per_million: 0, output_per_million: 0"
INSTANT = "expected a day such as 2026-01-31, or a time with its zone such as 2026-01-31T08:00:00Z"


@pytest.mark.parametrize(
    ("promotions", "told"),
    [
        (["model: m, start: 2026-01-02, end: 2026-01-02"], "[0].end: must be later than start"),
        (["model: m, start: 2026-01-02, end: 2026-01-01"], "[0].end: must be later than start"),
        (["model: m, end: soon"], f"[0].end: {INSTANT}"),
        (["model: m, end: 2026-01-31T08:00:00"], f"[0].end: {INSTANT}"),
        (["model: m, end: [2026]"], f"[0].end: {INSTANT}"),
        (["model: m, start: 2026-01-01"], "[0].end: is missing"),
        (["end: 2026-01-01"], "[0].model: is missing"),
        (
            ["model: m, end: 2026-01-02", "model: m, start: 2026-01-01, end: 2026-02-01"],
            "[1]: overlaps promotions[0], which is for the same model",
        ),
        (
            ["model: m, start: 2026-01-01, end: 2026-03-01", "model: m, start: 2026-02-01, end: 2026-02-02"],
            "[1]: overlaps promotions[0], which is for the same model",
        ),
        (
            ["id: x, model: m, end: 2026-01-01", "id: x, model: n, end: 2026-01-01"],
            "[1]: has the same id as promotions[0]",
        ),
    ],
)
def test_promotions_must_not_contradict_each_other(folder: Folder, promotions: list[str], told: str) -> None:
    written = ", ".join(f"{{{promotion}, {FREE}}}" for promotion in promotions)
    line = folder.add(f"system: {{cost_estimation: {{promotions: [{written}]}}}}\n")
    assert folder.problems() == (f"midwatch.yaml:{line}: system.cost_estimation.promotions{told}",)


def test_a_promotion_may_begin_where_another_ends(folder: Folder) -> None:
    spans = ("start: 2026-02-01, end: 2026-03-01", "end: 2026-02-01", "start: 2026-03-01, end: 2026-03-02")
    written = ", ".join(f"{{model: m, {span}, {FREE}}}" for span in spans)
    folder.add(f"system: {{cost_estimation: {{promotions: [{written}, {{model: n, {spans[0]}, {FREE}}}]}}}}\n")
    assert len(folder.load().system.cost_estimation.promotions) == 4


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            SERVER,
            "transport: {type: http}",
            "mcp_servers.logs.transport.url: is missing",
        ),
        (
            SERVER,
            "transport: {type: sse, url: 'ws://x'}",
            "mcp_servers.logs.transport.url: must start with http:// or https://",
        ),
        (
            SERVER,
            "transport: {type: http, url: 'http://x', command: y}",
            'mcp_servers.logs.transport: unknown key "command"',
        ),
        (
            SERVER,
            "transport: {command: y}",
            "mcp_servers.logs.transport.type: is missing; expected one of stdio, http, sse",
        ),
        (SERVER, "transport: stdio", "mcp_servers.logs.transport: expected keys with values"),
        (
            SERVER,
            "transport: {type: http, url: 'http://x'}\n    run_as: me",
            "mcp_servers.logs.run_as: belongs to servers with transport stdio",
        ),
        (
            SERVER,
            f"{SERVER}\n    summarization: {{size_threshold_tokens: 99}}",
            "mcp_servers.logs.summarization.size_threshold_tokens: must be at least 100",
        ),
        (
            SERVER,
            f"{SERVER}\n    summarization: {{summary_max_token_limit: 49}}",
            "mcp_servers.logs.summarization.summary_max_token_limit: must be at least 50",
        ),
        (
            SERVER,
            f"{SERVER}\n    summarization: {{enabled: false, llm_provider: local}}",
            "mcp_servers.logs.summarization.llm_provider: has no use here, since enabled is false",
        ),
        (
            SERVER,
            f"{SERVER}\n    summarization: {{enabled: false, llm_backend: langchain}}",
            "mcp_servers.logs.summarization.llm_backend: has no use here, since enabled is false",
        ),
        (
            SERVER,
            f"{SERVER}\n    shared: true\n    isolation: execution",
            "mcp_servers.logs.isolation: does not go with shared: true",
        ),
        (
            SERVER,
            f"{SERVER}\n    targets: {{a: {{parent: x}}}}",
            "mcp_servers.logs.targets.a.target: is missing",
        ),
        (
            AGENT,
            "native_tools: {google_serch: true}",
            'agents.Reader.native_tools: unknown key "google_serch"; did you mean "google_search"?',
        ),
        (
            AGENT,
            "native_tools: {google_search: maybe}",
            "agents.Reader.native_tools.google_search: expected true or false",
        ),
        (
            AGENT,
            "type: actor",
            'agents.Reader.type: expected action, synthesis, exec_summary or scoring; did you mean "action"?',
        ),
        (
            AGENT,
            "orchestrator: {agent_timeout: 0}",
            "agents.Reader.orchestrator.agent_timeout: must be longer than nothing",
        ),
        (AGENT, "skills: [fly]", 'agents.Reader.skills[0]: there is no skill "fly"'),
        (AGENT, "required_skills: [fly]", 'agents.Reader.required_skills[0]: there is no skill "fly"'),
        (AGENT, "llm_provider: local", 'agents.Reader: unknown key "llm_provider"'),
        (
            CHAIN,
            f"{CHAIN}\n    chat: {{enabled: true}}",
            "agent_chains.web.chat.agent: must be set when enabled is true",
        ),
        (
            CHAIN,
            f"{CHAIN}\n    chat: {{enabled: true, agent: Chatter}}",
            'agent_chains.web.chat.agent: there is no agent "Chatter"; did you mean "ChatAgent"?',
        ),
        (
            CHAIN,
            f"{CHAIN}\n    scoring: {{enabled: true, agent: Nobody}}",
            'agent_chains.web.scoring.agent: there is no agent "Nobody"',
        ),
        (
            CHAIN,
            f"{CHAIN}\n    executive_summary_provider: x",
            'agent_chains.web.executive_summary_provider: there is no LLM provider "x"',
        ),
        (
            CHAIN,
            f"{CHAIN}\n    fallback_providers: [{{provider: local}}]",
            "agent_chains.web.fallback_providers[0].backend: is missing",
        ),
        (
            CHAIN,
            f"{CHAIN}\n    fallback_providers: [{{provider: x, backend: langchain}}]",
            'agent_chains.web.fallback_providers[0].provider: there is no LLM provider "x"',
        ),
        (
            CHAIN,
            f"{CHAIN}\n    sub_agents: [Reader]",
            'agent_chains.web.sub_agents[0]: agent "Reader" needs a description before others can send for it',
        ),
        (CHAIN, f"{CHAIN}\n    sub_agents: [Ghost]", 'agent_chains.web.sub_agents[0].name: there is no agent "Ghost"'),
        (
            CHAIN,
            f"{CHAIN}\n    sub_agents: [{{name: GeneralWorker, sub_agents: []}}]",
            'agent_chains.web.sub_agents[0]: unknown key "sub_agents"',
        ),
        (CHAIN, f"{CHAIN}\n    budgets: {{usd: 0}}", "agent_chains.web.budgets.usd: must be more than 0"),
        (CHAIN, f"{CHAIN}\n    budgets: {{tokens: 0}}", "agent_chains.web.budgets.tokens: must be at least 1"),
        (
            STAGE,
            f"{STAGE}\n        synthesis: {{agent: Nobody}}",
            'agent_chains.web.stages[0].synthesis.agent: there is no agent "Nobody"',
        ),
        (
            STAGE,
            f"{STAGE}\n        synthesis: {{llm_provider: x}}",
            'agent_chains.web.stages[0].synthesis.llm_provider: there is no LLM provider "x"',
        ),
        (STAGE, f"{STAGE}\n        replicas: -1", "agent_chains.web.stages[0].replicas: must be at least 0"),
        (
            DEFAULT,
            f"{DEFAULT}\n  summarization: {{llm_backend: langchain}}",
            "defaults.summarization.llm_backend: needs llm_provider beside it",
        ),
        (
            DEFAULT,
            f"{DEFAULT}\n  summarization: {{enabled: true}}",
            'defaults.summarization: unknown key "enabled"',
        ),
        (
            DEFAULT,
            f"{DEFAULT}\n  orchestrator: {{max_budget: 0s}}",
            "defaults.orchestrator.max_budget: must be longer than nothing",
        ),
        (
            DEFAULT,
            f"{DEFAULT}\n  memory: {{embedding: {{dimensions: 0}}}}",
            "defaults.memory.embedding.dimensions: must be at least 1",
        ),
        (DEFAULT, f"{DEFAULT}\n  success_policy: most", "defaults.success_policy: expected all or any"),
        (
            DEFAULT,
            f"{DEFAULT}\n  scoring: {{llm_provider: x}}",
            'defaults.scoring.llm_provider: there is no LLM provider "x"',
        ),
    ],
)
def test_a_value_that_breaks_its_rule_is_told(folder: Folder, old: str, new: str, told: str) -> None:
    line = folder.change(old, new) + new.count("\n")
    assert folder.problems() == (f"midwatch.yaml:{line}: {told}",)


def test_a_server_without_a_transport_is_told_by_its_name(folder: Folder) -> None:
    line = folder.change(SERVER, "instructions: x") - 1
    assert folder.problems() == (f"midwatch.yaml:{line}: mcp_servers.logs.transport: is missing",)


@pytest.mark.parametrize(
    ("block", "told"),
    [
        ("safety: {rules: [{tools: [x]}]}", "safety.rules[0].decision: is missing"),
        (
            "safety: {rules: [{decision: alow}]}",
            'safety.rules[0].decision: expected allow, ask or refuse; did you mean "allow"?',
        ),
        ("safety: {rules: [{decision: ask, kinds: [reed]}]}", "safety.rules[0].kinds[0]: expected resolve"),
        ("safety: {rules: [{decision: ask, risk: huge}]}", "safety.rules[0].risk[0]: expected low, medium or high"),
        (
            "safety: {egress_allow: ['http://x']}",
            "safety.egress_allow[0]: expected a host name, an address or a network",
        ),
        (
            "safety: {egress_allow: [10.0.0.1/8]}",
            "safety.egress_allow[0]: expected a host name, an address or a network",
        ),
        (
            "safety: {egress_allow: [300.1.1.1]}",
            "safety.egress_allow[0]: expected a host name, an address or a network",
        ),
        ("approvals: {expire_after: 0}", "approvals.expire_after: must be longer than nothing"),
        ("approvals: {expires_after: 1m}", 'approvals: unknown key "expires_after"; did you mean "expire_after"?'),
        ("llm: {service_addr: ''}", "llm.service_addr: must not be empty"),
        (
            "queue: {heartbeat_interval: 5s, orphan_threshold: 5s}",
            "queue.orphan_threshold: must be longer than heartbeat_interval",
        ),
    ],
)
def test_our_own_blocks_keep_their_rules(folder: Folder, block: str, told: str) -> None:
    line = folder.add(f"{block}\n")
    (problem,) = folder.problems()
    assert problem.startswith(f"midwatch.yaml:{line}: {told}")


def test_nothing_is_named_twice_in_a_list_of_skills(folder: Folder) -> None:
    folder.change(AGENT, "skills: [a, a]")
    (told,) = folder.problems()
    assert told.endswith("agents.Reader.skills: must not name anything twice")


def test_replicas_and_several_agents_do_not_go_together(folder: Folder) -> None:
    folder.change("- name: Reader", "- name: Reader\n          - name: Reader")
    line = folder.change(STAGE, f"{STAGE}\n        replicas: 2") + 1
    (told,) = folder.problems()
    assert told.startswith(f"midwatch.yaml:{line}: agent_chains.web.stages[0].replicas: goes with one agent")
    folder.become_tarsy()
    assert any("only the first agent is used" in warning for warning in folder.load().warnings)


@pytest.mark.parametrize("new", ["- name: Reader\n          - name: Reader", "- name: KubernetesAgent"])
def test_several_agents_and_built_in_ones_are_sound(folder: Folder, new: str) -> None:
    folder.change("- name: Reader", new)
    assert len(folder.load().chains["web"].stages[0].agents) == new.count("name")


@pytest.mark.parametrize(
    ("block", "key"), [("chat: {agent: ChatAgent}", "chat"), ("scoring: {max_iterations: 1}", "scoring")]
)
def test_a_block_that_does_not_say_it_is_on_is_off_and_said_to_be(folder: Folder, block: str, key: str) -> None:
    line = folder.change(CHAIN, f"{CHAIN}\n    {block}") + 1
    assert folder.load().warnings == (
        f"midwatch.yaml:{line}: agent_chains.web.{key}: is off, because it does not say enabled: true",
    )


def test_scoring_for_all_is_scoring_for_chains_that_do_not_speak_of_it(folder: Folder) -> None:
    folder.change(DEFAULT, f"{DEFAULT}\n  scoring: {{enabled: true, agent: ScoringAgent}}")
    scoring = folder.load().chains["web"].scoring
    assert scoring is not None
    assert scoring.enabled
    folder.change(CHAIN, f"{CHAIN}\n    scoring: {{enabled: false}}")
    scoring = folder.load().chains["web"].scoring
    assert scoring is not None
    assert not scoring.enabled


@pytest.mark.parametrize(
    ("provider", "missing"),
    [
        ("{type: google, model: m, api_key_env: KEY}", "KEY"),
        ("{type: anthropic, model: m, api_key_env: KEY}", "KEY"),
        ("{type: xai, model: m, api_key_env: KEY}", "KEY"),
        ("{type: vertexai, model: m, project_env: PROJECT}", "PROJECT"),
        ("{type: vertexai, model: m}", "GOOGLE_CLOUD_PROJECT"),
    ],
)
def test_every_type_of_provider_is_sound_once_its_variables_are_set(
    folder: Folder, provider: str, missing: str
) -> None:
    line = folder.add(f"  big: {provider}\n", name="llm-providers.yaml")
    folder.load()
    folder.change(DEFAULT, "llm_provider: big")
    assert folder.problems() == (
        f"llm-providers.yaml:{line}: llm_providers.big: variable {missing} is not set (used by defaults.llm_provider)",
    )
    assert folder.load(**{missing: "x"}).providers["big"].model == "m"


VERTEX = "{type: vertexai, model: m, credentials_env: FILE, location_env: PLACE}"


def test_a_key_file_must_be_there_and_is_never_shown(folder: Folder, tmp_path: Path) -> None:
    line = folder.add(f"  big: {VERTEX}\n", name="llm-providers.yaml")
    folder.change(DEFAULT, "llm_provider: big")
    rest = {"GOOGLE_CLOUD_PROJECT": "p", "PLACE": "eu"}
    wrong = "variable FILE does not name a file that can be read (used by defaults.llm_provider)"
    for value in (str(tmp_path / "secret.json"), str(tmp_path)):
        assert folder.problems(FILE=value, **rest) == (f"llm-providers.yaml:{line}: llm_providers.big: {wrong}",)
    (tmp_path / "secret.json").write_text("{}", encoding="utf-8")
    for value in (str(tmp_path / "secret.json"), ' {"type": "service_account"}'):
        assert folder.load(FILE=value, **rest).providers["big"].model == "m"


def test_a_fallback_needs_its_key_at_the_start(folder: Folder) -> None:
    fallback = "fallback_providers: [{provider: anthropic-default, backend: langchain}]"
    line = folder.change(DEFAULT, f"{DEFAULT}\n  {fallback}") + 1
    (told,) = folder.problems()
    assert told == (
        f"midwatch.yaml:{line}: defaults.fallback_providers[0].provider: "
        "anthropic-default is built in and needs the variable ANTHROPIC_API_KEY, which is not set"
    )
    folder.load(ANTHROPIC_API_KEY="k")


@pytest.mark.parametrize(
    ("provider", "told"),
    [
        ("{type: anthropic, model: m, native_tools: {}}", 'unknown key "native_tools"'),
        ("{type: google, model: m, project_env: P}", 'unknown key "project_env"'),
        ("{type: google, model: m, native_tools: {search: true}}", 'native_tools: unknown key "search"'),
        ("{type: xai, model: ''}", "model: must not be empty"),
        ("{type: vertexai, model: m, max_tool_result_tokens: 0}", "max_tool_result_tokens: must be at least 1"),
        ("{type: demo, context_window: 999}", "context_window: must be at least 1000"),
    ],
)
def test_a_provider_has_the_keys_of_its_type(folder: Folder, provider: str, told: str) -> None:
    folder.add(f"  big: {provider}\n", name="llm-providers.yaml")
    (problem,) = folder.problems()
    assert told in problem


def test_half_a_file_is_never_more_than_a_list_of_sentences(folder: Folder) -> None:
    text = (folder.path / "midwatch.yaml").read_text(encoding="utf-8")
    for length in range(0, len(text), 7):
        folder.write("midwatch.yaml", text[:length])
        told = examine_config(folder.path, environ={}).problems
        assert all(line.startswith(("midwatch.yaml", "llm-providers.yaml")) and "\n" not in line for line in told)


def test_keys_and_key_files_are_known_as_secrets() -> None:
    config = load_config(None, environ={})
    vertex = VertexAiProvider(type="vertexai", model="gemini", credentials_env="KEY_FILE")
    named = replace(config, providers={**config.providers, "vertex": vertex}).secret_names
    assert {"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "KEY_FILE"} <= named
    assert "GOOGLE_CLOUD_PROJECT" not in named
