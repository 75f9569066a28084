"""Pages that come from elsewhere and may still ask: the operator's dashboard, and those that may only listen."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from http import HTTPStatus
from typing import Self
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response

from midwatch.config.system import System

_DEFAULT_PORTS = {"http": 80, "https": 443}
_SECONDS = 3600
_PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key",
    "Access-Control-Max-Age": str(_SECONDS),
}

RawHeaders = Sequence[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Origins:
    dashboard: str | None = None
    """May ask everything."""
    listening: tuple[str, ...] = ()
    """May open a WebSocket: an authority or a whole origin, either with `*` in it."""

    @classmethod
    def from_system(cls, system: System) -> Self:
        """A dashboard that nobody named is our own page, which needs no permission."""
        named = "dashboard_url" in system.model_fields_set
        return cls(
            dashboard=_origin_of(system.dashboard_url) if named else None,
            listening=tuple(pattern.lower() for pattern in system.allowed_ws_origins),
        )

    def may_ask(self, origin: str) -> bool:
        return origin == self.dashboard

    def may_listen(self, origin: str) -> bool:
        authority = origin.partition("://")[2]
        return self.may_ask(origin) or any(
            fnmatchcase(origin if "://" in pattern else authority, pattern) for pattern in self.listening
        )

    def permit(self, origin: str | None) -> RawHeaders:
        """Headers by which a browser lets the page read the answer."""
        if self.dashboard is None:
            return ()
        vary = (b"vary", b"Origin")
        if origin is None or not self.may_ask(origin):
            return (vary,)
        return (
            vary,
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-allow-credentials", b"true"),
        )


def answer_preflight(headers: Headers) -> Response | None:
    """A browser asks first whether the page may; nothing is done yet."""
    if "access-control-request-method" not in headers:
        return None
    return Response(status_code=HTTPStatus.NO_CONTENT, headers=_PREFLIGHT)


def _origin_of(url: str) -> str:
    """As browsers write it: in small letters, and without the port that the scheme implies."""
    parts = urlsplit(url.lower())
    name = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname
    port = "" if parts.port in (None, _DEFAULT_PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{name}{port}"
