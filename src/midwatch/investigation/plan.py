"""What a chain comes to: its stages in order, with those that follow from them, and who works in each. Pure."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from midwatch.config.agents import AgentType
from midwatch.config.chains import Chain, Stage, StageAgent
from midwatch.domain.session import ParallelType, StageType

SUMMARY_STAGE = "Executive Summary"


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One agent of a stage."""

    shown_as: str
    configured: StageAgent


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One row of `stages`. Which there will be is known before anything has run, and so are their places."""

    index: int
    """Counted from one."""
    name: str


def plan_steps(chain: Chain) -> tuple[Step, ...]:
    return tuple(Step(index=index, name=name) for index, name in enumerate(_list_names(chain), start=1))


def _list_names(chain: Chain) -> Iterator[str]:
    for stage in chain.stages:
        yield stage.name
        if needs_synthesis(stage):
            yield f"{stage.name} - Synthesis"
    yield SUMMARY_STAGE


def needs_synthesis(stage: Stage) -> bool:
    return len(list_members(stage)) > 1


def list_members(stage: Stage) -> tuple[Member, ...]:
    """Replicas are told apart by a number; what they are is looked up by the name they share."""
    if stage.replicas > 1:
        agent = stage.agents[0]
        numbers = range(1, stage.replicas + 1)
        return tuple(Member(shown_as=f"{agent.name}-{number}", configured=agent) for number in numbers)
    return tuple(Member(shown_as=agent.name, configured=agent) for agent in stage.agents)


def choose_parallel_type(stage: Stage) -> ParallelType | None:
    if stage.replicas > 1:
        return ParallelType.REPLICA
    return ParallelType.MULTI_AGENT if len(stage.agents) > 1 else None


def choose_stage_type(types: Collection[AgentType]) -> StageType:
    """A stage acts when all of its agents do."""
    return StageType.ACTION if set(types) == {"action"} else StageType.INVESTIGATION
