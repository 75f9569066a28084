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

from midwatch.api.origins import Origins, RawHeaders, answer_preflight

BODY_LIMIT = 2 * 1024 * 1024
BODY_SECONDS = 30.0
"""In which a request must have delivered its body."""
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_AUTHORITY = re.compile(r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[0-9a-z._-]+))(?::[0-9]{1,5})?")
_PAGES = re.compile(r"/|/sessions/[^/]+|/api/docs")
_TOO_LARGE = f"a body may have {BODY_LIMIT} bytes"
_SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)
_NO_ORIGINS = Origins()


@dataclass(frozen=True, slots=True)
class _Rejection:
    status: HTTPStatus
    code: str
    message: str


class Border:
    """ASGI middleware. `hosts` are the names beyond loopback under which this service may be addressed."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Collection[str] = (),
        origins: Origins = _NO_ORIGINS,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self._app = app
        self._origins = origins
        self._body_seconds = body_seconds
        self._names = {_name_in(host.lower()) or host.lower() for host in hosts} - LOOPBACK
        self._hosts = LOOPBACK | self._names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if scope["type"] == "http":
            send = _with_headers(send, (*_SECURITY_HEADERS, *self._origins.permit(_origin_in(headers))))
        rejection = self._examine(scope, headers)
        if rejection is None:
            await self._pass(scope, headers)(scope, self._meter(scope, receive), send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": rejection.message})
        else:
            await answer_error(rejection.status, code=rejection.code, message=rejection.message)(scope, receive, send)

    def _pass(self, scope: Scope, headers: Headers) -> ASGIApp:
        preflight = scope["type"] == "http" and scope["method"] == "OPTIONS" and self._is_dashboard(headers)
        return (answer_preflight(headers) if preflight else None) or self._app

    def _is_dashboard(self, headers: Headers) -> bool:
        return (origin := _origin_in(headers)) is not None and self._origins.may_ask(origin)

    def _meter(self, scope: Scope, receive: Receive) -> Receive:
        return _Metered(receive, self._body_seconds) if scope["type"] == "http" else receive

    def _examine(self, scope: Scope, headers: Headers) -> _Rejection | None:
        host = headers.get("host", "").lower()
        if _name_in(host) not in self._hosts:
            message = "this service does not answer to the name in Host; --allow-host adds a name"
            return _Rejection(HTTPStatus.MISDIRECTED_REQUEST, "unknown_host", message)
        if not self._may_ask(headers, host, listens=scope["type"] == "websocket") and not _is_visit(scope, headers):
            message = "a page of another origin may not use this service"
            return _Rejection(HTTPStatus.FORBIDDEN, "foreign_origin", message)
        if scope["type"] == "http" and scope["method"] not in _READING:
            return _examine_body(headers)
        return None

    def _may_ask(self, headers: Headers, host: str, *, listens: bool) -> bool:
        """On loopback every port is another program: only pages of our own may ask. Names were given to us by hand."""
        origin = _origin_in(headers)
        if origin is not None and (self._origins.may_listen if listens else self._origins.may_ask)(origin):
            return True
        if headers.get("sec-fetch-site") == "cross-site":
            return False
        if origin is None:
            return True
        authority = origin.partition("://")[2]
        return authority == host or _name_in(authority) in self._names


def _is_visit(scope: Scope, headers: Headers) -> bool:
    """Somebody follows a link to a page of ours. The page that holds the link sees nothing of what is shown."""
    return (
        scope["type"] == "http"
        and scope["method"] == "GET"
        and "origin" not in headers
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
        and _PAGES.fullmatch(scope["path"]) is not None
    )


def _origin_in(headers: Headers) -> str | None:
    origin = headers.get("origin")
    return None if origin is None else origin.lower()


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


def _with_headers(send: Send, headers: RawHeaders) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *headers]
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
