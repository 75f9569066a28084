"""Counts requests and times their answers, from the outside: also what the border turns away."""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from midwatch.kit.clock import boottime
from midwatch.telemetry.labels import OTHER
from midwatch.telemetry.metrics import Meters
from midwatch.telemetry.series import REQUEST_SECONDS, REQUESTS

_BROKEN = 500


class Counted:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, *, meters: Meters) -> None:
        self._app = app
        self._meters = meters

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = boottime(), _BROKEN

        async def send_seen(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_seen)
        finally:
            place = (scope["method"], _name_path(scope))
            self._meters.count(REQUESTS, (*place, f"{status // 100}xx"))
            self._meters.observe(REQUEST_SECONDS, place, seconds=boottime() - began)


def _name_path(scope: Scope) -> str:
    """The route's own pattern: a path as it was asked for may be anything."""
    path: object = getattr(scope.get("route"), "path", None)
    return path if isinstance(path, str) else OTHER
