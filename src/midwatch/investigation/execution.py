"""One agent at work: its settings, its workbench and its model opened, its loop run, its outcome stored.

What it is asked to do is the assignment's: an investigation, a synthesis, a summary and an answer in a chat differ in
their settings and in the words that open the conversation, and run here alike.
"""

import asyncio
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import assert_never
from uuid import UUID

import structlog

from midwatch.agent.budget import Budget
from midwatch.agent.loop import Agent
from midwatch.agent.manners import Manner, choose_manner
from midwatch.agent.outcome import Concluded, Failed, Outcome, Parked, TimedOut
from midwatch.config.resolve import ExecutionSettings
from midwatch.domain.errors import Draining, LeaseLost, ModelUnavailable, NotFound, StoreUnavailable
from midwatch.domain.messages import Message, SystemMessage, UserMessage
from midwatch.domain.session import WorkStatus
from midwatch.domain.timeline import Phase
from midwatch.domain.tools import CallState
from midwatch.investigation.assignment import Assignment, ExecutionEnding
from midwatch.investigation.claims import ClaimCheck
from midwatch.investigation.conclusion import Conclusion, build_conclusion
from midwatch.investigation.means import Means
from midwatch.investigation.models import open_ladder
from midwatch.investigation.results import build_summarizer, portion_results
from midwatch.investigation.resume import settle_open_calls, show_cut_as
from midwatch.investigation.spans import open_execution_span
from midwatch.kit.ids import new_id
from midwatch.llm.ladder import Ladder
from midwatch.store.cancels import lock_execution
from midwatch.store.driver import Tx
from midwatch.store.fence import Passed
from midwatch.store.journal import Batch, commit_batch
from midwatch.store.recordings import count_earlier
from midwatch.store.runs import (
    Conversation,
    NewExecution,
    begin_execution,
    finish_execution,
    keep_execution,
    load_conversation,
)
from midwatch.store.sessions import add_warnings
from midwatch.timeline.announce import ExecutionPlace, announce_execution
from midwatch.timeline.approvals import ApprovalRecorder
from midwatch.timeline.entries import add_streamed
from midwatch.timeline.record import ExecutionRecorder
from midwatch.timeline.run import RunLog
from midwatch.tools.consent import PersonalConsent
from midwatch.tools.inflight import CallCancelled
from midwatch.tools.results.shelf import StoredShelf
from midwatch.tools.workbench import Fittings, Workbench, open_workbench

_NO_CONVERSATION = Conversation(messages=(), open_calls=(), next_sequence=0, last_text_id=None)
_UNKNOWN = "unknown"
"""The provider and the model of an execution that ended before either was chosen."""

log = structlog.get_logger()


_CANCELLED = ExecutionEnding(status=WorkStatus.CANCELLED, error="cancelled by a person")
_PARKED = ExecutionEnding(status=WorkStatus.ACTIVE)


async def run_execution(assignment: Assignment, *, means: Means, run: RunLog) -> ExecutionEnding:
    """Whatever goes wrong with one agent is its own end, and never that of its neighbours.

    Only what ends the whole run is raised: LeaseLost, Draining, StoreUnavailable.
    """
    before = assignment.before
    if before is not None and before.status.is_terminal:
        return ExecutionEnding(
            status=before.status, error=before.error_message, text=before.final_text, text_id=before.final_text_id
        )
    execution = _name_execution(assignment)
    with open_execution_span(assignment, execution_id=execution.execution_id) as span:
        ending = await _run_within(assignment, execution, means=means, run=run)
        if ending.status is not WorkStatus.COMPLETED:
            span.fail(ending.status)
    return ending


