"""What people and senders are told of the queue, of who runs what, and of who is there."""

from collections.abc import AsyncGenerator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from midwatch import __version__
from midwatch.kit import json
from midwatch.store.leases import Claim, claim_chat, claim_pending, take_over
from midwatch.store.replicas import Presence, report_presence
from tests.api.edge import Edge, open_edge, running
from tests.api.shelf import SESSIONS, Shelved, shelve
from tests.api.test_pages import read
from tests.stored import expire_lease
from tests.waiting import eventually

QUEUE = "/api/v1/system/queue"
LEASE = timedelta(seconds=30)
PRESENCE = Presence(owner="pod:1", pod_id="pod", version="1.0", journal_format=1, slots=1, chat_slots=2)


@pytest.fixture
async def lone_edge(dsn: str, config_folder: Path) -> AsyncGenerator[Edge]:
    """On a database of its own; nobody works."""
    limit_queue(config_folder, warn_depth=2)
    async with open_edge(config_folder, dsn) as edge:
        yield edge


def limit_queue(folder: Path, **settings: Any) -> None:
    main = json.decode((folder / "midwatch.yaml").read_text())
    main["queue"] |= settings
    (folder / "midwatch.yaml").write_text(json.encode_text(main))


async def read_queue(edge: Edge) -> dict[str, Any]:
    answer = await edge.http.get(QUEUE)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def send(edge: Edge) -> dict[str, Any]:
    return (await edge.http.post("/api/v1/alerts", json={"data": "Fog."})).json()


async def report(edge: Edge) -> None:
    async with edge.store.connect() as tx:
        await report_presence(tx, PRESENCE, lasts=LEASE)


async def claim(edge: Edge) -> Claim:
    async with edge.store.connect() as tx:
        claim = await claim_pending(tx, owner="pod:1", pod_id="pod", lease=LEASE, cap=5)
    assert claim is not None
    return claim


async def test_a_sender_is_told_its_place_and_warned_when_too_many_wait(lone_edge: Edge) -> None:
    told = [await send(lone_edge) for _ in range(4)]
    assert [each["queue_position"] for each in told] == [1, 2, 3, 4]
    assert [each["warning"] for each in told] == [
        None,
        None,
        "2 sessions wait before this one; nothing is lost, but hold back what can wait",
        "3 sessions wait before this one; nothing is lost, but hold back what can wait",
    ]
    assert {each["status"] for each in told} == {"queued"}


async def test_a_very_long_queue_is_not_counted_to_its_end(lone_edge: Edge) -> None:
    async with lone_edge.store.connect() as tx:
        await tx.execute(
            "INSERT INTO alert_sessions (session_id, alert_type, agent_type, alert_data, status, chain_id, chain) "
            "SELECT gen_random_uuid(), 'deck', 'deck', 'Fog.', 'pending', 'deck', '{}' FROM generate_series(1, 250)"
        )
    told = await send(lone_edge)
    assert told["queue_position"] is None
    assert told["warning"].startswith("more than 200 sessions wait before this one")


async def test_a_request_that_was_sent_before_has_no_place(lone_edge: Edge) -> None:
    headers = {"Idempotency-Key": "fog-1"}
    first, again = [
        (await lone_edge.http.post("/api/v1/alerts", json={"data": "Fog."}, headers=headers)).json() for _ in range(2)
    ]
    assert (first["queue_position"], again["queue_position"]) == (1, None)
    assert first["session_id"] == again["session_id"]


async def test_a_waiting_session_says_where_it_stands_and_why(lone_edge: Edge) -> None:
    first, second = [await lone_edge.submit() for _ in range(2)]
    assert (await lone_edge.show(first))["queue"] == {
        "position": 1,
        "ahead": 0,
        "running": 0,
        "cap": 5,
        "reason": "no replica is alive",
    }
    await report(lone_edge)
    third = await lone_edge.submit()
    assert str((await claim(lone_edge)).fence.session_id) == first
    shown = await lone_edge.show(third)
    assert shown["queue"] == {
        "position": 2,
        "ahead": 1,
        "running": 1,
        "cap": 5,
        "reason": "the one slot is taken, one session is before this one",
    }
    assert shown["lease"] is None
    page = await read(lone_edge, f"/sessions/{second}")
    assert "Number 1 in line: the one slot is taken, and this one is next." in page.text
    front = await read(lone_edge, "/")
    assert "Sessions wait: the one slot is taken." in front.text


