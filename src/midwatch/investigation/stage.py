"""One stage of a chain: its row, its agent, its outcome."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from midwatch.agent.purse import Purse
from midwatch.config.chains import Chain, Stage
from midwatch.domain.session import WorkStatus
from midwatch.investigation.execution import Assignment, ExecutionEnding, run_execution
from midwatch.investigation.means import Means
from midwatch.kit.ids import new_id
from midwatch.store.runs import NewStage, StoredExecution, StoredRun, StoredStage, begin_stage, finish_stage
from midwatch.timeline.announce import Progress, announce_progress
from midwatch.timeline.run import RunLog


@dataclass(frozen=True, slots=True, kw_only=True)
class StageEnding:
    status: WorkStatus
    error: str | None
    text: str | None
    text_id: UUID | None


async def run_stage(
    index: int,
    *,
    chain: Chain,
    stored: StoredRun,
    means: Means,
    run: RunLog,
    earlier: Sequence[tuple[str, str]],
    purse: Purse,
) -> StageEnding:
    """`index` counts from one. A stage that had finished before stands."""
    before = next((stage for stage in stored.stages if stage.stage_index == index), None)
    if before is not None and before.status.is_terminal:
        return _as_it_ended(before)
    stage = NewStage(
        stage_id=new_id() if before is None else before.stage_id,
        stage_index=index,
        stage_name=chain.stages[index - 1].name,
    )
    if before is None:
        await run.transact(partial(begin_stage, fence=run.fence, stage=stage))
    _tell(run, chain, stage, active=1, text=f"Stage {stage.stage_name} has started")
    assignment = Assignment(
        stage_id=stage.stage_id,
        chain=chain,
        stage=chain.stages[index - 1],
        agent=chain.stages[index - 1].agents[0],
        alert_type=stored.alert_type,
        alert_data=stored.alert_data,
        runbook_url=stored.runbook_url,
        selection=stored.selection,
        earlier=earlier,
        purse=purse,
        before=_execution_of(before),
    )
    ending = _refuse_many(assignment.stage) or await run_execution(assignment, means=means, run=run)
    await run.transact(partial(finish_stage, fence=run.fence, stage=stage, status=ending.status, error=ending.error))
    _tell(run, chain, stage, active=0, text=f"Stage {stage.stage_name} is {ending.status}")
    return _stage_ending(ending)


def _tell(run: RunLog, chain: Chain, stage: NewStage, *, active: int, text: str) -> None:
    progress = Progress(
        stage_name=stage.stage_name,
        stage_index=stage.stage_index,
        total_stages=len(chain.stages),
        active_executions=active,
        status_text=text,
    )
    announce_progress(run.flusher, run.session_id, progress)


def _refuse_many(stage: Stage) -> ExecutionEnding | None:
    agents = stage.replicas if stage.replicas > 1 else len(stage.agents)
    if agents == 1:
        return None
    told = f"stage {stage.name} has {agents} agents; this version runs one agent per stage"
    return ExecutionEnding(status=WorkStatus.FAILED, error=told)


def _execution_of(stage: StoredStage | None) -> StoredExecution | None:
    return stage.executions[0] if stage is not None and stage.executions else None


def _as_it_ended(stage: StoredStage) -> StageEnding:
    execution = _execution_of(stage)
    return StageEnding(
        status=stage.status,
        error=stage.error_message,
        text=None if execution is None else execution.final_text,
        text_id=None if execution is None else execution.final_text_id,
    )


def _stage_ending(ending: ExecutionEnding) -> StageEnding:
    return StageEnding(status=ending.status, error=ending.error, text=ending.text, text_id=ending.text_id)
