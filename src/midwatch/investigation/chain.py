"""A chain walked to its end, stage by stage: a stage that does not complete is the last one."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from midwatch.config.chains import Stage
from midwatch.config.resolve import resolve_agent_type, resolve_execution, resolve_success_policy
from midwatch.domain.session import SessionStatus, WorkStatus
from midwatch.investigation.case import Case
from midwatch.investigation.openings import InvestigationOpening
from midwatch.investigation.plan import (
    Member,
    Step,
    choose_parallel_type,
    choose_stage_type,
    list_members,
    needs_synthesis,
)
from midwatch.investigation.stage import Job, StageEnding, StageWork, run_stage
from midwatch.investigation.synthesis import run_synthesis

_ENDS_AS = {
    WorkStatus.FAILED: SessionStatus.FAILED,
    WorkStatus.TIMED_OUT: SessionStatus.TIMED_OUT,
    WorkStatus.CANCELLED: SessionStatus.CANCELLED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainEnding:
    status: SessionStatus
    error: str | None = None
    analysis: str = ""
    """Of the last stage."""
    text_id: UUID | None = None


async def walk_chain(case: Case) -> ChainEnding | None:
    """What several agents found goes on as the one analysis that was made of it. None when a person has to decide."""
    analyses: list[tuple[str, str]] = []
    steps = iter(case.steps)
    text_id: UUID | None = None
    for stage in case.chain.stages:
        step = next(steps)
        ending = await run_stage(case, _prepare(case, step, stage=stage, earlier=tuple(analyses)))
        if ending.is_completed and needs_synthesis(stage):
            step = next(steps)
            ending = await run_synthesis(case, step, stage=stage, stage_id=ending.stage_id)
        if ending.is_parked:
            return None
        if not ending.is_completed:
            return _stop_at(step, ending)
        analyses.append((stage.name, ending.text))
        text_id = ending.text_id
    return ChainEnding(status=SessionStatus.COMPLETED, analysis=analyses[-1][1], text_id=text_id)


def _stop_at(step: Step, ending: StageEnding) -> ChainEnding:
    error = f"stage {step.index} ({step.name}) {ending.status}: {ending.error}"
    return ChainEnding(status=_ENDS_AS[ending.status], error=error)


def _prepare(case: Case, step: Step, *, stage: Stage, earlier: Sequence[tuple[str, str]]) -> StageWork:
    members = list_members(stage)
    config = case.means.config
    return StageWork(
        index=step.index,
        name=step.name,
        stage_type=choose_stage_type([resolve_agent_type(config, member.configured) for member in members]),
        jobs=[_give_job(case, member, stage=stage, earlier=earlier) for member in members],
        policy=resolve_success_policy(config, stage),
        parallel_type=choose_parallel_type(stage),
    )


def _give_job(case: Case, member: Member, *, stage: Stage, earlier: Sequence[tuple[str, str]]) -> Job:
    return Job(
        agent_name=member.shown_as,
        resolve=partial(
            resolve_execution,
            case.means.config,
            case.chain,
            stage=stage,
            stage_agent=member.configured,
            selection=case.selection,
        ),
        opening=InvestigationOpening(case=case, agent_name=member.shown_as, earlier=earlier),
    )
