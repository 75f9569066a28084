"""One agent at work: its settings, its workbench and its model opened, its loop run, its outcome stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, assert_never
from uuid import UUID

from midwatch.agent.budget import Budget
from midwatch.agent.loop import Agent
from midwatch.agent.outcome import Concluded, Failed, Outcome, TimedOut
from midwatch.agent.prompts.render import render_investigation, render_system
from midwatch.agent.purse import Purse
from midwatch.config import selection as configured
from midwatch.config.chains import Chain, Stage, StageAgent
from midwatch.config.defaults import Defaults
from midwatch.config.resolve import ExecutionSettings, resolve_execution
from midwatch.domain.errors import ModelUnavailable, NotFound
from midwatch.domain.messages import Message, SystemMessage, UserMessage
from midwatch.domain.runbook import without_query
from midwatch.domain.selection import McpSelection
from midwatch.domain.session import WorkStatus
from midwatch.domain.timeline import Phase
from midwatch.investigation.means import Means
from midwatch.investigation.models import open_ladder
from midwatch.investigation.resume import settle_open_calls
from midwatch.kit.ids import new_id
from midwatch.llm.ladder import Ladder
from midwatch.masking.mask import compile_mask, mask_result
from midwatch.store.driver import Tx
from midwatch.store.journal import Batch, commit_batch
from midwatch.store.recordings import count_earlier
from midwatch.store.runs import (
    Conversation,
    NewExecution,
    StoredExecution,
    begin_execution,
    finish_execution,
    load_conversation,
)
from midwatch.store.sessions import add_warnings
from midwatch.timeline.announce import announce_execution
from midwatch.timeline.record import ExecutionRecorder
from midwatch.timeline.run import RunLog
from midwatch.tools.workbench import Workbench, open_workbench

_AGENT_INDEX = 1
"""Counted from one, as stages are."""
_NO_CONVERSATION = Conversation(messages=(), open_calls=(), next_sequence=0, last_text_id=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What one agent is to do."""

    stage_id: UUID
    chain: Chain
    stage: Stage
    agent: StageAgent
    alert_type: str
    alert_data: str
    runbook_url: str | None
    selection: McpSelection | None
    """The servers to use instead of the configured ones."""
    earlier: Sequence[tuple[str, str]]
    purse: Purse
    before: StoredExecution | None
    """The execution as an earlier owner left it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionEnding:
    status: WorkStatus
    error: str | None = None
    text: str | None = None
    text_id: UUID | None = None


async def run_execution(assignment: Assignment, *, means: Means, run: RunLog) -> ExecutionEnding:
    before = assignment.before
    if before is not None and before.status.is_terminal:
        return ExecutionEnding(
            status=before.status, error=before.error_message, text=before.final_text, text_id=before.final_text_id
        )
    try:
        settings = resolve_execution(
            means.config,
            assignment.chain,
            stage=assignment.stage,
            stage_agent=assignment.agent,
            selection=_selection(assignment),
        )
    except NotFound as error:
        return ExecutionEnding(status=WorkStatus.FAILED, error=f"the configuration has changed: {error.message}")
    try:
        ladder = await open_ladder(
            settings,
            gateway=means.gateway,
            prices=means.prices,
            start=None if before is None else before.llm_provider,
        )
    except ModelUnavailable as error:
        return ExecutionEnding(status=WorkStatus.FAILED, error=f"provider {settings.provider_name}: {error}")
    recorder, conversation = await _open_recorder(assignment, settings, ladder=ladder, run=run, means=means)
    announce_execution(run.flusher, recorder.place, agent_index=_AGENT_INDEX, status=WorkStatus.ACTIVE)
    return await _work(assignment, settings, ladder=ladder, recorder=recorder, conversation=conversation, means=means)


def _selection(assignment: Assignment) -> configured.McpSelection | None:
    """As the resolver takes it: the alert's own words, in the shape of the wire."""
    chosen = assignment.selection
    return None if chosen is None else configured.McpSelection.model_validate(chosen.as_json())


async def _open_recorder(
    assignment: Assignment, settings: ExecutionSettings, *, ladder: Ladder, run: RunLog, means: Means
) -> tuple[ExecutionRecorder, Conversation]:
    before, conversation = assignment.before, _NO_CONVERSATION
    if before is None:
        execution = NewExecution(
            execution_id=new_id(),
            stage_id=assignment.stage_id,
            agent_name=settings.agent,
            agent_index=_AGENT_INDEX,
            llm_provider=ladder.current.provider,
            llm_backend=ladder.backend,
            model_name=ladder.current.name,
        )
        await run.transact(partial(begin_execution, fence=run.fence, execution=execution))
        execution_id = execution.execution_id
    else:
        execution_id = before.execution_id
        async with means.store.connect() as tx:
            conversation = await load_conversation(tx, run.session_id, execution_id)
    recorder = ExecutionRecorder(
        run=run,
        stage_id=assignment.stage_id,
        execution_id=execution_id,
        next_sequence=conversation.next_sequence,
        last_text_id=conversation.last_text_id,
    )
    return recorder, conversation


