"""The first thing a request meets: is it meant for us, may its page ask, and is it of a size and kind we take?

A browser sends requests to loopback on behalf of any page it shows. Names in Host and Origin that we do not know are
turned away, so that neither a foreign page nor a rebound name can post an alert or cancel a session.
"""

import asyncio
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_LIMIT = 2 * 1024 * 1024
BODY_SECONDS = 30.0
"""In which a request must have delivered its body."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_AUTHORITY = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[0-9a-z._-]+))(?::[0-9]{1,5})?")
_TOO_LARGE = f"a body may have {BODY_LIMIT} bytes"
_SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)


@dataclass(frozen=True, slots=True)
class _Rejection:
    status: HTTPStatus
    code: str
    message: str


class Border:
    """ASGI middleware. `hosts` are the names beyond loopback under which this service may be addressed."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str] = (), body_seconds: float = BODY_SECONDS) -> None:
        self._app = app
        self._body_seconds = body_seconds
        self._names = {_name_in(host.lower()) or host.lower() for host in hosts} - LOOPBACK
        self._hosts = LOOPBACK | self._names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] == "http":
            send = _with_security_headers(send)
        rejection = self._examine(scope, Headers(scope=scope))
        if rejection is None:
            await self._app(scope, self._meter(scope, receive), send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": rejection.message})
        else:
            await answer_error(rejection.status, code=rejection.code, message=rejection.message)(scope, receive, send)

    def _meter(self, scope: Scope, receive: Receive) -> Receive:
        return _Metered(receive, self._body_seconds) if scope["type"] == "http" else receive

    def _examine(self, scope: Scope, headers: Headers) -> _Rejection | None:
        host = headers.get("host", "").lower()
        if _name_in(host) not in self._hosts:
            message = "this service does not answer to the name in Host; --allow-host adds a name"
            return _Rejection(HTTPStatus.MISDIRECTED_REQUEST, "unknown_host", message)
        if not self._may_ask(headers, host):
            message = "a page of another origin may not use this service"
            return _Rejection(HTTPStatus.FORBIDDEN, "foreign_origin", message)
        if scope["type"] == "http" and scope["method"] not in _READING:
            return _examine_body(headers)
        return None

    def _may_ask(self, headers: Headers, host: str) -> bool:
        """On loopback every port is another program: only pages of our own may ask. Names were given to us by hand."""
        if headers.get("sec-fetch-site") == "cross-site":
            return False
        origin = headers.get("origin")
        if origin is None:
            return True
        authority = origin.lower().partition("://")[2]
        return authority == host or _name_in(authority) in self._names


def _name_in(authority: str) -> str | None:
    found = _AUTHORITY.fullmatch(authority)
    return found and (found["address"] or found["name"])


def _examine_body(headers: Headers) -> _Rejection | None:
    length = headers.get("content-length", "0")
    if not re.fullmatch(r"[0-9]{1,20}", length):
        return _Rejection(HTTPStatus.BAD_REQUEST, "invalid", "Content-Length must be a number")
    if int(length) > BODY_LIMIT:
        return _Rejection(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too_large", _TOO_LARGE)
    has_body = int(length) > 0 or "transfer-encoding" in headers
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if has_body and media_type != "application/json":
        message = "send the body as application/json"
        return _Rejection(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message)
    return None


def _with_security_headers(send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *_SECURITY_HEADERS]
        await send(message)

    return send_with_headers


class BodyTooLarge(HTTPException):
    """A body without a truthful length went over the limit. FastAPI lets only its own kind of error out of a body."""

    def __init__(self) -> None:
        super().__init__(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _TOO_LARGE)


class BodyTooSlow(HTTPException):
    """The rest of the body is not waited for, so the connection cannot carry another request."""

    def __init__(self) -> None:
        message = "the body did not arrive in time"
        super().__init__(HTTPStatus.REQUEST_TIMEOUT, message, headers={"Connection": "close"})


class _Metered:
    def __init__(self, receive: Receive, seconds: float) -> None:
        self._receive = receive
        self._seen = 0
        self._deadline: float | None = asyncio.get_running_loop().time() + seconds
        """None once the body is whole: what comes then is a client that leaves, at any time."""

    async def __call__(self) -> Message:
        try:
            async with asyncio.timeout_at(self._deadline):
                message = await self._receive()
        except TimeoutError:
            raise BodyTooSlow from None
        if not message.get("more_body", False):
            self._deadline = None
        self._seen += len(message.get("body", b""))
        if self._seen > BODY_LIMIT:
            raise BodyTooLarge
        return message


def answer_error(
    status: HTTPStatus | int,
    *,
    message: str,
    code: str | None = None,
    field: str | None = None,
    allowed: Iterable[str] = (),
) -> JSONResponse:
    body = {"message": message, "code": code, "field": field, "allowed": list(allowed)}
    return JSONResponse({key: value for key, value in body.items() if value}, status_code=int(status))
