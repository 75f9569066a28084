"""Connections: few are enough for many runs, and what keeps a replica alive never waits for one that a run has."""

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from midwatch.config.queue import Queue
from midwatch.kit import json
from midwatch.store.engine import Store
from tests.api.chatting import ANSWER, FOUND, LOOK, TALK, by_model, chatting
from tests.api.edge import open_edge, running
from tests.api.shelf import wait_for_end
from tests.fakes.openai_server import by_turn, serve
from tests.waiting import eventually

SESSIONS = 200


def write_queue(folder: Path, **settings: Any) -> None:
    main = json.decode((folder / "midwatch.yaml").read_text())
    main["queue"] |= settings
    (folder / "midwatch.yaml").write_text(json.encode_text(main))


@pytest.mark.parametrize(
    ("queue", "size"),
    [
        (Queue(), 20),
        (Queue(worker_count=1), 16),
        (Queue(worker_count=200), 50),
        (Queue(worker_count=200, database_connections=7), 7),
    ],
)
def test_the_pool_grows_with_the_slots_up_to_a_point_unless_its_size_is_given(queue: Queue, size: int) -> None:
    assert queue.size_pool(chat_slots=5) == size


async def test_a_whole_session_and_a_question_get_by_with_one_connection(dsn: str, config_folder: Path) -> None:
    """Whoever held one and asked for another would wait for himself."""
    answer = by_model(mate=[LOOK, FOUND], **{TALK: [LOOK, ANSWER]})
    async with chatting(config_folder, dsn, answer, queue={"database_connections": 1}) as chat:
        assert chat.edge.service.config.queue.database_connections == 1
        stage = await chat.ended(await chat.asked())
        assert stage["status"] == "completed"
        assert (await chat.edge.show(chat.session_id))["status"] == "completed"


async def read_lease(store: Store, session_id: str) -> Any:
    async with store.connect() as tx:
        return await tx.fetchrow("SELECT * FROM session_leases WHERE session_id = $1", UUID(session_id))


async def test_claims_and_heartbeats_do_not_wait_for_connections_of_runs(
    dsn: str, store: Store, config_folder: Path
) -> None:
    write_queue(config_folder, database_connections=1, heartbeat_interval="300ms")
    async with open_edge(config_folder, dsn) as edge:
        session_id = await edge.submit()
        async with edge.service.store.connect(), running(edge):

            async def is_renewed() -> bool:
                """Twice, and by the first owner, although it cannot even read what it is to do."""
                lease = await read_lease(store, session_id)
                return lease["renewed_at"] is not None and lease["renewed_at"] > lease["claimed_at"]

            await eventually(is_renewed, within=60)
            before = (await read_lease(store, session_id))["renewed_at"]

            async def is_renewed_again() -> bool:
                return (await read_lease(store, session_id))["renewed_at"] > before

            await eventually(is_renewed_again, within=60)
            assert (await read_lease(store, session_id))["epoch"] == 1


async def test_two_hundred_slots_of_one_replica_run_two_hundred_sessions_at_once(dsn: str, config_folder: Path) -> None:
    """The model answers nobody before all have asked."""
    asked = 0
    all_asked = asyncio.Event()

    async def hold(_: int) -> None:
        nonlocal asked
        asked += 1
        if asked == SESSIONS:
            all_asked.set()
        await all_asked.wait()

    write_queue(config_folder, worker_count=SESSIONS, max_concurrent_sessions=SESSIONS, heartbeat_interval="60s")
    async with serve(by_turn([FOUND]), before_turn=hold) as model:
        point_to(config_folder, model.base_url)
        async with open_edge(config_folder, dsn) as edge, running(edge):
            sessions = [await edge.submit() for _ in range(SESSIONS)]
            async with asyncio.timeout(240):
                await all_asked.wait()
            queue = (await edge.http.get("/api/v1/system/queue")).json()
            assert (queue["running"], queue["depth"], queue["left_behind"]) == (SESSIONS, 0, 0)
            assert [replica["busy_slots"] for replica in queue["replicas"]] == [SESSIONS]
            ends = [await wait_for_end(edge, session_id) for session_id in sessions]
    assert {end["status"] for end in ends} == {"completed"}


def point_to(folder: Path, base_url: str) -> None:
    """An agent that needs no tools, and a model that is asked over HTTP."""
    main = json.decode((folder / "midwatch.yaml").read_text())
    main["agents"]["Mate"]["mcp_servers"] = []
    (folder / "midwatch.yaml").write_text(json.encode_text(main))
    provider = {"type": "openai", "model": "fake", "base_url": base_url}
    (folder / "llm-providers.yaml").write_text(json.encode_text({"llm_providers": {"script": provider}}))
