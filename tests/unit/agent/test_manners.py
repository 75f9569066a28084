"""Kinds of agents and of stages, old and new spellings alike, come to one loop with different settings."""

import pytest

from midwatch.agent.manners import choose_manner
from midwatch.config.agents import AgentType
from midwatch.domain.session import StageType
from midwatch.domain.timeline import InteractionType, Phase

STAGE, ACTION = StageType.INVESTIGATION, StageType.ACTION


@pytest.mark.parametrize(
    ("stage_type", "agent_type", "expected"),
    [
        (STAGE, "", (InteractionType.ITERATION, Phase.INVESTIGATING, False)),
        (STAGE, "action", (InteractionType.ITERATION, Phase.REMEDIATING, False)),
        (ACTION, "action", (InteractionType.ITERATION, Phase.REMEDIATING, False)),
        (STAGE, "synthesis", (InteractionType.SYNTHESIS, Phase.SYNTHESIZING, True)),
        (STAGE, "exec_summary", (InteractionType.EXECUTIVE_SUMMARY, Phase.FINALIZING, True)),
        (STAGE, "scoring", (InteractionType.ITERATION, Phase.INVESTIGATING, True)),
        (StageType.SYNTHESIS, "", (InteractionType.SYNTHESIS, Phase.SYNTHESIZING, True)),
        (StageType.EXEC_SUMMARY, "action", (InteractionType.EXECUTIVE_SUMMARY, Phase.FINALIZING, True)),
        (StageType.CHAT, "", (InteractionType.CHAT_RESPONSE, Phase.INVESTIGATING, False)),
    ],
)
def test_what_a_stage_is_for_and_what_an_agent_is_decide_how_it_works(
    stage_type: StageType, agent_type: AgentType, expected: tuple[InteractionType, Phase, bool]
) -> None:
    manner = choose_manner(stage_type, agent_type)
    assert (manner.interaction, manner.phase, manner.answers_once) == expected
