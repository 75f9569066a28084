"""Our errors as status codes, in one table; inner rooms know none."""

from http import HTTPStatus

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from midwatch.api.border import BODY_LIMIT, BodyTooLarge, answer_error
from midwatch.domain.errors import Conflict, Invalid, NotFound, Rejected, StoreUnavailable, TooLarge

_STATUS: dict[type[Rejected], HTTPStatus] = {
    Invalid: HTTPStatus.BAD_REQUEST,
    NotFound: HTTPStatus.NOT_FOUND,
    Conflict: HTTPStatus.CONFLICT,
    TooLarge: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
}

log = structlog.get_logger()


def install_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(Rejected, _rejected)
    app.add_exception_handler(StoreUnavailable, _unavailable)
    app.add_exception_handler(RequestValidationError, _malformed)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(BodyTooLarge, _too_large)
    app.add_exception_handler(Exception, _bug)


async def _rejected(_: Request, error: Exception) -> Response:
    assert isinstance(error, Rejected)  # noqa: S101 -- registered for this class
    return answer_error(
        _STATUS[type(error)], message=error.message, code=error.code, field=error.field, allowed=error.allowed
    )


async def _unavailable(_: Request, __: Exception) -> Response:
    return answer_error(
        HTTPStatus.SERVICE_UNAVAILABLE,
        message="the database does not answer; nothing was changed, try again in a moment",
        code="store_unavailable",
    )


async def _malformed(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 -- registered for this class
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
    what = "is not a field of this request" if first["type"] == "extra_forbidden" else str(first["msg"])
    message = f"{where}: {what}" if where else f"the body is not what is expected: {what}"
    return answer_error(HTTPStatus.BAD_REQUEST, message=message, code="invalid", field=where or None)


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 -- registered for this class
    response = answer_error(error.status_code, message=error.detail, code=_code(error.status_code))
    response.headers.update(error.headers or {})
    return response


async def _too_large(_: Request, __: Exception) -> Response:
    message = f"a body may have {BODY_LIMIT} bytes"
    return answer_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message=message, code="too_large")


async def _bug(request: Request, error: Exception) -> Response:
    log.error("request_crashed", path=request.url.path, exc_info=error)
    return answer_error(HTTPStatus.INTERNAL_SERVER_ERROR, message="an error of ours; it was logged", code="internal")


def _code(status: int) -> str:
    return HTTPStatus(status).phrase.lower().replace(" ", "_").replace("-", "_")
