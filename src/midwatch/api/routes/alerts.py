"""Alerts come in here."""

from http import HTTPStatus

from fastapi import APIRouter, Request

from midwatch.api.schemas import AlertAccepted, AlertIn
from midwatch.api.state import TheIntake
from midwatch.intake.submit_alert import Alert

router = APIRouter(prefix="/api/v1")

_AUTHOR_HEADERS = ("x-forwarded-user", "x-forwarded-email", "x-remote-user")


@router.post("/alerts", status_code=HTTPStatus.ACCEPTED)
async def submit_alert(alert: AlertIn, request: Request, intake: TheIntake) -> AlertAccepted:
    session_id = await intake.submit(Alert(data=alert.data, alert_type=alert.alert_type, author=_author(request)))
    return AlertAccepted(session_id=session_id)


def _author(request: Request) -> str:
    given = (_read(request, name) for name in _AUTHOR_HEADERS)
    return next((name for name in given if name), "api-client")


def _read(request: Request, name: str) -> str:
    """Proxies write names in UTF-8, though headers are read as Latin-1."""
    return request.headers.get(name, "").encode("latin-1").decode("utf-8", "replace").strip()
