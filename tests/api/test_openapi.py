"""What the API says of itself is all there, and true: no answer that is not described, whatever is sent."""

import asyncio
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from midwatch.api.app import create_app
from midwatch.domain.session import SessionStatus
from midwatch.kit import json
from tests.api.edge import CONCLUSION, Edge, call, open_edge, running, write_config
from tests.api.shelf import SESSIONS, Shelved, keep_sent, shelve, wait_for_end
from tests.stored import add_execution, add_question, add_running, request_call

ROOT = Path(__file__).parents[2]
SETTINGS = """\
hooks = "tests.api.openapi_hooks"
request-timeout = 20
headers = { Authorization = "Bearer APPROVER" }
warnings.fail-on = true

[generation]
deterministic = true
max-examples = 25

[phases.coverage]
generate-duplicate-query-parameters = true

# Most ids are of something that exists, so that more than refusals is looked at.
[parameters]
"path.session_id" = { dictionary = "sessions", probability = 0.7 }

[[operations]]
include-path = "/api/v1/sessions/{session_id}/trace/llm/{interaction_id}"
[operations.parameters]
"path.session_id" = { dictionary = "ended", probability = 0.7 }
"path.interaction_id" = { dictionary = "llm", probability = 0.7 }

[[operations]]
include-path = "/api/v1/sessions/{session_id}/trace/llm/{interaction_id}/outbound"
[operations.parameters]
"path.session_id" = { dictionary = "ended", probability = 0.7 }
"path.interaction_id" = { dictionary = "llm", probability = 0.7 }

[[operations]]
include-path = "/api/v1/sessions/{session_id}/outbound/{request_id}"
[operations.parameters]
"path.session_id" = { dictionary = "ended", probability = 0.7 }
"path.request_id" = { dictionary = "outbound", probability = 0.7 }

[[operations]]
include-path = "/api/v1/sessions/{session_id}/trace/mcp/{interaction_id}"
[operations.parameters]
"path.session_id" = { dictionary = "ended", probability = 0.7 }
"path.interaction_id" = { dictionary = "mcp", probability = 0.7 }

[[operations]]
include-path = "/api/v1/sessions/{session_id}/calls/{call_id}/cancel"
[operations.parameters]
"path.session_id" = { dictionary = "calling", probability = 0.7 }
"path.call_id" = { dictionary = "calls", probability = 0.7 }

[[operations]]
include-path = "/api/v1/sessions/{session_id}/executions/{execution_id}/cancel"
[operations.parameters]
"path.session_id" = { dictionary = "calling", probability = 0.7 }
"path.execution_id" = { dictionary = "executions", probability = 0.7 }

[[operations]]
include-path = "/api/v1/approvals/{approval_id}"
[operations.parameters]
"path.approval_id" = { dictionary = "approvals", probability = 0.7 }

[[operations]]
include-path = "/api/v1/approvals/{approval_id}/approve"
[operations.parameters]
"path.approval_id" = { dictionary = "approvals", probability = 0.7 }

[[operations]]
include-path = "/api/v1/approvals/{approval_id}/deny"
[operations.parameters]
"path.approval_id" = { dictionary = "approvals", probability = 0.7 }

[[operations]]
include-path = "/api/v1/sessions/{session_id}/chat/messages"
# What a session is decides whether it can be asked about: the wire says so with a 400.
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 404, 409]
[operations.parameters]
"path.session_id" = { dictionary = "askable", probability = 0.7 }

# Nobody works here, so this one is right to answer 503.
[[operations]]
include-path = "/ready"
checks.not_a_server_error.expected-statuses = ["2xx", "4xx", 503]

[dictionaries]
"""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY")
NOT_DESCRIBED = {"/api/docs", "/openapi.json", "/api/v1/ws"}
"""The description itself, in two forms, and what OpenAPI has no words for. Pages for people lie outside `/api/`."""
FOREIGN = ("/outbound/{request_id}", "/{interaction_id}/outbound")
"""What was sent to a provider, in the shape that the provider wants."""
Operation = dict[str, Any]


