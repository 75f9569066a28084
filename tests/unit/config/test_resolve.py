"""The settings of an execution: the nearest word wins, except for safety, where the strictest does."""

from typing import Any

import pytest

from midwatch.config.chains import Chain
from midwatch.config.resolve import ExecutionSettings, resolve_execution
from midwatch.domain.errors import NotFound
from midwatch.domain.safety import ControlLevel, SafetyMode
from tests.unit.config.folder import Folder

MAIN = """\
mcp_servers:
  a: {transport: {type: stdio, command: x}, instructions: about a}
  b: {transport: {type: stdio, command: x}}
  c: {transport: {type: stdio, command: x}, instructions: about c}
agents:
  Plain: {mcp_servers: [a], custom_instructions: look closely}
  Own: {mcp_servers: [a, b], max_iterations: 11}
defaults: {llm_provider: first}
safety: {control_level: autonomous, mode: observe}
"""
PROVIDERS = """\
llm_providers:
  first: {type: openai, model: one}
  second: {type: openai, model: two}
  third: {type: openai, model: three}
"""


def resolve(
    folder: Folder, *, chain: dict[str, Any], stage: dict[str, Any], agent: dict[str, Any]
) -> ExecutionSettings:
    folder.write("midwatch.yaml", MAIN)
    folder.write("llm-providers.yaml", PROVIDERS)
    stages = [{"name": "s", "agents": [{"name": "Plain", **agent}], **stage}]
    parsed = Chain.model_validate({"alert_types": ["x"], "stages": stages, **chain})
    first = parsed.stages[0]
    return resolve_execution(folder.load(), parsed, stage=first, stage_agent=first.agents[0])


@pytest.mark.parametrize(
    ("chain", "stage", "agent", "expected"),
    [
        ({}, {}, {}, 20),
        ({}, {}, {"name": "Own"}, 11),
        ({"max_iterations": 12}, {}, {"name": "Own"}, 12),
        ({"max_iterations": 12}, {"max_iterations": 13}, {"name": "Own"}, 13),
        ({"max_iterations": 12}, {"max_iterations": 13}, {"name": "Own", "max_iterations": 14}, 14),
        ({}, {}, {"max_iterations": 1}, 1),
    ],
)
def test_iterations_go_from_defaults_over_agent_chain_and_stage_to_the_stages_agent(
    folder: Folder, chain: dict[str, Any], stage: dict[str, Any], agent: dict[str, Any], expected: int
) -> None:
    assert resolve(folder, chain=chain, stage=stage, agent=agent).max_iterations == expected


@pytest.mark.parametrize(
    ("chain", "stage", "agent", "expected"),
    [
        ({}, {}, {}, ("a",)),
        ({}, {}, {"name": "Own"}, ("a", "b")),
        ({"mcp_servers": ["b"]}, {}, {}, ("b",)),
        ({"mcp_servers": ["b"]}, {"mcp_servers": ["c"]}, {}, ("c",)),
        ({"mcp_servers": ["b"]}, {"mcp_servers": ["c"]}, {"mcp_servers": ["a"]}, ("a",)),
        ({"mcp_servers": ["b"]}, {"mcp_servers": []}, {}, ()),
        ({"mcp_servers": ["b", "b", "a"]}, {}, {}, ("b", "a")),
    ],
)
def test_servers_go_from_agent_over_chain_and_stage_to_the_stages_agent(
    folder: Folder, chain: dict[str, Any], stage: dict[str, Any], agent: dict[str, Any], expected: tuple[str, ...]
) -> None:
    assert resolve(folder, chain=chain, stage=stage, agent=agent).servers == expected


@pytest.mark.parametrize(
    ("chain", "agent", "expected"),
    [
        ({}, {}, "first"),
        ({"llm_provider": "second"}, {}, "second"),
        ({"llm_provider": "second"}, {"llm_provider": "third"}, "third"),
        ({}, {"llm_provider": "third"}, "third"),
    ],
)
def test_the_provider_goes_from_defaults_over_chain_to_the_stages_agent(
    folder: Folder, chain: dict[str, Any], agent: dict[str, Any], expected: str
) -> None:
    settings = resolve(folder, chain=chain, stage={}, agent=agent)
    assert settings.provider_name == expected
    assert settings.provider.model == {"first": "one", "second": "two", "third": "three"}[expected]


@pytest.mark.parametrize(
    ("chain", "agent", "expected"),
    [
        ({}, {}, ControlLevel.AUTONOMOUS),
        ({"control_level": "controlled"}, {}, ControlLevel.CONTROLLED),
        ({"control_level": "controlled"}, {"control_level": "autonomous"}, ControlLevel.CONTROLLED),
        ({"control_level": "controlled"}, {"control_level": "read_only"}, ControlLevel.READ_ONLY),
        ({"control_level": "read_only"}, {"control_level": "autonomous"}, ControlLevel.READ_ONLY),
        ({}, {"control_level": "read_only"}, ControlLevel.READ_ONLY),
    ],
)
def test_the_strictest_control_level_counts(
    folder: Folder, chain: dict[str, Any], agent: dict[str, Any], expected: ControlLevel
) -> None:
    assert resolve(folder, chain=chain, stage={}, agent=agent).control_level is expected


def test_no_chain_loosens_what_the_operator_decided_for_all(folder: Folder) -> None:
    settings = resolve(folder, chain={}, stage={}, agent={})
    assert settings.control_level is ControlLevel.AUTONOMOUS
    folder.change("control_level: autonomous", "control_level: read_only")
    config = folder.load()
    chain = Chain.model_validate(
        {"alert_types": ["x"], "control_level": "autonomous", "stages": [{"name": "s", "agents": [{"name": "Plain"}]}]}
    )
    strict = resolve_execution(config, chain, stage=chain.stages[0], stage_agent=chain.stages[0].agents[0])
    assert strict.control_level is ControlLevel.READ_ONLY


def test_instructions_and_mode_come_along(folder: Folder) -> None:
    settings = resolve(folder, chain={"mcp_servers": ["a", "b", "c"]}, stage={}, agent={})
    assert settings.agent == "Plain"
    assert settings.custom_instructions == "look closely"
    assert settings.server_instructions == {"a": "about a", "c": "about c"}
    assert settings.safety_mode is SafetyMode.OBSERVE


@pytest.mark.parametrize(
    ("chain", "agent", "told"),
    [
        ({}, {"name": "Gone"}, "there is no agent Gone"),
        ({"mcp_servers": ["gone"]}, {}, "there is no MCP server gone"),
        ({"llm_provider": "gone"}, {}, "there is no LLM provider gone"),
    ],
)
def test_a_chain_older_than_the_configuration_may_name_what_is_gone(
    folder: Folder, chain: dict[str, Any], agent: dict[str, Any], told: str
) -> None:
    with pytest.raises(NotFound, match=told):
        resolve(folder, chain=chain, stage={}, agent=agent)
