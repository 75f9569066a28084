"""A sound folder becomes a frozen configuration with the documented defaults."""

from dataclasses import FrozenInstanceError
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from midwatch.config.chains import Chain
from midwatch.config.limits import Limits
from midwatch.config.llm import OpenAiProvider, ScriptedProvider
from midwatch.config.load import load_config
from midwatch.config.queue import Queue
from midwatch.domain.safety import ControlLevel, SafetyMode
from tests.unit.config.folder import Folder

EXAMPLE = Path(__file__).parents[3] / "config" / "example"


def test_the_example_folder_loads_as_it_is() -> None:
    config = load_config(EXAMPLE, environ={})
    assert config.warnings == ()
    assert set(config.chains) == {"service-down", "kubernetes"}
    assert config.defaults.alert_type == "service-down"
    assert config.safety.mode is SafetyMode.ENFORCE
    assert config.mcp_servers["logs"].kinds is not None


def test_what_is_not_written_has_its_documented_default(folder: Folder) -> None:
    config = folder.load()
    assert config.queue == Queue()
    assert config.queue.worker_count == 5
    assert config.queue.max_concurrent_sessions == 5
    assert config.queue.poll_interval == timedelta(seconds=1)
    assert config.queue.poll_interval_jitter == timedelta(milliseconds=500)
    assert config.queue.session_timeout == timedelta(minutes=40)
    assert config.queue.graceful_shutdown_timeout == timedelta(seconds=10)
    assert config.queue.lease == timedelta(seconds=30)
    assert config.defaults.max_iterations == 20
    assert config.defaults.alert_masking.enabled
    assert config.defaults.alert_masking.pattern_group == "security"
    assert config.safety.mode is SafetyMode.ENFORCE
    assert config.safety.control_level is ControlLevel.READ_ONLY
    assert not config.safety_mode_explicit
    assert not config.tarsy
    assert config.warnings == ()
    assert config.folder == folder.path


def test_a_configuration_cannot_be_changed(folder: Folder) -> None:
    config = folder.load()
    with pytest.raises(FrozenInstanceError):
        config.tarsy = True  # pyright: ignore[reportAttributeAccessIssue]  # the point of the test
    with pytest.raises(ValidationError, match="frozen"):
        config.queue.worker_count = 6


def test_a_heartbeat_sets_the_lease(folder: Folder) -> None:
    folder.add("queue: {heartbeat_interval: 2s}\n")
    assert folder.load().queue.lease == timedelta(seconds=6)


def test_the_orphan_settings_are_taken_with_a_warning(folder: Folder) -> None:
    line = folder.add("queue:\n  orphan_threshold: 5m\n  orphan_detection_interval: 5m\n")
    first, second = folder.load().warnings
    assert first.startswith(f"midwatch.yaml:{line + 1}: queue.orphan_threshold: has no effect")
    assert second.startswith(f"midwatch.yaml:{line + 2}: queue.orphan_detection_interval: has no effect")


def test_a_written_safety_mode_is_known_to_be_written(folder: Folder) -> None:
    folder.add("safety: {mode: observe}\n")
    config = folder.load()
    assert config.safety.mode is SafetyMode.OBSERVE
    assert config.safety_mode_explicit


def test_a_provider_without_a_url_is_openai_itself(folder: Folder) -> None:
    folder.add("  cloud: {type: openai, model: 4.10}\n", name="llm-providers.yaml")
    provider = folder.load().providers["cloud"]
    assert provider == OpenAiProvider(type="openai", model="4.10", base_url="https://api.openai.com/v1")


def test_the_last_slash_of_a_url_is_dropped(folder: Folder) -> None:
    folder.change("http://localhost:1/v1", "http://localhost:1/v1/", name="llm-providers.yaml")
    provider = folder.load().providers["local"]
    assert isinstance(provider, OpenAiProvider)
    assert provider.base_url == "http://localhost:1/v1"


def test_a_script_is_found_beside_the_files(folder: Folder) -> None:
    folder.write("talk.json", "[]")
    folder.add("  play: {type: scripted, script: talk.json}\n", name="llm-providers.yaml")
    provider = folder.load().providers["play"]
    assert isinstance(provider, ScriptedProvider)
    assert provider.script == folder.path / "talk.json"
    assert provider.model == "scripted"


def test_a_script_may_stand_anywhere(folder: Folder, tmp_path_factory: pytest.TempPathFactory) -> None:
    script = tmp_path_factory.mktemp("elsewhere") / "talk.json"
    script.touch()
    folder.add(f"  play: {{type: scripted, script: {script}}}\n", name="llm-providers.yaml")
    provider = folder.load().providers["play"]
    assert isinstance(provider, ScriptedProvider)
    assert provider.script == script


def test_an_agent_without_settings_is_an_agent(folder: Folder) -> None:
    folder.change("agents:\n  Reader:", "agents:\n  Idle:\n  Reader:")
    assert folder.load().agents["Idle"].mcp_servers == ()


def test_both_spellings_of_the_backend_are_accepted_everywhere(folder: Folder) -> None:
    spelt = "llm_backend: langchain, iteration_strategy: native-thinking"
    folder.write(
        "midwatch.yaml",
        f"""\
        agents: {{A: {{{spelt}}}}}
        agent_chains: {{c: {{alert_types: [x], {spelt}, stages: [{{name: s, agents: [{{name: A, {spelt}}}]}}]}}}}
        defaults: {{llm_provider: local, {spelt}}}
        """,
    )
    config = folder.load()
    assert config.agents["A"].iteration_strategy == "native-thinking"
    assert config.chains["c"].stages[0].agents[0].llm_backend == "langchain"


def test_a_chain_survives_the_way_to_json_and_back(folder: Folder) -> None:
    folder.write(
        "midwatch.yaml",
        """\
        mcp_servers: {logs: {transport: {type: stdio, command: x}}}
        agents: {A: }
        agent_chains:
          c:
            alert_types: [x, y]
            description: all that can be said
            llm_provider: local
            llm_backend: google-native
            max_iterations: 9
            mcp_servers: [logs]
            control_level: controlled
            stages:
              - name: s
                replicas: 1
                success_policy: all
                max_iterations: 8
                mcp_servers: []
                agents:
                  - {name: A, llm_provider: local, max_iterations: 7, mcp_servers: [logs], control_level: read_only}
        """,
    )
    chain = folder.load().chains["c"]
    assert Chain.model_validate(chain.model_dump(mode="json")) == chain
    assert Chain.model_validate_json(chain.model_dump_json()) == chain


def test_our_main_file_wins_over_tarsys(folder: Folder) -> None:
    folder.write("tarsy.yaml", "nonsense: [")
    config = folder.load()
    assert not config.tarsy
    assert config.warnings == ("tarsy.yaml: ignored, because midwatch.yaml stands beside it",)


def test_limits_are_shortened_by_building_others() -> None:
    assert Limits().first_chunk == 120
    assert (Limits().gap, Limits().call, Limits().iteration) == (60, 300, 360)
    assert (Limits().tool_call, Limits().mcp_init) == (90, 30)
    assert Limits(gap=0.1).call == 300