async def test_schemathesis_finds_no_answer_that_is_not_described(dsn: str, tmp_path: Path) -> None:
    write_config(tmp_path, turns=[call("echo", text="all is dry"), CONCLUSION])
    async with open_edge(tmp_path, dsn) as edge:
        ids = await _fill(edge)
    # Another one: the first has worked, and takes no questions since it stopped.
    async with open_edge(tmp_path, dsn) as edge:
        config = tmp_path / "schemathesis.toml"
        secret = edge.service.approver.token or ""
        config.write_text(_write_settings(ids).replace("APPROVER", secret), encoding="utf-8")
        status, said = await _run_schemathesis(edge.port, config)
        assert status == 0, said
        count = len(list(_operations(create_app(edge.service.state))))
    assert f"Selected: {count}/{count}" in said
    assert f"Tested: {count}" in said


async def _fill(edge: Edge) -> dict[str, list[str]]:
    """Ids by what they name: a session that was worked on and its interactions, and one of each status."""
    async with running(edge):
        ended = await edge.submit()
        assert (await wait_for_end(edge, ended))["status"] == "completed"
    stage, *_ = (await edge.http.get(f"{SESSIONS}/{ended}/trace")).json()["stages"]
    (execution,) = stage["executions"]
    sent = [
        await keep_sent(edge.store, ended, item["id"], execution_id=execution["execution_id"])
        for item in execution["llm_interactions"]
    ]
    fence = await add_running(edge.store)
    execution_at_work = await add_execution(edge.store, fence)
    open_call = await request_call(edge.store, fence, execution_at_work)
    others = [await shelve(edge.store, Shelved(status=status)) for status in SessionStatus]
    askable = [await shelve(edge.store, Shelved()) for _ in range(8)]
    return {
        "ended": [ended],
        "sessions": [ended, *others],
        "llm": [item["id"] for item in execution["llm_interactions"]],
        "mcp": [item["id"] for item in execution["mcp_interactions"]],
        "outbound": sent,
        "calling": [str(fence.session_id)],
        "calls": [str(open_call.call_id)],
        "executions": [str(execution_at_work.execution_id)],
        "askable": askable,
        "approvals": [await _ask(edge) for _ in range(40)],
    }


async def _ask(edge: Edge) -> str:
    fence = await add_running(edge.store)
    return str(await add_question(edge.store, fence, await add_execution(edge.store, fence)))


def _write_settings(ids: dict[str, list[str]]) -> str:
    return SETTINGS + "\n".join(f"{name} = {{ values = {json.encode_text(values)} }}" for name, values in ids.items())


