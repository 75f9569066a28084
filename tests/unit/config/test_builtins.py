"""What is there without being written, and when it gives way."""

import subprocess
import sys
from pathlib import Path

import pytest

from midwatch.config.builtins import HOST_TOOLS
from midwatch.config.llm import (
    AnthropicProvider,
    DemoProvider,
    GoogleProvider,
    OpenAiProvider,
    Provider,
    XaiProvider,
)
from midwatch.config.load import examine_config, load_config
from midwatch.config.mcp import StdioTransport
from midwatch.config.resolve import resolve_execution
from midwatch.domain.safety import ControlLevel, SafetyMode
from tests.unit.config.folder import Folder, stdio


def test_the_agents_the_chain_the_server_and_the_providers_are_there(folder: Folder) -> None:
    config = folder.load()
    assert {"KubernetesAgent", "ChatAgent", "SynthesisAgent", "ExecSummaryAgent", "ScoringAgent"} <= set(config.agents)
    assert {"WebResearcher", "CodeExecutor", "GeneralWorker"} <= set(config.agents)
    assert all(config.agents[name].description for name in config.agents if name != "Reader")
    assert config.chains["kubernetes"].alert_types == ("kubernetes",)
    assert config.chains["kubernetes"].stages[0].name == "analysis"
    assert {"google-default", "gemini-2.5-flash", "gemini-3-pro", "openai-default"} <= set(config.providers)
    assert {"anthropic-default", "xai-default", "vertexai-default"} <= set(config.providers)


def test_nothing_built_in_is_asked_for_a_key_unless_it_is_used(folder: Folder) -> None:
    folder.load()
    line = folder.change("llm_provider: local", "llm_provider: google-default")
    (told,) = folder.problems()
    assert told == (
        f"midwatch.yaml:{line}: defaults.llm_provider: google-default is built in and needs the variable "
        "GOOGLE_API_KEY, which is not set"
    )
    assert isinstance(folder.load(GOOGLE_API_KEY="k").providers["google-default"], GoogleProvider)


@pytest.mark.parametrize(
    ("environ", "tail"),
    [
        ({"KUBECONFIG": "/k/config"}, ("--disable-destructive", "--kubeconfig", "/k/config")),
        ({}, ("--read-only", "--disable-destructive")),
        ({"KUBECONFIG": ""}, ("--read-only", "--disable-destructive")),
    ],
)
def test_the_kubernetes_server_gets_the_kubeconfig_there_is(
    folder: Folder, environ: dict[str, str], tail: tuple[str, ...]
) -> None:
    config = folder.load(**environ)
    transport = stdio(config, "kubernetes-server")
    assert transport.args[-len(tail) :] == tail
    assert "--read-only" in transport.args
    assert "{{" not in " ".join(transport.args)
    masking = config.mcp_servers["kubernetes-server"].data_masking
    assert (masking.pattern_groups, masking.patterns) == (("kubernetes",), ("certificate", "token", "email"))


def test_the_kubeconfig_of_the_folders_dotenv_counts(folder: Folder) -> None:
    folder.write(".env", "KUBECONFIG=/from/dotenv\n")
    assert stdio(folder.load(), "kubernetes-server").args[-1] == "/from/dotenv"


def test_an_entry_of_the_operator_takes_a_built_ins_place_as_a_whole(folder: Folder) -> None:
    folder.change("  Reader:\n", "  WebResearcher: {description: mine}\n  Reader:\n")
    folder.change("  logs:\n", "  kubernetes-server: {transport: {type: stdio, command: mine}}\n  logs:\n")
    folder.change(
        "  web:\n", "  kubernetes: {alert_types: [pods], stages: [{name: s, agents: [{name: Reader}]}]}\n  web:\n"
    )
    folder.add("  google-default: {type: openai, model: mine}\n", name="llm-providers.yaml")
    config = folder.load()
    assert config.agents["WebResearcher"].llm_backend is None
    assert config.mcp_servers["kubernetes-server"].kinds is None
    assert config.chains["kubernetes"].alert_types == ("pods",)
    assert isinstance(config.providers["google-default"], OpenAiProvider)
    assert config.defaults.alert_type is None


def test_the_built_in_chain_gives_way_to_a_chain_that_takes_its_alerts(folder: Folder) -> None:
    folder.change("[web-down]", "[web-down, kubernetes]")
    config = folder.load()
    assert set(config.chains) == {"web"}
    assert config.defaults.alert_type is None


def test_the_built_in_chain_may_be_the_default_by_name(folder: Folder) -> None:
    folder.change("llm_provider: local", "llm_provider: local\n  alert_type: kubernetes")
    assert folder.load().defaults.alert_type == "kubernetes"


