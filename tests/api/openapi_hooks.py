"""What Schemathesis must know that no schema says: which names exist, and how parts of a request depend on each other.

Loaded by its process, not by ours; only cases that the schema allows are touched.
"""

from collections.abc import Callable
from typing import Any, cast

import schemathesis
from schemathesis import APIOperation, Case, CheckContext, HookContext, Response

AnyCase = Case[APIOperation[Any, Any, Any, Any]]
KNOWN_TYPES = ("deck", "engine")
ALWAYS_STOPPED = "GET /ready"
"""Nobody works on the sessions of this service, so it is never ready."""


@schemathesis.hook  # pyright: ignore[reportUnknownMemberType] -- typed with a bare Callable over there
def map_case(context: HookContext, case: AnyCase) -> AnyCase:
    assert context
    settle = _SETTLED.get(case.operation.label)
    if settle and case.meta and case.meta.generation.mode.is_positive:
        settle(case)
    return case


def _settle_list(case: AnyCase) -> None:
    query = dict(case.query)
    if query.get("page"):
        query["page"] = int(query["page"]) % 10 + 1
    if query.get("search"):
        query["search"] = f"pump {query['search']}"[:200]
    case.query = query


def _settle_type(case: AnyCase) -> None:
    if "alert_type" in case.query:
        case.query = {**case.query, "alert_type": _pick(case.query["alert_type"])}


def _settle_alert(case: AnyCase) -> None:
    if not isinstance(case.body, dict):
        return
    body = dict(cast("dict[str, Any]", case.body))
    if body.get("alert_type"):
        body["alert_type"] = _pick(body["alert_type"])
    if body.get("runbook"):
        body["runbook"] = "https://github.com/" + body["runbook"].removeprefix("https://")[:1000]
    if body.get("mcp") is not None and body.get("mcp_selection") is not None:
        del body["mcp_selection"]
    for name in ("mcp", "mcp_selection"):
        if body.get(name) is not None:
            body[name] = _settle_selection(body[name])
    case.body = _settle_resources(body)


def _settle_question(case: AnyCase) -> None:
    if isinstance(case.body, dict):
        case.body = _settle_resources(cast("dict[str, Any]", case.body))


def _settle_resources(body: dict[str, Any]) -> dict[str, Any]:
    """Not everything between colons can be part of an id, and no schema says so."""
    if not body.get("selected_resources"):
        return body
    drawn = enumerate(body["selected_resources"])
    return {**body, "selected_resources": [f"vm:host-{len(text)}:{index}" for index, text in drawn]}


def _settle_selection(selection: dict[str, Any]) -> dict[str, Any]:
    """There is one server, and something must be selected."""
    servers = [{**server, "name": "deck"} for server in selection.get("servers", ())]
    return {**selection, "servers": servers[:1] or [{"name": "deck"}]}


def _pick(drawn: object) -> str:
    return KNOWN_TYPES[len(str(drawn)) % len(KNOWN_TYPES)]


_SETTLED: dict[str, Callable[[AnyCase], None]] = {
    "GET /api/v1/sessions": _settle_list,
    "GET /api/v1/system/default-tools": _settle_type,
    "POST /api/v1/alerts": _settle_alert,
    "POST /api/v1/sessions/{session_id}/chat/messages": _settle_question,
}


@schemathesis.check
class EveryOperationIsReached:
    """A run that only ever met refusals has looked at nothing."""

    def __init__(self) -> None:
        self._tested: set[str] = set()
        self._reached: set[str] = {ALWAYS_STOPPED}

    def after_response(self, ctx: CheckContext, response: Response, case: AnyCase) -> None:
        assert ctx
        self._tested.add(case.operation.label)
        if response.status_code in (200, 201, 202):
            self._reached.add(case.operation.label)

    def after_run(self, ctx: CheckContext) -> None:
        assert ctx
        assert self._tested <= self._reached, f"never succeeded: {sorted(self._tested - self._reached)}"
        assert len(self._tested) > 1
