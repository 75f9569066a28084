"""Our errors as status codes and sentences, in one shape; inner rooms know none of it."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from midwatch.api.body import KEY_TWICE
from midwatch.api.border import answer_error
from midwatch.domain.errors import (
    Conflict,
    Gone,
    Invalid,
    NotFound,
    Rejected,
    ReplicaStopping,
    StoreUnavailable,
    TooLarge,
    Unauthenticated,
)
from midwatch.kit.json import clean_text

_STATUS: dict[type[Rejected], HTTPStatus] = {
    Invalid: HTTPStatus.BAD_REQUEST,
    Unauthenticated: HTTPStatus.UNAUTHORIZED,
    NotFound: HTTPStatus.NOT_FOUND,
    Conflict: HTTPStatus.CONFLICT,
    Gone: HTTPStatus.GONE,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
}
_CODES = {
    HTTPStatus.BAD_REQUEST: Invalid.code,
    HTTPStatus.NOT_FOUND: NotFound.code,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: TooLarge.code,
}
_MESSAGES = {
    HTTPStatus.BAD_REQUEST: "the body cannot be read as JSON",
    HTTPStatus.NOT_FOUND: "there is nothing under this path",
    HTTPStatus.METHOD_NOT_ALLOWED: "this path does not take this method",
}
_COMPLAINTS = {
    "extra_forbidden": "is not a field of this request",
    "missing": "is missing",
    "string_type": "must be text",
    "string_too_short": "must not be empty",
    "list_type": "must be a list",
    "too_short": "must not be empty",
    "too_long": "may have {max_length} entries",
    "bool_type": "must be true or false",
    "model_attributes_type": "must be an object",
    "uuid_parsing": "must be a UUID",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a whole number of reasonable size",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_long": "may have {max_length} characters",
    "enum": "must be one of the allowed words",
    "value_error": "{error}",
}
_QUOTED = re.compile(r"'([^']*)'")
_LONGEST_NAME = 100

log = structlog.get_logger()


def install_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(Rejected, _rejected)
    app.add_exception_handler(StoreUnavailable, _unavailable)
    app.add_exception_handler(ReplicaStopping, _stopping)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _http)


async def _rejected(_: Request, error: Exception) -> Response:
    assert isinstance(error, Rejected)  # noqa: S101 -- registered for this class
    response = answer_error(
        _STATUS[type(error)], message=error.message, code=error.code, field=error.field, allowed=error.allowed
    )
    if isinstance(error, Unauthenticated):
        response.headers["WWW-Authenticate"] = "Bearer"
    return response


async def _unavailable(_: Request, __: Exception) -> Response:
    return answer_error(
        HTTPStatus.SERVICE_UNAVAILABLE,
        message="the database does not answer; try again in a moment",
        code="store_unavailable",
    )


async def _stopping(_: Request, __: Exception) -> Response:
    return answer_error(
        HTTPStatus.SERVICE_UNAVAILABLE,
        message="this replica is stopping and takes nothing new; try again in a moment",
        code="stopping",
    )


async def _malformed(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 -- registered for this class
    first = error.errors()[0]
    field = _field(first)
    message = f"{field}: {_complain(first)}" if field else _complain_of_body(first)
    return answer_error(
        HTTPStatus.BAD_REQUEST, message=message, code=Invalid.code, field=field, allowed=_allowed(first)
    )


def _complain(problem: Mapping[str, Any]) -> str:
    known = _COMPLAINTS.get(problem["type"])
    return problem["msg"] if known is None else known.format_map(problem.get("ctx", {}))


def _allowed(problem: Mapping[str, Any]) -> list[str]:
    return _QUOTED.findall(problem["ctx"]["expected"]) if problem["type"] == "enum" else []


def _field(problem: Mapping[str, Any]) -> str | None:
    """Of a body that is no JSON the place is an offset, not a field."""
    place = () if problem["type"] == "json_invalid" else problem["loc"][1:]
    return clean_text(".".join(map(str, place)))[:_LONGEST_NAME] or None


def _complain_of_body(problem: Mapping[str, Any]) -> str:
    match problem:
        case {"type": "json_invalid", "ctx": {"error": reason}} if reason == KEY_TWICE:
            return KEY_TWICE
        case {"type": "json_invalid" | "string_unicode"}:
            return _MESSAGES[HTTPStatus.BAD_REQUEST]
        case {"type": "missing"}:
            return "the body is missing: send a JSON object"
        case _:
            return "the body must be a JSON object"


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 -- registered for this class
    status = HTTPStatus(error.status_code)
    code = _CODES.get(status) or status.phrase.lower().replace(" ", "_")
    response = answer_error(status, message=_MESSAGES.get(status, error.detail), code=code)
    response.headers.update(error.headers or {})
    if status is HTTPStatus.METHOD_NOT_ALLOWED and (taken := _list_methods(request)):
        response.headers["Allow"] = ", ".join(taken)
    return response


def _list_methods(request: Request) -> list[str]:
    """All that a path takes: the router names only those of the first route that it finds."""
    described: dict[str, Any] = request.app.openapi()["paths"].get(request.url.path, {})
    return [method.upper() for method in described]


class LastResort:
    """ASGI middleware that answers for our bugs, so that they are logged once and told to nobody."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answered = False

        async def watch(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        try:
            await self._app(scope, receive, watch)
        except Exception:
            # A boundary: one request that fails must not look like anything but a failed request.
            if answered:
                raise
            log.exception("request_crashed", method=scope["method"], path=scope["path"])
            message = "something is wrong with Midwatch itself; its log says more"
            await answer_error(HTTPStatus.INTERNAL_SERVER_ERROR, message=message, code="internal")(scope, receive, send)
