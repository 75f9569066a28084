"""One stage: its row, its agents, its outcome. Investigations, syntheses and summaries are stages alike."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from midwatch.config.resolve import ExecutionSettings
from midwatch.domain.session import ParallelType, StageType, SuccessPolicy, WorkStatus
from midwatch.investigation.assignment import Assignment, ExecutionEnding, Opening
from midwatch.investigation.case import Case
from midwatch.investigation.crew import Crew
from midwatch.investigation.spans import open_stage_span
from midwatch.investigation.verdict import AgentEnd, judge
from midwatch.kit.ids import new_id
from midwatch.store.runs import NewStage, StoredStage, begin_stage, finish_stage
from midwatch.telemetry.series import STAGE_OUTCOMES
from midwatch.timeline.announce import Progress, announce_progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One agent's part in a stage."""

    agent_name: str
    """As shown."""
    resolve: Callable[[], ExecutionSettings]
    opening: Opening
    seconds: float | None = None
    """It has no more time than this; None: only the session's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageWork:
    """A stage that is to be run, or to be taken up where it was left."""

    index: int
    name: str
    stage_type: StageType
    jobs: Sequence[Job]
    policy: SuccessPolicy = SuccessPolicy.ALL
    parallel_type: ParallelType | None = None
    referenced_stage_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageEnding:
    stage_id: UUID
    status: WorkStatus
    error: str | None
    agents: tuple[ExecutionEnding, ...]

    @property
    def is_parked(self) -> bool:
        return not self.status.is_terminal

    @property
    def is_completed(self) -> bool:
        return self.status is WorkStatus.COMPLETED

    @property
    def text(self) -> str:
        """What came of it, where one agent speaks for the stage."""
        return (self.agents[0].text if self.agents else None) or ""

    @property
    def text_id(self) -> UUID | None:
        return self.agents[0].text_id if self.agents else None


async def run_stage(case: Case, work: StageWork) -> StageEnding:
    """A stage that had finished before stands, and so do the agents of one that had not.

    One whose agents wait for a person stays active, for whoever takes it up again.
    """
    before = case.find_stage(work.index)
    if before is not None and before.status.is_terminal:
        return _as_it_ended(before)
    run = case.run
    stage = _name_stage(work, before)
    if before is None:
        await run.transact(partial(begin_stage, fence=run.fence, stage=stage))
    with open_stage_span(work.name, stage_id=stage.stage_id, stage_type=work.stage_type) as span:
        ending = await _work(case, work, stage=stage, before=before)
        if not ending.is_completed:
            span.fail(ending.status)
    return ending


async def _work(case: Case, work: StageWork, *, stage: NewStage, before: StoredStage | None) -> StageEnding:
    run = case.run
    show = partial(_show_progress, case, stage)
    show(f"Stage {stage.stage_name} has started", active=len(work.jobs))
    crew = Crew(
        means=case.means, run=run, on_ended=lambda active: show(f"Stage {stage.stage_name} is at work", active=active)
    )
    endings = await crew.work(_assign(case, work, stage_id=stage.stage_id, before=before))
    if any(ending.is_parked for ending in endings):
        show(f"Stage {stage.stage_name} is waiting for approval", active=0)
        return StageEnding(stage_id=stage.stage_id, status=WorkStatus.ACTIVE, error=None, agents=tuple(endings))
    verdict = judge(
        work.policy,
        [
            AgentEnd(agent=job.agent_name, status=ending.status, error=ending.error)
            for job, ending in zip(work.jobs, endings, strict=True)
        ],
    )
    await run.transact(partial(finish_stage, fence=run.fence, stage=stage, status=verdict.status, error=verdict.error))
    if work.stage_type is StageType.ACTION:
        run.meters.count(STAGE_OUTCOMES, (verdict.status,))
    show(f"Stage {stage.stage_name} is {verdict.status}", active=0)
    return StageEnding(stage_id=stage.stage_id, status=verdict.status, error=verdict.error, agents=tuple(endings))


def _name_stage(work: StageWork, before: StoredStage | None) -> NewStage:
    return NewStage(
        stage_id=new_id() if before is None else before.stage_id,
        stage_index=work.index,
        stage_name=work.name,
        stage_type=work.stage_type,
        expected_agent_count=len(work.jobs),
        parallel_type=work.parallel_type,
        success_policy=work.policy,
        referenced_stage_id=work.referenced_stage_id,
    )


def _assign(case: Case, work: StageWork, *, stage_id: UUID, before: StoredStage | None) -> list[Assignment]:
    left = {execution.agent_index: execution for execution in (before.executions if before is not None else ())}
    return [
        Assignment(
            stage_id=stage_id,
            stage_type=work.stage_type,
            agent_name=job.agent_name,
            agent_index=index,
            resolve=job.resolve,
            opening=job.opening,
            purse=case.purse,
            safety=case.safety,
            before=left.get(index),
            seconds=job.seconds,
        )
        for index, job in enumerate(work.jobs, start=1)
    ]


def _show_progress(case: Case, stage: NewStage, text: str, *, active: int) -> None:
    progress = Progress(
        stage_name=stage.stage_name,
        stage_index=stage.stage_index,
        total_stages=len(case.steps),
        active_executions=active,
        status_text=text,
    )
    announce_progress(case.run.flusher, case.run.session_id, progress)


def _as_it_ended(stage: StoredStage) -> StageEnding:
    return StageEnding(
        stage_id=stage.stage_id,
        status=stage.status,
        error=stage.error_message,
        agents=tuple(
            ExecutionEnding(
                status=execution.status,
                error=execution.error_message,
                text=execution.final_text,
                text_id=execution.final_text_id,
            )
            for execution in stage.executions
        ),
    )
