"""What happens to a claimed session: its chain, a summary of it, then exactly one terminal write."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import structlog

from midwatch.agent.purse import Allowance, Purse
from midwatch.config.chains import Chain
from midwatch.config.resolve import resolve_budgets
from midwatch.domain.errors import LeaseLost
from midwatch.domain.session import SessionStatus
from midwatch.investigation.case import Case
from midwatch.investigation.chain import walk_chain
from midwatch.investigation.held import Course, HeldSession, run_held
from midwatch.investigation.means import Means
from midwatch.investigation.plan import plan_steps
from midwatch.investigation.resume import announce_cut, announce_resume, close_cut_streams
from midwatch.investigation.safekeeping import recall_safety
from midwatch.investigation.summary import run_summary
from midwatch.kit.clock import boottime
from midwatch.store.driver import Tx
from midwatch.store.fence import Passed
from midwatch.store.runs import OpenExecution, list_open_executions, load_run
from midwatch.store.sessions import Ending, finish_session
from midwatch.store.spending import Spending, read_spending
from midwatch.telemetry.series import ENDED, SESSION_SECONDS
from midwatch.timeline.announce import announce_status
from midwatch.timeline.run import RunLog

log = structlog.get_logger()


async def run_session(held: HeldSession, means: Means) -> None:
    """Returns when the session has ended, or when it is somebody else's to go on with."""
    inquiry = _Inquiry()
    course = Course(
        what="the session", doing="investigate", walk=inquiry.walk, finish=_finish, round_off=inquiry.sum_up
    )
    await run_held(held, means, course)


@dataclass(slots=True)
class _Inquiry:
    """A chain, and then a few lines about what came of it."""

    _case: Case | None = None
    _analysis: str = ""

    async def walk(self, held: HeldSession, means: Means, run: RunLog) -> Ending | None:
        case = self._case
        self._case = await _open_case(held, means, run) if case is None else await _reopen(case)
        walked = await walk_chain(self._case)
        if walked is None:
            return None
        self._analysis = walked.analysis
        return Ending(status=walked.status, error_message=walked.error, final_text_id=walked.text_id)

    async def sum_up(self, ending: Ending, seconds: float) -> Ending:
        if self._case is None or ending.status is not SessionStatus.COMPLETED:
            return ending
        summary = await run_summary(self._case, self._analysis, seconds=seconds)
        return replace(ending, summary_text_id=summary.text_id, summary_error=summary.error)


async def _open_case(held: HeldSession, means: Means, run: RunLog) -> Case:
    async with means.store.connect() as tx:
        stored = await load_run(tx, run.session_id)
    if held.claim.resumed:
        await announce_resume(run, held.claim)
    chain = Chain.model_validate(stored.chain)
    purse = await _open_purse(held, chain, means)
    safety = await recall_safety(stored, means)
    return Case(chain=chain, steps=plan_steps(chain), stored=stored, purse=purse, safety=safety, means=means, run=run)


async def _reopen(case: Case) -> Case:
    """Of a run that goes on without having been parked: what its agents have done since is in the journal."""
    async with case.means.store.connect() as tx:
        return replace(case, stored=await load_run(tx, case.run.session_id))


async def _open_purse(held: HeldSession, chain: Chain, means: Means) -> Purse:
    """What former owners have used up is gone."""
    budgets = resolve_budgets(means.config, chain)
    allowance = Allowance(usd=budgets.usd, tokens=budgets.tokens, seconds=budgets.seconds)
    spent = Spending(tokens=0, usd=0.0)
    if held.claim.resumed:
        async with means.store.connect() as tx:
            spent = await read_spending(tx, held.session_id)
    return Purse(allowance=allowance, usd=spent.usd, tokens=spent.tokens, seconds_before=held.claim.ran.total_seconds())


async def _finish(held: HeldSession, run: RunLog, ending: Ending) -> None:
    """Only whoever still owns the session writes its end."""
    status = ending.status
    cut: Sequence[OpenExecution] = ()

    async def write(tx: Tx) -> Passed:
        nonlocal status, cut
        cut = await list_open_executions(tx, run.session_id)
        status, passed = await finish_session(tx, run.fence, ending)
        return passed

    try:
        if status is not SessionStatus.COMPLETED:
            await close_cut_streams(run, status)
            await run.record_unanswered()
        await run.transact(write)
    except LeaseLost:
        log.info("run_stopped", reason="LeaseLost")
    else:
        announce_cut(run, status, cut)
        announce_status(run.flusher, run.session_id, status)
        _count_end(held, run, status)
        log.info("session_ended", status=status)
    held.ended = True


def _count_end(held: HeldSession, run: RunLog, status: SessionStatus) -> None:
    claim = held.claim
    labels = (claim.alert_type, status)
    run.meters.count(ENDED, labels)
    run.meters.observe(SESSION_SECONDS, labels, seconds=claim.ran.total_seconds() + boottime() - run.began)