async def _run_within(assignment: Assignment, execution: NewExecution, *, means: Means, run: RunLog) -> ExecutionEnding:
    try:
        return await _run(assignment, execution, means=means, run=run)
    except (LeaseLost, Draining, StoreUnavailable):
        raise
    except Exception as error:
        # The boundary of one agent. The text of an unforeseen error may hold anything, so only its class is stored.
        log.exception("agent_crashed", agent=assignment.agent_name)
        told = f"internal error ({type(error).__name__})"
        return await end_execution(execution, ExecutionEnding(status=WorkStatus.FAILED, error=told), run=run)


def _name_execution(assignment: Assignment) -> NewExecution:
    before = assignment.before
    return NewExecution(
        execution_id=new_id() if before is None else before.execution_id,
        stage_id=assignment.stage_id,
        agent_name=assignment.agent_name,
        agent_index=assignment.agent_index,
        llm_provider=_UNKNOWN,
        llm_backend=None,
        model_name=_UNKNOWN,
    )


async def _run(assignment: Assignment, execution: NewExecution, *, means: Means, run: RunLog) -> ExecutionEnding:
    before = assignment.before
    try:
        settings = assignment.resolve()
    except NotFound as error:
        changed = f"the configuration has changed: {error.message}"
        return await end_execution(execution, ExecutionEnding(status=WorkStatus.FAILED, error=changed), run=run)
    try:
        ladder = await open_ladder(
            settings,
            gateway=means.gateway,
            prices=means.prices,
            start=None if before is None else before.llm_provider,
        )
    except ModelUnavailable as error:
        closed = f"provider {settings.provider_name}: {error}"
        execution = replace(execution, llm_provider=settings.provider_name, model_name=settings.provider.model)
        return await end_execution(execution, ExecutionEnding(status=WorkStatus.FAILED, error=closed), run=run)
    execution = replace(
        execution,
        llm_provider=ladder.current.provider,
        llm_backend=ladder.backend,
        model_name=ladder.current.name,
    )
    recorder, conversation = await _open_recorder(assignment, execution, run=run, means=means)
    announce_execution(run.flusher, recorder.place, agent_index=execution.agent_index, status=WorkStatus.ACTIVE)
    work = _Work(assignment=assignment, settings=settings, ladder=ladder, recorder=recorder, means=means)
    async with AsyncExitStack() as tools:
        outcome = await work.attempt(conversation, tools)
        # Stored while the tools are still open: nobody waits for a server's farewell to read the analysis.
        match outcome:
            case Parked():
                return _PARKED
            case ExecutionEnding():
                return await end_execution(execution, outcome, run=run)
            case _:
                return await work.store_outcome(outcome)


async def end_execution(execution: NewExecution, ending: ExecutionEnding, *, run: RunLog) -> ExecutionEnding:
    """Ends one without a conclusion, whether it had begun or not. What its model was saying is told to be over."""
    # Made once: tried again after a lost answer, the same rows are found to be there.
    batch = Batch(outbound=run.take_unanswered(stage_id=execution.stage_id, execution_id=execution.execution_id))
    for stream in run.flusher.cut_streams(run.session_id, execution_id=execution.execution_id):
        add_streamed(
            batch,
            stream.event_type,
            "".join(stream.parts),
            event_id=stream.event_id,
            status=show_cut_as(ending.status),
        )

    async def write(tx: Tx) -> Passed:
        nonlocal ending
        await keep_execution(tx, fence=run.fence, execution=execution)
        if await lock_execution(tx, run.session_id, execution.execution_id):
            ending = _CANCELLED
        await commit_batch(
            tx,
            run.fence,
            batch,
            stage_id=execution.stage_id,
            execution_id=execution.execution_id,
            progressed=False,
        )
        return await finish_execution(
            tx, run.fence, execution.execution_id, status=ending.status, error=ending.error, final_text_id=None
        )

    await run.transact(write)
    place = ExecutionPlace(session_id=run.session_id, stage_id=execution.stage_id, execution_id=execution.execution_id)
    announce_execution(run.flusher, place, agent_index=execution.agent_index, status=ending.status, error=ending.error)
    return ending


