"""The emergency stop: no change is started while it is active."""

from http import HTTPStatus

from fastapi import APIRouter, Response

from midwatch.api.approval_bodies import LiftIn, StopIn, StopOut, StoppedOut
from midwatch.api.approver import TheApprover
from midwatch.api.body import StrictJsonRoute
from midwatch.api.description import WITH_BODY, refusals
from midwatch.api.state import TheFlusher, TheStore
from midwatch.intake.stop_changes import StopOrder, allow_changes, stop_changes
from midwatch.store.stops import read_stop

_UNSAID = LiftIn()

router = APIRouter(prefix="/api/v1/system", route_class=StrictJsonRoute, responses=refusals(503))


@router.get(
    "/emergency-stop",
    summary="Show the emergency stop",
    operation_id="show_emergency_stop",
    response_model_exclude_unset=True,
)
async def show_stop(store: TheStore) -> StopOut:
    """Whether changes are stopped, since when, by whom and why."""
    async with store.connect() as tx:
        return StopOut.from_stop(await read_stop(tx))


@router.post(
    "/emergency-stop",
    status_code=HTTPStatus.CREATED,
    summary="Stop every change",
    operation_id="declare_emergency_stop",
    responses=refusals(400, 401, 408)
    | WITH_BODY
    | {200: {"model": StoppedOut, "description": "One was active already; what is on its way is given up on again"}},
)
async def declare_stop(
    body: StopIn, response: Response, store: TheStore, flusher: TheFlusher, approver: TheApprover
) -> StoppedOut:
    """From the answer on no change is started, by any session on any replica; reading goes on.

    Changes that are on their way are given up on: whether they were made is unknown, and their targets stay closed
    until their time is over. It holds until somebody lifts it.
    """
    declared = await stop_changes(store, flusher, StopOrder(by=approver, reason=body.reason))
    if not declared.is_new:
        response.status_code = HTTPStatus.OK
    stop = declared.stop
    return StoppedOut(
        active=True,
        reason=stop.reason,
        declared_by=stop.declared_by,
        declared_at=stop.declared_at,
        cancelled_calls=[call_id for _, call_id in declared.calls],
    )


@router.delete(
    "/emergency-stop",
    summary="Allow changes again",
    operation_id="lift_emergency_stop",
    response_model_exclude_unset=True,
    responses=refusals(400, 401, 408, 409) | WITH_BODY,
)
async def lift_stop(store: TheStore, flusher: TheFlusher, approver: TheApprover, body: LiftIn = _UNSAID) -> StopOut:
    """Lifts the stop. What was refused meanwhile is not made up for."""
    await allow_changes(store, flusher, StopOrder(by=approver, reason=body.reason))
    return StopOut(active=False)
