"""An alert over HTTP: stored and then accepted, or turned away with a reason and not stored."""

from collections.abc import AsyncGenerator
from typing import Any

import httpx
import pytest

from midwatch.store.driver import Row
from tests.api.edge import Edge

MIB = 1024 * 1024
ALERTS = "/api/v1/alerts"
JSON = {"Content-Type": "application/json"}


async def read_row(edge: Edge, session_id: str) -> Row:
    async with edge.store.connect() as tx:
        return await tx.fetchrow("SELECT * FROM alert_sessions WHERE session_id = $1", session_id)


async def post_bytes(edge: Edge, body: bytes) -> httpx.Response:
    return await edge.http.post(ALERTS, content=body, headers=JSON)


async def test_an_alert_is_stored_before_it_is_accepted(edge: Edge) -> None:
    answer = await edge.http.post(ALERTS, json={"data": "Pump three runs hot.", "alert_type": "engine"})
    assert answer.status_code == 202
    body = answer.json()
    assert body == {"session_id": body["session_id"], "status": "queued", "message": "Alert accepted"}
    row = await read_row(edge, body["session_id"])
    assert (row["alert_data"], row["alert_type"], row["chain_id"], row["status"]) == (
        "Pump three runs hot.",
        "engine",
        "engine",
        "pending",
    )


@pytest.mark.parametrize("given", [{}, {"alert_type": None}, {"alert_type": ""}])
async def test_an_alert_without_a_type_gets_the_default(edge: Edge, given: dict[str, Any]) -> None:
    answer = await edge.http.post(ALERTS, json={"data": "Fog.", **given})
    assert (await read_row(edge, answer.json()["session_id"]))["alert_type"] == "deck"


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        (b'{"alert_type": "deck"}', "data", "missing"),
        (b'{"data": ""}', "data", "text"),
        (b'{"data": " \\n\\t"}', "data", "text"),
        (b'{"data": null}', "data", "must be text"),
        (b'{"data": 7}', "data", "must be text"),
        (b'{"data": ["a"]}', "data", "must be text"),
        (b'{"data": {"a": 1}}', "data", "must be text"),
        (b'{"data": "Fog.", "alert_type": 7}', "alert_type", "must be text"),
        (b'{"data": "Fog.", "sverity": "high"}', "sverity", "not a field"),
        (b'{"data": "Fog."', None, "JSON"),
        (b"data=Fog.", None, "JSON"),
        (b'{"data": "\xff\xfe\xff"}', None, "JSON"),
        (b"[" * 100_000, None, "JSON"),
        (b'["Fog."]', None, "JSON object"),
        (b'"Fog."', None, "JSON object"),
        (b"null", None, "JSON object"),
        (b"", None, "body is missing"),
        (b'{"data": "Fog.", "\\ud800": 1}', None, "read as JSON"),
    ],
)
async def test_a_malformed_alert_is_named_as_such_and_not_stored(
    edge: Edge, body: bytes, field: str | None, words: str
) -> None:
    before = await edge.count_sessions()
    answer = await post_bytes(edge, body)
    assert answer.status_code == 400
    problem = answer.json()
    assert words in problem["message"]
    assert problem == {"message": problem["message"], "code": "invalid"} | ({"field": field} if field else {})
    assert await edge.count_sessions() == before


async def test_a_long_unknown_field_is_not_echoed_whole(edge: Edge) -> None:
    answer = await edge.http.post(ALERTS, json={"data": "Fog.", "x" * 100_000: 1})
    assert answer.status_code == 400
    assert len(answer.content) < 500


async def test_an_unknown_alert_type_is_answered_with_the_known_ones(edge: Edge) -> None:
    before = await edge.count_sessions()
    answer = await edge.http.post(ALERTS, json={"data": "Fog.", "alert_type": "galley"})
    assert answer.status_code == 400
    problem = answer.json()
    allowed = problem.pop("allowed")
    assert problem == {"message": "no chain takes this alert_type", "code": "invalid", "field": "alert_type"}
    assert allowed == sorted({*allowed, "deck", "engine"} - {"galley"})
    assert await edge.count_sessions() == before