async def _open_recorder(
    assignment: Assignment, execution: NewExecution, *, run: RunLog, means: Means
) -> tuple[ExecutionRecorder, Conversation]:
    conversation = _NO_CONVERSATION
    if assignment.before is None:
        await run.transact(partial(begin_execution, fence=run.fence, execution=execution))
    else:
        async with means.store.connect() as tx:
            conversation = await load_conversation(tx, run.session_id, execution.execution_id)
    recorder = ExecutionRecorder(
        run=run,
        stage_id=execution.stage_id,
        execution_id=execution.execution_id,
        next_sequence=conversation.next_sequence,
        last_text_id=conversation.last_text_id,
    )
    return recorder, conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """An execution that has begun."""

    assignment: Assignment
    settings: ExecutionSettings
    ladder: Ladder
    recorder: ExecutionRecorder
    means: Means
    messages: list[Message] = field(default_factory=list[Message])
    """The conversation; whoever sums up a result for the agent looks at it too."""

    @property
    def manner(self) -> Manner:
        return choose_manner(self.assignment.stage_type, self.settings.agent_type)

    @property
    def servers(self) -> tuple[str, ...]:
        return () if self.manner.answers_once else self.settings.servers

    async def attempt(self, conversation: Conversation, tools: AsyncExitStack) -> Outcome | ExecutionEnding:
        """What came of it, or the end that a person or the clock put to it. Storing either is nobody's to cut short."""
        seconds = self.assignment.seconds
        limit = asyncio.timeout(seconds)
        try:
            async with limit, self.means.calls.cancellable(self.recorder.execution_id):
                workbench = await tools.enter_async_context(self._open_workbench(conversation))
                return await self._investigate(workbench, conversation)
        except CallCancelled:
            return _CANCELLED
        except TimeoutError:
            if not limit.expired():
                raise
            return ExecutionEnding(status=WorkStatus.TIMED_OUT, error=f"not done within {seconds:.0f} s")

    def _open_workbench(self, conversation: Conversation) -> AbstractAsyncContextManager[Workbench]:
        means, settings = self.means, self.settings
        config = means.config
        return open_workbench(
            Fittings(
                servers={name: config.mcp_servers[name] for name in self.servers},
                safety=config.safety.model_copy(update={"control_level": settings.control_level}),
                journal=self.recorder,
                environment=means.environ,
                secret_names=means.secret_names,
                chosen=settings.tool_filters,
                refuse_proven_writes=config.tarsy and not config.safety_mode_explicit,
                pins=means.pins,
                calls=means.calls,
                scopes=means.scopes,
                portions=portion_results(settings, window=self.ladder.window),
                digest=build_summarizer(
                    settings,
                    recorder=self.recorder,
                    means=means,
                    budget=_budget(settings, means),
                    purse=self.assignment.purse,
                    messages=self.messages,
                ),
                shelf=StoredShelf(means.store, self.recorder.run.session_id),
                consent=self._build_consent(conversation),
                state=self.assignment.safety,
                owner=self.recorder.execution_id,
                execution_id=str(self.recorder.execution_id),
                call_timeout=means.limits.tool_call,
                init_timeout=means.limits.mcp_init,
            )
        )

    def _build_consent(self, conversation: Conversation) -> PersonalConsent:
        config = self.means.config
        waited = [each for each in conversation.open_calls if each.state is CallState.WAITING_APPROVAL]
        return PersonalConsent(
            journal=ApprovalRecorder(recorder=self.recorder, waited=frozenset(each.call.call_id for each in waited)),
            expire_after=config.approvals.expire_after,
            users={name: user for name in self.servers if (user := config.mcp_servers[name].run_as)},
        )

    async def _investigate(self, workbench: Workbench, conversation: Conversation) -> Outcome:
        messages = self.messages
        messages += list(conversation.messages) or await self._open_conversation(workbench)
        await self._note_tools(workbench)
        open_calls, answers = await settle_open_calls(self.recorder, conversation.open_calls, digest=workbench.digest)
        messages += answers
        before = self.assignment.before
        agent = Agent(
            name=self.assignment.agent_name,
            ladder=self.ladder,
            tools=workbench.gate,
            journal=self.recorder,
            budget=_budget(self.settings, self.means),
            purse=self.assignment.purse,
            messages=messages,
            manner=self.manner,
            check=ClaimCheck(
                store=self.means.store,
                session_id=self.recorder.run.session_id,
                tools=workbench.gate.list_names,
            ),
            offer_results=workbench.shelf.offer,
            switches=0 if before is None else before.switches,
            occasion=await self._count_occasions(),
        )
        return await agent.investigate(open_calls)

    async def _count_occasions(self) -> int:
        async with self.means.store.connect() as tx:
            return await count_earlier(tx, self.recorder.run.session_id, self.recorder.execution_id)

    async def _open_conversation(self, workbench: Workbench) -> list[Message]:
        words = await self.assignment.opening(self.settings, workbench)
        name = self.assignment.agent_name
        missing = [f"agent {name} worked without {reason}" for reason in workbench.unavailable.values()]
        if warnings := [*missing, *words.warnings]:
            await self._warn(warnings)
        await self.recorder.commit_opening(system=words.system, user=words.user)
        return [SystemMessage(text=words.system), UserMessage(text=words.user)]

    async def _note_tools(self, workbench: Workbench) -> None:
        """What was seen of the servers, for whoever watches over them."""
        sightings = self.means.sightings
        tools = await workbench.gate.list_tools()
        sightings.note_unavailable(workbench.unavailable)
        sightings.note_opened(
            [name for name in self.servers if name not in workbench.unavailable],
            tools,
            all_tools=not self.settings.tool_filters,
        )
        if workbench.gate.changed:
            changed = "is not what it was when it was vouched for; it counts as a write until it is accepted anew"
            await self._warn([f"tool {name} {changed}" for name in sorted(workbench.gate.changed)])

    async def _warn(self, warnings: list[str]) -> None:
        run = self.recorder.run
        await run.transact(partial(add_warnings, fence=run.fence, warnings=warnings))

    async def store_outcome(self, outcome: Concluded | Failed | TimedOut) -> ExecutionEnding:
        recorder = self.recorder
        # Made once: tried again after a lost answer, the same rows are found to be there.
        conclusion = self._build_conclusion(outcome) if isinstance(outcome, Concluded) else None
        ending = _end_as(outcome, text_id=None if conclusion is None else conclusion.text_id)

        async def write(tx: Tx) -> Passed:
            nonlocal ending
            if await lock_execution(tx, recorder.run.session_id, recorder.execution_id):
                ending = _CANCELLED
            elif conclusion is not None:
                await conclusion.write(tx, recorder)
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
            recorder.run.flusher,
            recorder.place,
            agent_index=self.assignment.agent_index,
            status=ending.status,
            error=ending.error,
        )
        if conclusion is not None and ending is not _CANCELLED:
            conclusion.count(recorder)
        return ending

    def _build_conclusion(self, outcome: Concluded) -> Conclusion:
        owed = self.assignment.safety.machine.list_owed(self.recorder.execution_id)
        return build_conclusion(outcome, self.recorder, owed=owed)


def _end_as(outcome: Concluded | Failed | TimedOut, *, text_id: UUID | None) -> ExecutionEnding:
    match outcome:
        case Concluded(text=text):
            return ExecutionEnding(status=WorkStatus.COMPLETED, text=text, text_id=text_id)
        case Failed(error=error):
            return ExecutionEnding(status=WorkStatus.FAILED, error=error)
        case TimedOut(error=error):
            return ExecutionEnding(status=WorkStatus.TIMED_OUT, error=error)
        case _ as never:
            assert_never(never)


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
