"""What happens to a claimed session: its chain of stages in order, then exactly one terminal write."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol
from uuid import UUID

import structlog

from midwatch.agent.purse import Allowance, Purse
from midwatch.config.chains import Chain
from midwatch.config.resolve import resolve_budgets
from midwatch.domain.errors import Draining, LeaseLost, StoreUnavailable
from midwatch.domain.session import SessionStatus, StopReason, WorkStatus
from midwatch.investigation.means import Means
from midwatch.investigation.resume import announce_resume, close_cut_streams
from midwatch.investigation.stage import StageEnding, run_stage
from midwatch.kit.owned import forget_cancellation
from midwatch.store.driver import Tx
from midwatch.store.fence import Fence
from midwatch.store.leases import Claim
from midwatch.store.runs import OpenExecution, list_open_executions, load_run
from midwatch.store.sessions import OPEN_WORK_ENDS_AS, Ending, finish_session
from midwatch.store.spending import Spending, read_spending
from midwatch.timeline.announce import ExecutionPlace, announce_execution, announce_status
from midwatch.timeline.run import RunLog
from midwatch.tools.workbench import Opening, open_server_scope

_TERMINAL_WRITE = 30.0

log = structlog.get_logger()


class HeldSession(Protocol):
    """The lease under which a session runs, as far as a run needs to know it."""

    ended: bool

    @property
    def claim(self) -> Claim: ...
    @property
    def fence(self) -> Fence: ...
    @property
    def session_id(self) -> UUID: ...
    @property
    def stop_reason(self) -> StopReason | None: ...
    def check(self) -> None: ...
    def checkpoint(self) -> None: ...


async def run_session(held: HeldSession, means: Means) -> None:
    """Returns when the session has ended, or when it is somebody else's to go on with."""
    run = RunLog(
        store=means.store,
        flusher=means.flusher,
        fence=held.fence,
        check_lease=held.check,
        checkpoint=held.checkpoint,
    )
    opening = Opening(
        environment=means.environ,
        secret_names=means.secret_names,
        client_id=str(held.session_id),
        init_timeout=means.limits.mcp_init,
    )
    try:
        # Around the terminal write as well: nobody waits for a server's farewell to read the outcome.
        async with open_server_scope(opening) as scope:
            await _run(held, replace(means, scopes=replace(means.scopes, investigation=scope)), run)
    finally:
        # Also when it goes on elsewhere: from here on nothing more of it is streamed or kept by this replica.
        means.flusher.cut_streams(run.session_id)


async def _run(held: HeldSession, means: Means, run: RunLog) -> None:
    try:
        ending = await _investigate(held, means, run)
    except (LeaseLost, Draining, StoreUnavailable) as error:
        log.info("run_stopped", reason=type(error).__name__)
        return
    except asyncio.CancelledError:
        if held.stop_reason is not StopReason.CANCELLED:
            raise
        forget_cancellation()
        ending = Ending(status=SessionStatus.CANCELLED, error_message="cancelled by a person")
    except Exception as error:
        # The boundary of one session. The text of an unforeseen error may hold anything, so only its class is stored.
        log.exception("session_crashed")
        ending = Ending(status=SessionStatus.FAILED, error_message=f"internal error ({type(error).__name__})")
    await means.owned.finish(_finish(held, run, ending), seconds=_TERMINAL_WRITE)


async def _investigate(held: HeldSession, means: Means, run: RunLog) -> Ending:
    claim = held.claim
    if claim.status is SessionStatus.CANCELLING:
        return Ending(status=SessionStatus.CANCELLED, error_message="cancelled by a person")
    if claim.attempts > means.limits.takeovers_in_a_row:
        return _gave_up(claim)
    timeout = means.config.queue.session_timeout
    limit = asyncio.timeout(max((timeout - claim.ran).total_seconds(), 0.0))
    try:
        async with limit:
            return await _walk_chain(held, means, run)
    except TimeoutError:
        if not limit.expired():
            raise
        minutes = timeout.total_seconds() / 60
        return Ending(status=SessionStatus.TIMED_OUT, error_message=f"the session ran for {minutes:g} minutes")


def _gave_up(claim: Claim) -> Ending:
    tried = claim.attempts - 1
    message = f"given up: {tried} replicas in a row took the session over and stopped without finishing a single step"
    return Ending(status=SessionStatus.FAILED, error_message=message)


async def _walk_chain(held: HeldSession, means: Means, run: RunLog) -> Ending:
    async with means.store.connect() as tx:
        stored = await load_run(tx, run.session_id)
    if held.claim.resumed:
        await announce_resume(run, held.claim)
    chain = Chain.model_validate(stored.chain)
    purse = await _open_purse(held, chain, means)
    analyses: list[tuple[str, str]] = []
    ending: StageEnding | None = None
    for index in range(1, len(chain.stages) + 1):
        ending = await run_stage(index, chain=chain, stored=stored, means=means, run=run, earlier=analyses, purse=purse)
        if ending.status is not WorkStatus.COMPLETED:
            return _stopped_chain(chain, index, ending)
        analyses.append((chain.stages[index - 1].name, ending.text or ""))
    final = None if ending is None else ending.text_id
    return Ending(status=SessionStatus.COMPLETED, final_text_id=final)


async def _open_purse(held: HeldSession, chain: Chain, means: Means) -> Purse:
    """What former owners have used up is gone."""
    budgets = resolve_budgets(means.config, chain)
    allowance = Allowance(usd=budgets.usd, tokens=budgets.tokens, seconds=budgets.seconds)
    spent = Spending(tokens=0, usd=0.0)
    if held.claim.resumed:
        async with means.store.connect() as tx:
            spent = await read_spending(tx, held.session_id)
    return Purse(allowance=allowance, usd=spent.usd, tokens=spent.tokens, seconds_before=held.claim.ran.total_seconds())


def _stopped_chain(chain: Chain, index: int, ending: StageEnding) -> Ending:
    timed_out = ending.status is WorkStatus.TIMED_OUT
    return Ending(
        status=SessionStatus.TIMED_OUT if timed_out else SessionStatus.FAILED,
        error_message=f"stage {index} ({chain.stages[index - 1].name}) {ending.status}: {ending.error}",
    )


async def _finish(held: HeldSession, run: RunLog, ending: Ending) -> None:
    """Only whoever still owns the session writes its end."""
    status = ending.status
    cut: Sequence[OpenExecution] = ()

    async def write(tx: Tx) -> int:
        nonlocal status, cut
        cut = await list_open_executions(tx, run.session_id)
        status, seq = await finish_session(tx, run.fence, ending)
        return seq

    try:
        if status is not SessionStatus.COMPLETED:
            await close_cut_streams(run)
            await run.record_unanswered()
        await run.transact(write)
    except LeaseLost:
        log.info("run_stopped", reason="LeaseLost")
    else:
        _announce_end(run, status, cut)
        log.info("session_ended", status=status)
    held.ended = True


def _announce_end(run: RunLog, status: SessionStatus, cut: Sequence[OpenExecution]) -> None:
    for execution in cut:
        place = ExecutionPlace(
            session_id=run.session_id, stage_id=execution.stage_id, execution_id=execution.execution_id
        )
        ended_as = OPEN_WORK_ENDS_AS[status]
        announce_execution(run.flusher, place, agent_index=execution.agent_index, status=ended_as)
    announce_status(run.flusher, run.session_id, status)
