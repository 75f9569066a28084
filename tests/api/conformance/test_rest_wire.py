"""The REST wire, row by row: what a client that knows it reads in every answer, with field names, kinds and nulls."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from midwatch.kit import json
from midwatch.store.embedded import EmbeddedPostgres
from tests.api.conformance import rest_shapes as shape
from tests.api.conformance.rest_shapes import STATUSES
from tests.api.conformance.shapes import FLAG, ID, TEXT, WORD, Kind, check, having, one_of, some
from tests.api.edge import CONCLUSION, Edge, call, open_edge, running, write_config
from tests.api.shelf import SESSIONS, wait_for_end
from tests.databases import copy_template, drop_database
from tests.waiting import eventually

ROWS: dict[str, Kind] = {
    "/health": shape.HEALTH,
    "/api/v1/alert-types": shape.ALERT_TYPES,
    "/api/v1/runbooks": some(WORD),
    SESSIONS: shape.LISTING,
    f"{SESSIONS}/filter-options": shape.OPTIONS,
    f"{SESSIONS}/{{session}}": shape.SESSION,
    f"{SESSIONS}/{{session}}/summary": shape.SUMMARY,
    f"{SESSIONS}/{{session}}/timeline": some(shape.ENTRY, least=5),
    f"{SESSIONS}/{{session}}/trace": shape.TRACE,
    f"{SESSIONS}/{{session}}/trace/llm/{{llm}}": shape.LLM,
    f"{SESSIONS}/{{session}}/trace/mcp/{{mcp}}": shape.MCP,
    "/api/v1/system/warnings": having(warnings=some(shape.WARNING, least=1)),
    "/api/v1/system/mcp-servers": having(servers=some(shape.SERVER, least=2)),
    "/api/v1/system/default-tools": shape.DEFAULT_TOOLS,
    "/api/v1/system/default-tools?alert_type=engine": shape.DEFAULT_TOOLS,
}


class Ended:
    """One investigation that is over, and where its parts are found."""

    def __init__(self, edge: Edge, ids: dict[str, str]) -> None:
        self.edge = edge
        self.ids = ids

    async def read(self, row: str) -> Any:
        answer = await self.edge.http.get(row.format_map(self.ids))
        assert answer.status_code == 200, answer.text
        assert answer.headers["content-type"] == "application/json"
        return answer.json()


@pytest.fixture(scope="module")
async def ended(
    postgres: EmbeddedPostgres, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Ended]:
    folder = tmp_path_factory.mktemp("ended")
    write_config(folder, turns=[call("echo", text="all is dry"), CONCLUSION])
    add_lost_server(folder)
    dsn = await copy_template(postgres.read_dsn(), template)
    try:
        async with open_edge(folder, dsn) as edge, running(edge):
            session_id = await edge.submit()
            await wait_for_end(edge, session_id)
            trace = (await edge.http.get(f"{SESSIONS}/{session_id}/trace")).json()
            (execution,) = trace["stages"][0]["executions"]
            llm, mcp = (execution[kind][-1]["id"] for kind in ("llm_interactions", "mcp_interactions"))
            yield Ended(edge, {"session": session_id, "llm": llm, "mcp": mcp})
    finally:
        await drop_database(postgres.read_dsn(), dsn)


def add_lost_server(folder: Path) -> None:
    """One that does not start, so that there is something to warn of."""
    main = json.decode((folder / "midwatch.yaml").read_text())
    main["mcp_servers"]["lost"] = {"transport": {"type": "stdio", "command": "/nowhere/at/all"}}
    main["agents"]["Mate"]["mcp_servers"].append("lost")
    (folder / "midwatch.yaml").write_text(json.encode_text(main))


@pytest.mark.parametrize("row", ROWS)
async def test_an_answer_has_the_fields_of_its_row(ended: Ended, row: str) -> None:
    check(await ended.read(row), ROWS[row])


async def test_what_an_investigation_leaves_can_be_read_by_a_client_that_knows_the_words(ended: Ended) -> None:
    session = await ended.read(f"{SESSIONS}/{{session}}")
    stage, summary = session["stages"]
    assert (summary["stage_index"], summary["stage_type"]) == (2, "exec_summary")
    (execution,) = stage["executions"]
    assert (stage["stage_index"], execution["agent_index"], execution["llm_backend"]) == (1, 1, "langchain")
    (asked,) = [
        entry["metadata"]
        for entry in await ended.read(f"{SESSIONS}/{{session}}/timeline")
        if entry["event_type"] == "llm_tool_call"
    ]
    check(asked, having(server_name=WORD, tool_name=WORD, arguments=TEXT, is_error=FLAG))


async def test_a_list_takes_every_parameter_of_its_row(ended: Ended) -> None:
    for key in ("created_at", "status", "alert_type", "author", "duration"):
        query: dict[str, str | int] = {
            "page": 1,
            "page_size": 100,
            "sort_by": key,
            "sort_order": "asc",
            "status": ",".join(STATUSES),
            "alert_type": "deck",
            "chain_id": "deck",
            "start_date": "2020-01-01T00:00:00.5+02:00",
            "end_date": "2099-01-01T00:00:00Z",
        }
        answer = await ended.edge.http.get(SESSIONS, params=query)
        check(answer.json(), shape.LISTING)
        assert answer.json()["pagination"]["page_size"] == 100
    searched = await ended.edge.http.get(SESSIONS, params={"search": "bil"})
    check(searched.json(), having(sessions=some(shape.ITEM)))


async def test_an_alert_with_everything_in_it_is_queued(ended: Ended) -> None:
    alert: dict[str, Any] = {
        "alert_type": "deck",
        "data": "Fog.",
        "runbook": "https://github.com/ship/books/blob/main/fog.md",
        "mcp": {
            "servers": [{"name": "deck", "tools": []}, {"name": "lost", "tools": ["look"]}],
            "native_tools": {"google_search": True, "code_execution": False, "url_context": False},
        },
        "slack_message_fingerprint": "fog",
    }
    answer = await ended.edge.http.post("/api/v1/alerts", json=alert)
    assert answer.status_code == 202, answer.text
    check(answer.json(), having(session_id=ID, status=one_of("queued"), message=WORD))
    session = await wait_for_end(ended.edge, answer.json()["session_id"])
    check(session, shape.SESSION)
    assert session["status"] == "completed"


async def test_an_empty_list_of_tools_means_all_of_the_server(ended: Ended) -> None:
    alert: dict[str, Any] = {"data": "Fog.", "mcp": {"servers": [{"name": "deck", "tools": []}]}}
    session_id = (await ended.edge.http.post("/api/v1/alerts", json=alert)).json()["session_id"]
    await wait_for_end(ended.edge, session_id)
    (entry,) = [
        entry
        for entry in (await ended.edge.http.get(f"{SESSIONS}/{session_id}/timeline")).json()
        if entry["event_type"] == "llm_tool_call"
    ]
    assert (entry["status"], entry["content"]) == ("completed", "all is dry")


async def test_sessions_that_wait_and_run_are_read_and_cancelled(dsn: str, tmp_path: Path) -> None:
    write_config(tmp_path, turns=[call("slow_read", seconds=60)])
    async with open_edge(tmp_path, dsn) as edge, running(edge):
        sessions = [await edge.submit() for _ in range(3)]

        async def look() -> dict[str, Any] | None:
            body = (await edge.http.get(f"{SESSIONS}/active")).json()
            return body if [item["current_stage_index"] for item in body["active"]] == [1, 1] else None

        check(await eventually(look), shape.ACTIVE)
        for session_id in sessions:
            check(await edge.show(session_id), shape.SESSION)
            entries = await edge.http.get(f"{SESSIONS}/{session_id}/timeline")
            check(entries.json(), some(shape.ENTRY))
        for session_id in sessions:
            answer = await edge.http.post(f"{SESSIONS}/{session_id}/cancel")
            assert answer.status_code == 200
            check(answer.json(), having(session_id=one_of(session_id), message=WORD))
        for session_id in sessions:
            await wait_for_end(edge, session_id)
            again = await edge.http.post(f"{SESSIONS}/{session_id}/cancel")
            assert again.status_code == 409
            check(again.json(), having(message=WORD))


NO_IDS = ["%FF%FE", "%F0%9F", "%00", "%0A", "..%2F..", "7" * 8_000, "0" * 32 + "g", "' OR 1=1 --", "%25"]
ID_PATHS = ["", "/status", "/summary", "/timeline", "/trace", "/trace/llm/{}", "/trace/mcp/{}"]


@pytest.mark.parametrize("path", ID_PATHS)
@pytest.mark.parametrize("written", NO_IDS)
async def test_an_id_that_is_none_is_answered_in_the_shape_of_errors(edge: Edge, path: str, written: str) -> None:
    answer = await edge.http.get(f"{SESSIONS}/{written}{path}".replace("{}", written))
    assert answer.status_code in (400, 404)
    check(answer.json(), having(message=WORD, code=one_of("invalid", "not_found")))
    assert answer.json().keys() <= {"message", "code", "field", "allowed"}
    assert len(answer.content) < 500


@pytest.mark.parametrize("name", ["search", "alert_type", "chain_id", "status", "start_date", "page", "sort_by"])
async def test_a_parameter_that_is_no_text_breaks_nothing(edge: Edge, name: str) -> None:
    answer = await edge.http.get(f"{SESSIONS}?{name}=%FF%FE%FDpump")
    assert answer.status_code in (200, 400)
    check(answer.json(), having(sessions=some(shape.ITEM)) if answer.status_code == 200 else having(message=WORD))