def test_alerts_without_a_type_go_to_the_built_in_chain_only_where_no_other_was_written(folder: Folder) -> None:
    assert folder.load().defaults.alert_type is None
    folder.write("midwatch.yaml", "defaults:\n  llm_provider: local\n")
    assert folder.load().defaults.alert_type == "kubernetes"


def test_the_built_in_chain_is_left_out_where_it_has_no_model(folder: Folder) -> None:
    folder.change("defaults:\n  llm_provider: local\n", "")
    folder.change("- name: Reader", "- name: Reader\n            llm_provider: local")
    config = folder.load()
    assert config.defaults.alert_type is None
    assert set(config.chains) == {"web"}


def test_without_a_folder_an_agent_looks_at_this_machine() -> None:
    config = load_config(None, environ={"OPENAI_API_KEY": "k"})
    assert (config.defaults.llm_provider, config.defaults.alert_type) == ("openai-default", "host")
    assert (config.safety.mode, config.safety.control_level) == (SafetyMode.ENFORCE, ControlLevel.READ_ONLY)
    chain = config.chains["host"]
    settings = resolve_execution(config, chain, stage=chain.stages[0], stage_agent=chain.stages[0].agents[0])
    assert (settings.agent, settings.servers) == ("HostAgent", ("midwatch-host",))
    kinds = config.mcp_servers["midwatch-host"].kinds
    assert kinds is not None
    assert kinds.read == HOST_TOOLS
    assert not any(set("*?[") & set(name) for name in HOST_TOOLS)


def test_the_server_for_this_machine_can_be_started() -> None:
    transport = load_config(None, environ={"OPENAI_API_KEY": "k"}).mcp_servers["midwatch-host"].transport
    assert isinstance(transport, StdioTransport)
    assert transport.command == sys.executable
    ended = subprocess.run([transport.command, *transport.args], stdin=subprocess.DEVNULL, check=False, timeout=30)
    assert ended.returncode == 0


@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": ""}])
def test_without_a_folder_and_without_a_key_the_demo_model_investigates_and_says_so(environ: dict[str, str]) -> None:
    config = load_config(None, environ=environ)
    assert (config.defaults.llm_provider, config.defaults.alert_type) == ("demo", "host")
    assert isinstance(config.providers["demo"], DemoProvider)
    (told,) = config.warnings
    assert told.startswith(
        "no configuration: the demo model investigates, which follows rules and is no language model"
    )
    assert "set one of OPENAI_API_KEY, ANTHROPIC_API_KEY, GOOGLE_API_KEY, XAI_API_KEY, or give --config-dir DIR" in told


@pytest.mark.parametrize(
    ("environ", "provider", "shape"),
    [
        ({"OPENAI_API_KEY": "k"}, "openai-default", OpenAiProvider),
        ({"ANTHROPIC_API_KEY": "k"}, "anthropic-default", AnthropicProvider),
        ({"GOOGLE_API_KEY": "k"}, "google-default", GoogleProvider),
        ({"XAI_API_KEY": "k"}, "xai-default", XaiProvider),
        ({"XAI_API_KEY": "k", "GOOGLE_API_KEY": "k"}, "google-default", GoogleProvider),
        ({"GOOGLE_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}, "anthropic-default", AnthropicProvider),
        ({"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"}, "openai-default", OpenAiProvider),
        ({"OPENAI_API_KEY": "", "XAI_API_KEY": "k"}, "xai-default", XaiProvider),
    ],
)
def test_without_a_folder_the_first_key_that_is_set_decides(
    environ: dict[str, str], provider: str, shape: type[Provider]
) -> None:
    config = load_config(None, environ=environ)
    assert (config.defaults.llm_provider, config.warnings) == (provider, ())
    assert isinstance(config.providers[provider], shape)
    assert config.providers[provider].api_key_env in environ


def test_the_demo_model_can_be_asked_for_by_name(folder: Folder) -> None:
    folder.change("llm_provider: local", "llm_provider: demo")
    config = folder.load()
    assert (config.defaults.llm_provider, config.warnings) == ("demo", ())
    folder.add("  mine: {type: demo}\n", name="llm-providers.yaml")
    assert folder.load().providers["mine"].model == "demo model"


def test_an_examination_tells_warnings_beside_problems(folder: Folder) -> None:
    folder.add("queue: {worker_count: 0, orphan_threshold: 5m}\n")
    examination = examine_config(folder.path, environ={})
    assert examination.config is None
    assert len(examination.problems) == len(examination.warnings) == 1


def test_a_relative_folder_is_made_absolute(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.write("talk.json", "[]")
    folder.add("  play: {type: scripted, script: talk.json}\n", name="llm-providers.yaml")
    monkeypatch.chdir(folder.path.parent)
    config = load_config(Path(folder.path.name), environ={})
    assert config.folder == folder.path
