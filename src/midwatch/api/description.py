"""How the API describes itself: every answer an operation can give, and none that it cannot."""

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from midwatch.api.schemas import ErrorOut

ABOUT = """\
Send an alert, watch its investigation, read what was found.

Whatever is not done is answered with `message`, a sentence for people, and `code`, a stable word for programs; `field`
and `allowed` are there when one part of the request is to blame. A method that a path does not take is answered with
405, and `Allow` names those it takes. A parameter of a query that is sent empty counts as not sent.

What happens is also sent over a WebSocket at `/api/v1/ws`: subscribe to `sessions`, to `approvals`, or to
`session:<id>`.

Deciding about a call, stopping every change, and selecting resources takes the approver's secret, on this machine as
well as from elsewhere: the content of `approver.token` in `MIDWATCH_HOME`, sent as `Authorization: Bearer <token>`.
"""

_MEANINGS = {
    HTTPStatus.BAD_REQUEST: "The request cannot be understood; `field` names what to change",
    HTTPStatus.UNAUTHORIZED: "It takes the approver's secret, sent as `Authorization: Bearer <token>`",
    HTTPStatus.FORBIDDEN: "A page of another origin asked, through a browser",
    HTTPStatus.NOT_FOUND: "There is nothing under this id",
    HTTPStatus.REQUEST_TIMEOUT: "The body did not arrive in time; the connection is closed",
    HTTPStatus.CONFLICT: "What is there does not allow it; `message` says why",
    HTTPStatus.GONE: "It was there and is no longer kept",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "The request is too large",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "The body was not sent as application/json",
    HTTPStatus.MISDIRECTED_REQUEST: "The name in Host is not one of this service",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Something is wrong with Midwatch itself; its log says more",
    HTTPStatus.SERVICE_UNAVAILABLE: "The database does not answer; try again in a moment",
}

Answers = dict[int | str, dict[str, Any]]


def refusals(*statuses: int) -> Answers:
    """For `responses` of a route, a router or the app."""
    return {status: {"model": ErrorOut, "description": _MEANINGS[HTTPStatus(status)]} for status in statuses}


ANYWHERE = refusals(403, 421, 500)
WITH_BODY = refusals(413, 415)
"""Of what is refused before anybody has read the body."""


def name_operation(route: APIRoute) -> str:
    return route.name


class DescribedApp(FastAPI):
    """FastAPI, put right in what it says of us: it promises 422 where we answer 400, and a null that no query has."""

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            _correct(super().openapi())
        return super().openapi()


def _correct(schema: dict[str, Any]) -> None:
    for methods in schema["paths"].values():
        for operation in methods.values():
            operation["responses"].pop("422", None)
            operation["responses"] = dict(sorted(operation["responses"].items()))
            for parameter in operation.get("parameters", ()):
                if parameter["in"] == "query":
                    parameter.update(_describe_manner(parameter["schema"]))
    for name in ("HTTPValidationError", "ValidationError"):
        schema["components"]["schemas"].pop(name, None)


def _describe_manner(schema: dict[str, Any]) -> dict[str, Any]:
    """A query has no null; what is empty counts as not sent, and a list is written with commas."""
    for choice in schema.pop("anyOf", ()):
        schema |= choice if choice != {"type": "null"} else {}
    commas = {"style": "form", "explode": False} if schema.get("type") == "array" else {}
    return {"schema": schema, "allowEmptyValue": True} | commas
