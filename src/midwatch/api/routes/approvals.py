"""What waits for a person, and the person's answer."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from pydantic import BeforeValidator

from midwatch.api.approval_bodies import ApprovalOut, ApprovalsOut, DecisionIn
from midwatch.api.approver import TheApprover
from midwatch.api.body import StrictJsonRoute
from midwatch.api.description import WITH_BODY, refusals
from midwatch.api.list_query import refuse_repeats
from midwatch.api.state import TheFlusher, TheStore
from midwatch.domain.errors import NotFound
from midwatch.intake.decide_approval import Decision, decide_approval
from midwatch.safety.approvals import ApprovalState
from midwatch.store.approvals import list_approvals, read_approval
from midwatch.store.engine import Store

_MOST = 200
_UNSAID = DecisionIn()
_EMPTY_IS_UNSENT = BeforeValidator(lambda sent: sent or None)

router = APIRouter(prefix="/api/v1/approvals", route_class=StrictJsonRoute, responses=refusals(400, 503))


@router.get("", summary="List approvals", dependencies=[Depends(refuse_repeats)])
async def list_all_approvals(
    store: TheStore,
    state: Annotated[ApprovalState | None, _EMPTY_IS_UNSENT, Query(description="Only those in this state")] = None,
    session_id: Annotated[UUID | None, _EMPTY_IS_UNSENT, Query(description="Only those of this session")] = None,
) -> ApprovalsOut:
    """Those that wait come first, the first to expire in front; then the latest. 200 at most."""
    async with store.connect() as tx:
        rows = await list_approvals(tx, state=state, session_id=session_id, limit=_MOST)
    return ApprovalsOut(approvals=[ApprovalOut.from_row(row) for row in rows])


@router.get("/{approval_id}", summary="Show an approval", responses=refusals(404))
async def show_approval(approval_id: UUID, store: TheStore) -> ApprovalOut:
    """The whole call, what it acts on, why a person is asked, and what was decided."""
    return await _read(store, approval_id)


@router.post(
    "/{approval_id}/approve",
    summary="Approve a call",
    operation_id="approve_call",
    responses=refusals(401, 404, 408, 409) | WITH_BODY,
)
async def approve(
    approval_id: UUID, store: TheStore, flusher: TheFlusher, approver: TheApprover, body: DecisionIn = _UNSAID
) -> ApprovalOut:
    """Yes, once, to this very call: if anything that decides its effect has changed by then, it does not run."""
    decision = Decision(is_approved=True, by=approver, reason=body.reason)
    await decide_approval(store, flusher, approval_id, decision)
    return await _read(store, approval_id)


@router.post(
    "/{approval_id}/deny",
    summary="Deny a call",
    operation_id="deny_call",
    responses=refusals(401, 404, 408, 409) | WITH_BODY,
)
async def deny(
    approval_id: UUID, store: TheStore, flusher: TheFlusher, approver: TheApprover, body: DecisionIn = _UNSAID
) -> ApprovalOut:
    """No: the call does not run, and the model reads that a person said so, with the reason."""
    decision = Decision(is_approved=False, by=approver, reason=body.reason)
    await decide_approval(store, flusher, approval_id, decision)
    return await _read(store, approval_id)


async def _read(store: Store, approval_id: UUID) -> ApprovalOut:
    async with store.connect() as tx:
        row = await read_approval(tx, approval_id)
    if row is None:
        raise NotFound("approval", approval_id)
    return ApprovalOut.from_row(row)