async def _run_schemathesis(port: int, config: Path) -> tuple[int | None, str]:
    """In a process of its own: it drives Hypothesis, keeps state in its folder, and must not share our event loop."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(config)),
        *("run", "--no-color", "--continue-on-failure", f"http://127.0.0.1:{port}/openapi.json"),
        cwd=config.parent,
        env={**os.environ, "PYTHONPATH": str(ROOT), "NO_PROXY": "127.0.0.1"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        async with asyncio.timeout(300):
            said, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return process.returncode, said.decode()


@pytest.fixture
def app(edge: Edge) -> FastAPI:
    return create_app(edge.service.state)


def _operations(app: FastAPI) -> Iterator[tuple[str, str, Operation]]:
    for path, methods in app.openapi()["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


async def test_every_route_is_described(app: FastAPI) -> None:
    described = {(method, path) for method, path, _ in _operations(app)}
    routes = {
        (method, route.path or "") for route in iter_route_contexts(app.routes) for method in route.methods or ("any",)
    }
    assert described <= routes
    assert {path for _, path in described} >= {"/health", "/ready"}
    hidden = {path for _, path in routes - described} - NOT_DESCRIBED
    assert not [path for path in hidden if path.startswith("/api/")]


async def test_every_operation_is_described_for_people_and_named_for_programs(app: FastAPI) -> None:
    names = [operation["operationId"] for _, _, operation in _operations(app)]
    assert len(set(names)) == len(names)
    assert {"list_sessions", "show_session", "submit_alert", "cancel_session"} <= set(names)
    for _, _, operation in _operations(app):
        assert re.fullmatch(r"[a-z]+(_[a-z]+)+", operation["operationId"])
        assert re.fullmatch(r"[A-Z][^.]{5,60}", operation["summary"])
        assert len(operation["description"]) > 40
        assert operation["description"][-1] in ".`"
        assert operation["summary"] != operation["description"]


async def test_every_operation_describes_how_it_fails(app: FastAPI) -> None:
    for method, path, operation in _operations(app):
        answers = operation["responses"]
        wanted = {"403", "421", "500"}
        wanted |= {"400"} if operation.get("parameters") or "requestBody" in operation else set[str]()
        wanted |= {"404"} if "{" in path else set[str]()
        wanted |= {"413", "415"} if method != "GET" else set[str]()
        wanted |= {"408"} if "requestBody" in operation else set[str]()
        assert wanted <= answers.keys(), (method, path)
        assert not {"422", "default"} & answers.keys()
        wanted |= {"401"} if "security" in operation else set[str]()
        assert wanted <= answers.keys(), (method, path)
        for status in answers.keys() - {"200", "201", "202", "503"}:
            assert _schema(answers[status]) == {"$ref": "#/components/schemas/ErrorOut"}


async def test_every_body_has_a_shape(app: FastAPI) -> None:
    for _, path, operation in _operations(app):
        (status,) = {"200", "202"} & operation["responses"].keys()
        shape = _schema(operation["responses"][status])
        shape = shape["items"] if shape.get("type") == "array" else shape
        is_foreign = path.endswith(FOREIGN)
        assert "$ref" in shape or shape == {"type": "object" if is_foreign else "string"}, path
        if "requestBody" in operation:
            name = _schema(operation["requestBody"])["$ref"].rpartition("/")[2]
            assert app.openapi()["components"]["schemas"][name]["additionalProperties"] is False


def _schema(content: dict[str, Any]) -> dict[str, Any]:
    shapes = content["content"]
    return (shapes.get("application/json") or shapes["text/plain"])["schema"]


async def test_parameters_say_what_they_may_be(app: FastAPI) -> None:
    described = {
        (path, parameter["name"]): parameter
        for _, path, operation in _operations(app)
        for parameter in operation.get("parameters", ())
    }
    for (_, name), parameter in described.items():
        assert "anyOf" not in parameter["schema"]
        if name.endswith("_id") and parameter["in"] == "path":
            assert parameter["schema"]["format"] == "uuid"
        assert parameter.get("allowEmptyValue") is (True if parameter["in"] == "query" else None)
    assert described[SESSIONS, "start_date"]["schema"]["format"] == "date-time"
    status = described[SESSIONS, "status"]
    assert status["schema"]["items"]["enum"] == list(SessionStatus)
    assert (status["style"], status["explode"]) == ("form", False)
    page_size = described[SESSIONS, "page_size"]["schema"]
    assert (page_size["minimum"], page_size["maximum"]) == (1, 100)


async def test_a_method_that_a_path_does_not_take_is_answered_with_those_it_takes(edge: Edge, app: FastAPI) -> None:
    session_id = await edge.submit()
    for path, taken in app.openapi()["paths"].items():
        place = re.sub(r"\{\w+\}", session_id, path)
        for method in set(METHODS) - {name.upper() for name in taken}:
            answer = await edge.http.request(method, place)
            assert (answer.status_code, method, place) == (405, method, place)
            assert answer.headers["allow"].lower() == ", ".join(taken)
            expected = {"message": "this path does not take this method", "code": "method_not_allowed"}
            assert method == "HEAD" or answer.json() == expected
            assert method != "HEAD" or answer.content == b""


async def test_the_page_for_people_shows_what_programs_read(edge: Edge, app: FastAPI) -> None:
    page = (await edge.http.get("/api/docs")).text
    assert "/api/v1/ws" in page
    for method, path, operation in _operations(app):
        begin = page.index(f"<code>{method} {path}</code>")
        section = page[begin : page.find("<h2>", begin)]
        assert operation["summary"] in section
        assert all(f"<code>{parameter['name']}</code>" in section for parameter in operation.get("parameters", ()))
        assert all(f"<code>{status}</code>" in section for status in operation["responses"])
    assert page.count("<h2>") == len(list(_operations(app)))
