"""Two replicas under one cap, and text that a database does not take."""

import asyncio
from pathlib import Path
from uuid import UUID

from midwatch.domain.session import SessionStatus
from tests.fakes.openai_server import by_turn, hold_turn, serve
from tests.feed_reader import reading_feed
from tests.scenes import CONCLUSION, call, look, open_scene

# Claims come one after another, so each sees exactly how many run once it has taken its own.
_COUNT_AT_EACH_CLAIM = """
CREATE TABLE seen_running (n bigint, held bigint);
CREATE FUNCTION count_running() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO seen_running SELECT
        (SELECT count(*) FROM alert_sessions WHERE status = 'in_progress'),
        (SELECT count(*) FROM session_leases WHERE expires_at > clock_timestamp());
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER count_running AFTER UPDATE ON session_leases DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (new.epoch <> old.epoch) EXECUTE FUNCTION count_running();
"""


async def test_all_replicas_together_keep_to_the_cap(dsn: str, tmp_path: Path) -> None:
    release = asyncio.Event()
    async with (
        serve(by_turn([CONCLUSION]), before_turn=hold_turn(0, release=release)) as model,
        open_scene(
            tmp_path, model=model, dsn=dsn, worker_count=5, max_concurrent_sessions=3, heartbeat_interval="10s"
        ) as scene,
    ):
        async with scene.store.connect() as tx:
            await tx.execute(_COUNT_AT_EACH_CLAIM)
        first, second = await scene.fleet.start("first", "second")
        async with asyncio.TaskGroup() as group:
            submitting = [group.create_task(replica.submit()) for replica in (first, second) for _ in range(6)]
        sessions = [task.result() for task in submitting]
        await scene.asked(0, times=3)
        release.set()
        for session_id in sessions:
            assert await scene.ended(session_id) is SessionStatus.COMPLETED
        seen = await scene.fetch("SELECT n, held FROM seen_running")
        assert len(seen) == 12
        assert max(row["n"] for row in seen) == max(row["held"] for row in seen) == 3


async def test_poisoned_text_is_stored_with_replacement_characters(dsn: str, tmp_path: Path) -> None:
    async with (
        serve(by_turn([call("poison"), look("a \x00 b \ud800 c"), CONCLUSION])) as model,
        open_scene(tmp_path, model=model, dsn=dsn) as scene,
    ):
        (replica,) = await scene.fleet.start("only")
        body = rb'{"data": "nul \u0000 half \ud800 end"}'
        answer = await replica.http.post("/api/v1/alerts", content=body, headers={"content-type": "application/json"})
        session_id = UUID(answer.json()["session_id"])
        async with reading_feed(scene.store, session_id) as feed:
            assert await scene.ended(session_id) is SessionStatus.COMPLETED
            await feed.check_whole()
        assert (await replica.show(session_id))["alert_data"] == "nul � half � end"
        assert "nul � half � end" in scene.requests(0)[0]["messages"][1]["content"]
        assert scene.requests(1)[0]["messages"][-1]["content"] == "nul � half � end"
        assert [row["state"] for row in await scene.calls(session_id)] == ["finished", "finished"]
