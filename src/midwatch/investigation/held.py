"""What every run has around it, be it of an alert or of a question: the lease, the clock, one boundary, one end."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any, Protocol
from uuid import UUID

import structlog

from midwatch.domain.errors import Draining, LeaseLost, StoreUnavailable
from midwatch.domain.session import SessionStatus, StopReason
from midwatch.investigation.means import Means
from midwatch.investigation.spans import open_run_span
from midwatch.kit.owned import forget_cancellation
from midwatch.store.driver import Tx
from midwatch.store.fence import Fence
from midwatch.store.leases import Claim
from midwatch.store.parking import WAITING_FOR, Parking, Rest, park_session
from midwatch.store.sessions import Ending
from midwatch.telemetry.tracing import Span
from midwatch.timeline.announce import announce_status
from midwatch.timeline.run import RunLog
from midwatch.tools.workbench import Opening, open_server_scope

_TERMINAL_WRITE = 30.0
_CANCELLED = Ending(status=SessionStatus.CANCELLED, error_message="cancelled by a person")

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


async def _as_it_is(ending: Ending, _seconds: float) -> Ending:
    return ending


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What one kind of run is made of."""

    what: str
    """As people call it: the session, the question."""
    doing: str
    """And what is done about it, in a word."""
    walk: Callable[[HeldSession, Means, RunLog], Awaitable[Ending | None]]
    """None when nothing can be done before a person decides. Walked again, it goes on from the journal."""
    finish: Callable[[HeldSession, RunLog, Ending], Coroutine[Any, Any, None]]
    """The one terminal write, which sees to it that `ended` is set."""
    round_off: Callable[[Ending, float], Awaitable[Ending]] = _as_it_is
    """What is still to be done when the walk is over, and the seconds left for it. It keeps to them by itself, so that
    want of time does not undo the walk."""


async def run_held(held: HeldSession, means: Means, course: Course) -> None:
    """Returns when the run has come to its end, or when it is somebody else's to go on with."""
    run = RunLog(
        store=means.store,
        flusher=means.flusher,
        fence=held.fence,
        check_lease=held.check,
        checkpoint=held.checkpoint,
        meters=means.meters,
    )
    opening = Opening(
        environment=means.environ,
        secret_names=means.secret_names,
        client_id=str(held.session_id),
        init_timeout=means.limits.mcp_init,
    )
    try:
        # Around the terminal write as well: nobody waits for a server's farewell to read the outcome.
        with open_run_span(means.tracer, held.claim, doing=course.doing) as span:
            async with open_server_scope(opening) as scope:
                scoped = replace(means, scopes=replace(means.scopes, investigation=scope))
                await _run_to_end(held, scoped, course, run=run, span=span)
    finally:
        # Also when it goes on elsewhere: from here on nothing more of it is streamed or kept by this replica.
        means.flusher.cut_streams(run.session_id)


async def _run_to_end(held: HeldSession, means: Means, course: Course, *, run: RunLog, span: Span) -> None:
    try:
        ending = await _walk(held, means, course, run=run)
        if ending is None:
            return
    except (LeaseLost, Draining, StoreUnavailable) as error:
        span.fail(type(error).__name__)
        log.info("run_stopped", reason=type(error).__name__)
        return
    except asyncio.CancelledError:
        if held.stop_reason is not StopReason.CANCELLED:
            raise
        forget_cancellation()
        ending = _CANCELLED
    except Exception as error:
        # The boundary of one session. The text of an unforeseen error may hold anything, so only its class is stored.
        log.exception("session_crashed")
        ending = Ending(status=SessionStatus.FAILED, error_message=f"internal error ({type(error).__name__})")
    span.note({"midwatch.status": ending.status})
    if ending.status is not SessionStatus.COMPLETED:
        span.fail(ending.status)
    await means.owned.finish(course.finish(held, run, ending), seconds=_TERMINAL_WRITE)


async def _walk(held: HeldSession, means: Means, course: Course, *, run: RunLog) -> Ending | None:
    claim = held.claim
    if claim.is_cancelled:
        return _CANCELLED
    if claim.attempts > means.limits.takeovers_in_a_row:
        return _gave_up(claim, course.what)
    timeout = means.config.queue.session_timeout
    loop = asyncio.get_running_loop()
    over = loop.time() + max((timeout - claim.ran).total_seconds(), 0.0)
    limit = asyncio.timeout_at(over)
    try:
        async with limit:
            ending = await _walk_or_park(held, means, course, run=run)
    except TimeoutError:
        if not limit.expired():
            raise
        minutes = timeout.total_seconds() / 60
        return Ending(status=SessionStatus.TIMED_OUT, error_message=f"{course.what} ran for {minutes:g} minutes")
    return ending and await course.round_off(ending, max(over - loop.time(), 0.0))


async def _walk_or_park(held: HeldSession, means: Means, course: Course, *, run: RunLog) -> Ending | None:
    """None when the run is parked: it has no lease any more, and whoever decides has it taken up again."""
    while (ending := await course.walk(held, means, run)) is None:
        parking = await _park(held, run)
        match parking.rest:
            case Rest.PARKED:
                held.ended = True
                return None
            case Rest.CANCELLED:
                return _CANCELLED
            case Rest.GO_ON:
                for execution_id in parking.cancelled:
                    means.calls.cancel(execution_id)
    return ending


async def _park(held: HeldSession, run: RunLog) -> Parking:
    parking = Parking(rest=Rest.GO_ON)
    stage_id = held.claim.chat_stage_id

    async def write(tx: Tx) -> int:
        nonlocal parking
        parking = await park_session(tx, run.fence, stage_id=stage_id)
        return parking.seq or run.position

    await run.transact(write)
    if parking.rest is Rest.PARKED:
        log.info("run_parked")
        if stage_id is None:
            announce_status(run.flusher, run.session_id, SessionStatus.IN_PROGRESS, waiting_for=WAITING_FOR)
    return parking


def _gave_up(claim: Claim, what: str) -> Ending:
    tried = claim.attempts - 1
    message = f"given up: {tried} replicas in a row took {what} over and stopped without finishing a single step"
    return Ending(status=SessionStatus.FAILED, error_message=message)
