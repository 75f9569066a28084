"""How each kind of agent uses the one loop. What differs between them is this table and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass

from midwatch.config.agents import AgentType
from midwatch.domain.session import StageType
from midwatch.domain.timeline import InteractionType, Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    interaction: InteractionType = InteractionType.ITERATION
    """What its model calls are recorded as."""
    phase: Phase = Phase.INVESTIGATING
    """What it is shown as being busy with while a model is asked."""
    answers_once: bool = False
    """It has no tools and is asked one question, whatever is left of the budget."""


INVESTIGATES = Manner()
_SYNTHESISES = Manner(interaction=InteractionType.SYNTHESIS, phase=Phase.SYNTHESIZING, answers_once=True)
_SUMS_UP = Manner(interaction=InteractionType.EXECUTIVE_SUMMARY, phase=Phase.FINALIZING, answers_once=True)

_BY_STAGE: Mapping[StageType, Manner] = {
    StageType.SYNTHESIS: _SYNTHESISES,
    StageType.EXEC_SUMMARY: _SUMS_UP,
    StageType.CHAT: Manner(interaction=InteractionType.CHAT_RESPONSE),
}
_BY_AGENT: Mapping[AgentType, Manner] = {
    "": INVESTIGATES,
    "action": Manner(phase=Phase.REMEDIATING),
    "synthesis": _SYNTHESISES,
    "exec_summary": _SUMS_UP,
    "scoring": Manner(answers_once=True),
}


def choose_manner(stage_type: StageType, agent_type: AgentType) -> Manner:
    """What a stage is for outweighs what its agent usually does."""
    return _BY_STAGE.get(stage_type) or _BY_AGENT[agent_type]