async def _work(
    assignment: Assignment,
    settings: ExecutionSettings,
    *,
    ladder: Ladder,
    recorder: ExecutionRecorder,
    conversation: Conversation,
    means: Means,
) -> ExecutionEnding:
    config = means.config
    async with open_workbench(
        servers={name: config.mcp_servers[name] for name in settings.servers},
        safety=config.safety.model_copy(update={"control_level": settings.control_level}),
        journal=recorder,
        environment=means.environ,
        secret_names=means.secret_names,
        chosen=settings.tool_filters,
        refuse_proven_writes=config.tarsy and not config.safety_mode_explicit,
        pins=means.pins,
        calls=means.calls,
        scopes=means.scopes,
        execution_id=str(recorder.execution_id),
        call_timeout=means.limits.tool_call,
        init_timeout=means.limits.mcp_init,
    ) as workbench:
        messages = list(conversation.messages) or await _open_conversation(
            assignment, settings, workbench=workbench, recorder=recorder, means=means
        )
        tools = await workbench.gate.list_tools()
        means.sightings.note_unavailable(workbench.unavailable)
        means.sightings.note_opened(
            [name for name in settings.servers if name not in workbench.unavailable],
            tools,
            all_tools=assignment.selection is None,
        )
        await _warn_of_changes(workbench, recorder)
        open_calls, unknown = await settle_open_calls(recorder, conversation.open_calls)
        agent = Agent(
            name=settings.agent,
            ladder=ladder,
            tools=workbench.gate,
            journal=recorder,
            budget=_budget(settings, means),
            purse=assignment.purse,
            messages=[*messages, *unknown],
            switches=0 if assignment.before is None else assignment.before.switches,
            occasion=await _count_occasions(recorder, means),
        )
        # Stored while the tools are still open: nobody waits for a server's farewell to read the analysis.
        return await _store_outcome(await agent.investigate(open_calls), recorder)


async def _count_occasions(recorder: ExecutionRecorder, means: Means) -> int:
    async with means.store.connect() as tx:
        return await count_earlier(tx, recorder.run.session_id, recorder.execution_id)


async def _open_conversation(
    assignment: Assignment,
    settings: ExecutionSettings,
    *,
    workbench: Workbench,
    recorder: ExecutionRecorder,
    means: Means,
) -> list[Message]:
    system = render_system(
        agent=settings.agent,
        instructions=settings.server_instructions,
        unavailable=workbench.unavailable,
        custom_instructions=settings.custom_instructions,
        budget=assignment.purse.describe_left(),
    )
    user = render_investigation(
        alert_type=assignment.alert_type,
        alert_data=assignment.alert_data,
        runbook=_read_runbook(means.config.defaults),
        runbook_url=assignment.runbook_url and without_query(assignment.runbook_url),
        earlier=assignment.earlier,
    )
    if workbench.unavailable:
        warnings = [f"agent {settings.agent} worked without {reason}" for reason in workbench.unavailable.values()]
        await recorder.run.transact(partial(add_warnings, fence=recorder.run.fence, warnings=warnings))
    await recorder.commit_opening(system=system, user=user)
    return [SystemMessage(text=system), UserMessage(text=user)]


async def _warn_of_changes(workbench: Workbench, recorder: ExecutionRecorder) -> None:
    if workbench.gate.changed:
        warnings = [
            f"tool {name} is not what it was when it was vouched for; it counts as a write until it is accepted anew"
            for name in sorted(workbench.gate.changed)
        ]
        await recorder.run.transact(partial(add_warnings, fence=recorder.run.fence, warnings=warnings))


def _read_runbook(defaults: Defaults) -> str:
    """Masked as alerts are: people paste what works."""
    masking = defaults.alert_masking
    if not masking.enabled:
        return defaults.runbook
    return mask_result(compile_mask(groups=[masking.pattern_group]), defaults.runbook)


def _budget(settings: ExecutionSettings, means: Means) -> Budget:
    limits = means.limits
    return Budget(
        max_iterations=settings.max_iterations,
        first_chunk=limits.first_chunk,
        gap=limits.gap,
        call=limits.call,
        iteration=limits.iteration,
        failures_in_a_row=limits.timeouts_in_a_row,
    )


async def _store_outcome(outcome: Outcome, recorder: ExecutionRecorder) -> ExecutionEnding:
    match outcome:
        case Concluded(text=text):
            ending = ExecutionEnding(status=WorkStatus.COMPLETED, text=text, text_id=recorder.last_text_id)
        case Failed(error=error):
            ending = ExecutionEnding(status=WorkStatus.FAILED, error=error)
        case TimedOut(error=error):
            ending = ExecutionEnding(status=WorkStatus.TIMED_OUT, error=error)
        case _ as never:
            assert_never(never)

    # Made once: tried again after a lost answer, the same rows are found to be there.
    conclusion = _conclusion(outcome, recorder) if isinstance(outcome, Concluded) else None

    async def write(tx: Tx) -> int:
        if conclusion is not None:
            await commit_batch(
                tx,
                recorder.run.fence,
                conclusion,
                stage_id=recorder.stage_id,
                execution_id=recorder.execution_id,
            )
        return await finish_execution(
            tx,
            recorder.run.fence,
            recorder.execution_id,
            status=ending.status,
            error=ending.error,
            final_text_id=ending.text_id,
        )

    recorder.show_phase(Phase.FINALIZING, "Storing the outcome")
    await recorder.run.transact(write)
    announce_execution(
        recorder.run.flusher, recorder.place, agent_index=_AGENT_INDEX, status=ending.status, error=ending.error
    )
    return ending


def _conclusion(outcome: Concluded, recorder: ExecutionRecorder) -> Batch:
    batch = Batch()
    forced = outcome.used_up is not None
    metadata: dict[str, Any] = {"forced_conclusion": forced, "iterations_used": outcome.iterations}
    if forced:
        metadata["forced_conclusion_reason"] = f"{outcome.used_up} used up"
    recorder.add_conclusion(batch, metadata=metadata)
    return batch
