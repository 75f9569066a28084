"""Alerts come in here."""

from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, Request

from midwatch.api.alert_bodies import AlertAccepted, AlertIn
from midwatch.api.author import read_author
from midwatch.api.body import StrictJsonRoute
from midwatch.api.description import WITH_BODY, refusals
from midwatch.api.selected_resources import admit_selected
from midwatch.domain.errors import Invalid
from midwatch.intake.submit_alert import Alert, Intake

_KEY_HEADER = "Idempotency-Key"
_KEY_PARAMETER: dict[str, Any] = {
    "name": _KEY_HEADER,
    "in": "header",
    "required": False,
    # Spaces around the value of a header are not part of it.
    "schema": {"type": "string", "maxLength": 255, "pattern": "^[!-~]([ -~]*[!-~])?$"},
    "description": "Sent again with the same request, it leads to the same session; printable ASCII characters",
}

router = APIRouter(prefix="/api/v1", route_class=StrictJsonRoute)


# The way in is the one that must keep up with a storm of alerts: what is needed is taken from the request by hand.
@router.post(
    "/alerts",
    status_code=HTTPStatus.ACCEPTED,
    summary="Submit an alert",
    responses=refusals(400, 401, 408, 409, 503) | WITH_BODY,
    openapi_extra={"parameters": [_KEY_PARAMETER]},
)
async def submit_alert(alert: AlertIn, request: Request) -> AlertAccepted:
    """Stores the alert and answers at once; agents investigate it as soon as one is free. Follow the session by its id.

    A 503 leaves open whether it was stored: send it again with the same Idempotency-Key. What comes selected is meant:
    no call goes to its host instead. Selecting takes the approver's secret as `Authorization: Bearer`.
    """
    intake: Intake = request.state.intake
    acceptance = await intake.accept(
        Alert(
            data=alert.data,
            alert_type=alert.alert_type,
            author=read_author(request),
            runbook=alert.runbook,
            selection=alert.read_selection(),
            selection_field=alert.selection_field,
            selected_resources=admit_selected(alert.selected_resources, request),
            slack_message_fingerprint=alert.slack_message_fingerprint,
            idempotency_key=_read_key(request),
        )
    )
    message = "Alert was accepted before" if acceptance.is_repeat else "Alert accepted"
    return AlertAccepted(
        session_id=acceptance.session_id,
        message=message,
        queue_position=None if acceptance.ahead is None else acceptance.ahead + 1,
        warning=acceptance.warning,
    )


def _read_key(request: Request) -> str | None:
    keys = request.headers.getlist(_KEY_HEADER)
    if len(keys) > 1:
        raise Invalid("Idempotency-Key may be sent once", field=_KEY_HEADER)
    return keys[0] if keys else None