@pytest.mark.parametrize("character", ["a", "é", "🌊"])
async def test_an_alert_may_have_a_mebibyte_and_not_one_byte_more(edge: Edge, character: str) -> None:
    whole = character * (MIB // len(character.encode()))
    before = await edge.count_sessions()
    refused = await edge.http.post(ALERTS, json={"data": whole + "a"})
    assert refused.status_code == 413
    assert refused.json() == {
        "message": f"data has {MIB + 1} bytes and may have {MIB}",
        "code": "too_large",
        "field": "data",
    }
    assert await edge.count_sessions() == before
    accepted = await edge.http.post(ALERTS, json={"data": whole})
    assert accepted.status_code == 202
    assert (await read_row(edge, accepted.json()["session_id"]))["alert_data"] == whole


async def test_a_body_over_two_mebibytes_is_refused(edge: Edge) -> None:
    before = await edge.count_sessions()
    answer = await post_bytes(edge, b'{"data": "' + b"a" * 2 * MIB + b'"}')
    assert answer.status_code == 413
    assert answer.json() == {"message": f"a body may have {2 * MIB} bytes", "code": "too_large"}
    assert await edge.count_sessions() == before


async def test_a_body_that_announces_its_size_is_refused_before_it_is_sent(edge: Edge) -> None:
    head = f"POST {ALERTS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    assert b" 413 " in await edge.send_raw(f"{head}Content-Length: {2 * MIB + 1}\r\n\r\n".encode())


async def test_a_body_that_hides_its_size_is_refused_once_it_is_over_two_mebibytes(edge: Edge) -> None:
    async def pour() -> AsyncGenerator[bytes]:
        yield b'{"data": "Fog.", "padding": "'
        for _ in range(48):
            yield b"a" * 65536

    before = await edge.count_sessions()
    answer = await edge.http.post(ALERTS, content=pour(), headers=JSON)
    assert answer.request.headers["transfer-encoding"] == "chunked"
    assert answer.status_code == 413
    assert answer.json() == {"message": f"a body may have {2 * MIB} bytes", "code": "too_large"}
    assert await edge.count_sessions() == before


async def test_a_body_that_comes_in_pieces_is_taken(edge: Edge) -> None:
    async def pour() -> AsyncGenerator[bytes]:
        for piece in (b'{"da', b'ta": "Fo', b'g."}'):
            yield piece

    answer = await edge.http.post(ALERTS, content=pour(), headers=JSON)
    assert answer.status_code == 202


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None])
async def test_a_body_that_is_not_called_json_is_refused(edge: Edge, kind: str | None) -> None:
    before = await edge.count_sessions()
    headers = {"Content-Type": kind} if kind else {}
    answer = await edge.http.post(ALERTS, content=b'{"data": "Fog."}', headers=headers)
    assert answer.status_code == 415
    assert answer.json() == {"message": "send the body as application/json", "code": "unsupported_media_type"}
    assert await edge.count_sessions() == before


async def test_json_may_name_its_character_set(edge: Edge) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    answer = await edge.http.post(ALERTS, content=b'{"data": "Fog."}', headers=headers)
    assert answer.status_code == 202


@pytest.mark.parametrize(
    ("headers", "author"),
    [
        ({}, "api-client"),
        ({"X-Remote-User": "remote"}, "remote"),
        ({"X-Remote-User": "remote", "X-Forwarded-Email": "mail@ship"}, "mail@ship"),
        ({"X-Remote-User": "remote", "X-Forwarded-Email": "mail@ship", "X-Forwarded-User": "mate"}, "mate"),
        ({"X-Remote-User": "remote", "X-Forwarded-User": ""}, "remote"),
        ({"X-Forwarded-User": "Jörg".encode()}, "Jörg"),
    ],
)
async def test_the_author_is_whom_the_proxy_names(edge: Edge, headers: dict[str, Any], author: str) -> None:
    answer = await edge.http.post(ALERTS, json={"data": "Fog."}, headers=headers)
    assert (await read_row(edge, answer.json()["session_id"]))["author"] == author


async def test_a_secret_in_an_alert_is_not_stored(edge: Edge) -> None:
    session_id = await edge.submit("Login failed with password=hunter2-of-the-night-watch on pump three.")
    stored = (await read_row(edge, session_id))["alert_data"]
    assert "hunter2" not in stored
    assert "[MASKED_PASSWORD]" in stored
    assert "hunter2" not in str(await edge.show(session_id))


async def test_characters_that_no_database_takes_are_replaced(edge: Edge) -> None:
    answer = await post_bytes(edge, b'{"data": "nul \\u0000 half \\ud83d end"}')
    assert answer.status_code == 202
    assert (await read_row(edge, answer.json()["session_id"]))["alert_data"] == "nul � half � end"
