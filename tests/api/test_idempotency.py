"""An alert that is sent twice under one key is one session, however close the two are."""

import asyncio
from typing import Any

import httpx
import pytest

from tests.api.edge import Edge

ALERTS = "/api/v1/alerts"
ALERT = {"data": "Pump three runs hot."}


async def send(edge: Edge, key: str | bytes, alert: dict[str, Any] = ALERT, *, author: str = "mate") -> httpx.Response:
    headers: dict[str, Any] = {"Idempotency-Key": key, "X-Forwarded-User": author}
    return await edge.http.post(ALERTS, json=alert, headers=headers)


async def count_rows(edge: Edge, session_id: str) -> list[int]:
    tables = ("alert_sessions", "session_leases", "session_feeds", "events")
    async with edge.store.connect() as tx:
        return [
            await tx.fetchval(f"SELECT count(*) FROM {table} WHERE session_id = $1", session_id) for table in tables
        ]


async def test_the_same_request_again_leads_to_the_first_session(edge: Edge) -> None:
    first, before = await send(edge, "watch-1"), await edge.count_sessions()
    again = await send(edge, "watch-1")
    assert (first.status_code, again.status_code) == (202, 202)
    assert first.json()["message"] == "Alert accepted"
    assert again.json() == first.json() | {"message": "Alert was accepted before", "queue_position": None}
    assert await edge.count_sessions() == before
    assert await count_rows(edge, first.json()["session_id"]) == [1, 1, 1, 1]


async def test_a_request_is_the_same_however_it_is_spelt(edge: Edge) -> None:
    servers = {"servers": [{"name": "deck", "tools": None}]}
    first = await send(edge, "spelt", {**ALERT, "alert_type": "deck", "mcp": servers})
    other: dict[str, Any] = {
        "runbook": "",
        "mcp_selection": {"servers": [{"name": "deck"}], "native_tools": {}},
        "alert_type": "deck",
    }
    again = await send(edge, "spelt", {**other, **ALERT, "slack_message_fingerprint": None, "selected_resources": []})
    assert again.json()["session_id"] == first.json()["session_id"]


@pytest.mark.parametrize(
    "change",
    [
        {"data": "Pump four runs hot."},
        {"alert_type": "engine"},
        {"runbook": "https://github.com/ship/books/blob/main/pump.md"},
        {"mcp": {"servers": [{"name": "deck"}]}},
        {"slack_message_fingerprint": "pump three"},
    ],
    ids=lambda change: next(iter(change)),
)
async def test_another_request_under_the_same_key_is_a_conflict(edge: Edge, change: dict[str, Any]) -> None:
    key = f"used for {next(iter(change))}"
    assert (await send(edge, key)).status_code == 202
    before = await edge.count_sessions()
    answer = await send(edge, key, ALERT | change)
    assert answer.status_code == 409
    assert answer.json() == {
        "message": "this Idempotency-Key was used for another request",
        "code": "conflict",
        "field": "Idempotency-Key",
    }
    assert await edge.count_sessions() == before


async def test_a_secret_that_is_masked_still_tells_two_requests_apart(edge: Edge) -> None:
    assert (await send(edge, "secrets", {"data": "Login failed: password=hunter2-one"})).status_code == 202
    assert (await send(edge, "secrets", {"data": "Login failed: password=hunter2-two"})).status_code == 409


async def test_a_key_belongs_to_its_author(edge: Edge) -> None:
    mine = await send(edge, "shared", author="mate")
    yours = await send(edge, "shared", {"data": "Fog."}, author="bosun")
    assert (mine.status_code, yours.status_code) == (202, 202)
    assert mine.json()["session_id"] != yours.json()["session_id"]


async def test_without_a_key_every_request_is_a_session(edge: Edge) -> None:
    assert await edge.submit("Fog.") != await edge.submit("Fog.")


async def test_a_request_that_was_turned_away_does_not_use_its_key(edge: Edge) -> None:
    assert (await send(edge, "second-try", {"data": ""})).status_code == 400
    assert (await send(edge, "second-try")).json()["message"] == "Alert accepted"


async def test_a_session_that_has_ended_is_still_the_first(edge: Edge) -> None:
    session_id = (await send(edge, "ended")).json()["session_id"]
    assert (await edge.http.post(f"/api/v1/sessions/{session_id}/cancel")).status_code == 200
    assert (await send(edge, "ended")).json()["session_id"] == session_id


async def test_of_twenty_that_race_one_makes_the_session_and_all_are_told_its_id(edge: Edge) -> None:
    before = await edge.count_sessions()
    for race in range(5):
        async with asyncio.TaskGroup() as group:
            sending = [group.create_task(send(edge, f"race {race}")) for _ in range(20)]
        answers = [task.result() for task in sending]
        assert {answer.status_code for answer in answers} == {202}
        assert len({answer.json()["session_id"] for answer in answers}) == 1
        assert [answer.json()["message"] for answer in answers].count("Alert accepted") == 1
        assert await edge.count_sessions() == before + race + 1


async def test_of_twenty_that_race_with_other_words_one_wins(edge: Edge) -> None:
    before = await edge.count_sessions()
    async with asyncio.TaskGroup() as group:
        sending = [group.create_task(send(edge, "contest", {"data": f"Pump {n}."})) for n in range(20)]
    assert sorted(task.result().status_code for task in sending) == [202] + [409] * 19
    assert await edge.count_sessions() == before + 1


@pytest.mark.parametrize("key", ["", "a" * 256, "Jörg".encode(), "naïve".encode("latin-1"), "tab\there"])
async def test_a_key_that_is_none_is_named_as_such(edge: Edge, key: str | bytes) -> None:
    before = await edge.count_sessions()
    answer = await send(edge, key)
    assert answer.status_code == 400
    assert answer.json() == {
        "message": "Idempotency-Key must have 1 to 255 printable ASCII characters",
        "code": "invalid",
        "field": "Idempotency-Key",
    }
    assert await edge.count_sessions() == before


async def test_a_key_may_have_every_printable_character(edge: Edge) -> None:
    key = ("".join(map(chr, range(33, 127))) + " ") * 2 + "x" * 65
    assert len(key) == 255
    first, again = await send(edge, key), await send(edge, key)
    assert first.json()["session_id"] == again.json()["session_id"]


async def test_two_keys_are_one_too_many(edge: Edge) -> None:
    headers = [("Idempotency-Key", "one"), ("Idempotency-Key", "two")]
    answer = await edge.http.post(ALERTS, json=ALERT, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["field"] == "Idempotency-Key"