async def test_a_running_session_says_who_has_it_in_hand(lone_edge: Edge) -> None:
    session_id = await lone_edge.submit()
    held = await claim(lone_edge)
    shown = await lone_edge.show(session_id)
    lease = shown["lease"]
    assert shown["queue"] is None
    assert lease == lease | {
        "kind": "alert",
        "replica": "pod",
        "owner": "pod:1",
        "epoch": held.fence.epoch,
        "attempts": 0,
        "last_heartbeat": lease["claimed_at"],
        "is_expired": False,
    }
    assert 0 <= lease["seconds_since_heartbeat"] < 30
    active = (await lone_edge.http.get(f"{SESSIONS}/active")).json()["active"]
    assert [item["lease"]["owner"] for item in active] == ["pod:1"]
    page = await read(lone_edge, f"/sessions/{session_id}")
    assert "Run by pod, last heard of" in page.text


async def test_a_session_whose_replica_is_gone_waits_for_another(lone_edge: Edge) -> None:
    session_id = await lone_edge.submit()
    await claim(lone_edge)
    await report(lone_edge)
    await expire_lease(lone_edge.store, UUID(session_id))
    shown = await lone_edge.show(session_id)
    assert shown["lease"]["is_expired"]
    assert shown["queue"]["reason"].startswith("replica pod is gone")
    assert (await read_queue(lone_edge))["left_behind"] == 1
    async with lone_edge.store.connect() as tx:
        await take_over(tx, owner="pod:2", pod_id="pod", lease=LEASE)
    shown = await lone_edge.show(session_id)
    assert (shown["lease"]["attempts"], shown["attempts"], shown["queue"]) == (1, 1, None)


async def test_an_ended_session_stands_nowhere(lone_edge: Edge) -> None:
    shown = await lone_edge.show(await shelve(lone_edge.store, Shelved()))
    assert (shown["queue"], shown["lease"]) == (None, None)


async def test_a_question_says_where_it_stands_and_then_who_answers_it(lone_edge: Edge) -> None:
    session_id = await shelve(lone_edge.store, Shelved())
    chat = f"{SESSIONS}/{session_id}/chat"
    asked = await lone_edge.http.post(f"{chat}/messages", json={"content": "Why?"})
    assert asked.status_code == 202, asked.text
    await report(lone_edge)
    (question,) = (await lone_edge.http.get(chat)).json()["messages"]
    assert question["queue"] == {
        "position": 1,
        "ahead": 0,
        "running": 0,
        "cap": 2,
        "reason": "2 of 2 slots are free, and this one is next",
    }
    assert (question["lease"], question["attempts"], question["resumed_at"]) == (None, 0, [])
    async with lone_edge.store.connect() as tx:
        await claim_chat(tx, owner="pod:1", pod_id="pod", lease=LEASE)
    await expire_lease(lone_edge.store, UUID(session_id))
    async with lone_edge.store.connect() as tx:
        await claim_chat(tx, owner="pod:2", pod_id="pod", lease=LEASE)
    (question,) = (await lone_edge.http.get(chat)).json()["messages"]
    assert question["queue"] is None
    assert (question["lease"]["kind"], question["lease"]["owner"], question["attempts"]) == ("chat", "pod:2", 1)
    shown = await lone_edge.show(session_id)
    assert (shown["queue"], shown["lease"], shown["attempts"]) == (None, None, 0)
    assert [stage["attempts"] for stage in shown["stages"]] == [1]


async def test_the_queue_is_told_with_its_replicas(dsn: str, config_folder: Path) -> None:
    async with open_edge(config_folder, dsn) as edge:
        empty = await read_queue(edge)
        assert empty["replicas"] == []
        assert (empty["depth"], empty["oldest_age_seconds"], empty["reason"], empty["is_deep"]) == (
            0,
            None,
            None,
            False,
        )
        assert empty["chat"] == {"depth": 0, "oldest_age_seconds": None, "running": 0, "cap": 0, "left_behind": 0}
        await edge.submit()
        waiting = await read_queue(edge)
        assert (waiting["depth"], waiting["cap"], waiting["reason"]) == (1, 5, "no replica is alive")
        assert waiting["oldest_age_seconds"] >= 0
        async with running(edge):

            async def look() -> dict[str, Any] | None:
                return next(iter(await _read_replicas(edge)), None)

            replica = await eventually(look)
            assert (replica["version"], replica["slots"], replica["chat_slots"]) == (__version__, 2, 5)
            assert not replica["is_draining"]
            edge.service.roll.announce_drain()
            await eventually(lambda: _is_draining(edge))
        assert (await read_queue(edge))["replicas"] == []


async def _read_replicas(edge: Edge) -> list[dict[str, Any]]:
    return (await read_queue(edge))["replicas"]


async def _is_draining(edge: Edge) -> bool:
    return all(replica["is_draining"] for replica in await _read_replicas(edge))


async def test_a_deep_queue_is_called_so(lone_edge: Edge) -> None:
    for _ in range(2):
        await lone_edge.submit()
    queue = await read_queue(lone_edge)
    assert (queue["depth"], queue["warn_depth"], queue["is_deep"]) == (2, 2, True)
