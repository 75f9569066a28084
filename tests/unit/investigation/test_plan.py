"""Which stages a chain comes to, and who works in them, is known before anything runs."""

import pytest

from midwatch.config.agents import AgentType
from midwatch.config.chains import Chain, Stage, StageAgent
from midwatch.domain.session import ParallelType, StageType
from midwatch.investigation.plan import (
    choose_parallel_type,
    choose_stage_type,
    list_members,
    needs_synthesis,
    plan_steps,
)

ONE = Stage(name="act", agents=(StageAgent(name="Hand"),))
TWO = Stage(name="look", agents=(StageAgent(name="Left"), StageAgent(name="Right")))
THRICE = Stage(name="vote", agents=(StageAgent(name="Mate"),), replicas=3)


def test_a_synthesis_follows_each_stage_of_several_agents_and_a_summary_all() -> None:
    chain = Chain(alert_types=("a",), stages=(TWO, ONE, THRICE))
    assert [(step.index, step.name) for step in plan_steps(chain)] == [
        (1, "look"),
        (2, "look - Synthesis"),
        (3, "act"),
        (4, "vote"),
        (5, "vote - Synthesis"),
        (6, "Executive Summary"),
    ]


@pytest.mark.parametrize(
    ("stage", "shown", "parallel"),
    [
        (ONE, ["Hand"], None),
        (ONE.model_copy(update={"replicas": 0}), ["Hand"], None),
        (TWO, ["Left", "Right"], ParallelType.MULTI_AGENT),
        (THRICE, ["Mate-1", "Mate-2", "Mate-3"], ParallelType.REPLICA),
        (TWO.model_copy(update={"replicas": 2}), ["Left-1", "Left-2"], ParallelType.REPLICA),
    ],
)
def test_who_works_in_a_stage(stage: Stage, shown: list[str], parallel: ParallelType | None) -> None:
    assert [member.shown_as for member in list_members(stage)] == shown
    assert choose_parallel_type(stage) is parallel
    assert needs_synthesis(stage) is (len(shown) > 1)


def test_replicas_are_looked_up_by_the_name_they_share() -> None:
    assert {member.configured.name for member in list_members(THRICE)} == {"Mate"}


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ([""], StageType.INVESTIGATION),
        (["action"], StageType.ACTION),
        (["action", "action"], StageType.ACTION),
        (["action", ""], StageType.INVESTIGATION),
        (["synthesis"], StageType.INVESTIGATION),
    ],
)
def test_a_stage_acts_when_all_of_its_agents_do(types: list[AgentType], expected: StageType) -> None:
    assert choose_stage_type(types) is expected
