"""Cancelling sessions that wait, that run elsewhere, whose owner is dead, and that end at the same moment."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from midwatch.domain.session import SessionStatus
from tests.fakes.openai_server import Body, Reply, by_turn, hold_turn, serve, stall_after
from tests.feed_reader import reading_feed
from tests.scenes import BRIEF, CONCLUSION, call, look, open_scene
from tests.waiting import eventually


async def test_a_waiting_session_is_cancelled_at_once_and_never_runs(dsn: str, tmp_path: Path) -> None:
    release = asyncio.Event()
    async with (
        serve(by_turn([CONCLUSION]), before_turn=hold_turn(0, release=release)) as model,
        open_scene(tmp_path, model=model, dsn=dsn, max_concurrent_sessions=1) as scene,
    ):
        (replica,) = await scene.fleet.start("only")
        running = await replica.submit("First.")
        await scene.asked(0)
        waiting = await replica.submit("Second.")
        async with reading_feed(scene.store, waiting) as feed:
            answer = await replica.cancel(waiting)
            assert (answer.status_code, answer.json()["status"]) == (200, "cancelled")
            assert await scene.ended(waiting) is SessionStatus.CANCELLED
            await feed.check_whole()
        assert (await replica.cancel(waiting)).status_code == 409
        release.set()
        assert await scene.ended(running) is SessionStatus.COMPLETED
        assert (await replica.cancel(running)).status_code == 409
        assert await scene.ended(await replica.submit("Third.")) is SessionStatus.COMPLETED
        assert "Second." not in str(model.requests)


async def test_a_session_that_streams_elsewhere_is_cancelled_by_a_word(dsn: str, tmp_path: Path) -> None:
    never = asyncio.Event()
    turns = by_turn([look("pump"), stall_after(CONCLUSION, 3, release=never)])
    async with (
        serve(turns) as model,
        # Waiting for a heartbeat would take far longer than this test waits.
        open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval="300s") as scene,
    ):
        first, _ = await scene.fleet.start("first", "second")
        session_id = await first.submit()
        async with reading_feed(scene.store, session_id) as feed:
            await eventually(lambda: any(event["type"] == "stream.chunk" for event in feed.transient))
            owner, other = await scene.owner_and_other(session_id)
            answer = await other.cancel(session_id)
            assert (answer.status_code, answer.json()["status"]) == (200, "cancelling")
            assert await scene.ended(session_id) is SessionStatus.CANCELLED
            await feed.check_whole()
            feed.check_streams_closed()
        await model.disconnected.wait()
        await eventually(owner.is_idle_and_healthy)
        shown = await owner.show(session_id)
        assert {stage["status"] for stage in shown["stages"]} == {"cancelled"}
        statuses = [entry["status"] for entry in await owner.show_timeline(session_id)]
        assert (statuses.count("streaming"), statuses.count("cancelled")) == (0, 2), "thinking and text"
        assert (await owner.cancel(session_id)).status_code == 409


async def test_a_session_whose_tool_is_at_work_is_cancelled(dsn: str, tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    turns = by_turn([call("slow_write", name="pump", hold=str(hold)), CONCLUSION])
    async with serve(turns) as model, open_scene(tmp_path, model=model, dsn=dsn) as scene:
        (replica,) = await scene.fleet.start("only")
        session_id = await replica.submit()
        async with reading_feed(scene.store, session_id) as feed:
            await eventually(lambda: scene.effects("slow_write"))
            await replica.cancel(session_id)
            assert await scene.ended(session_id) is SessionStatus.CANCELLED
            await feed.check_whole()
            feed.check_streams_closed()
        assert len(scene.effects("slow_write")) == 1


async def test_a_session_whose_owner_was_just_killed_ends_as_cancelled(dsn: str, tmp_path: Path) -> None:
    never = asyncio.Event()
    async with (
        serve(by_turn([look("pump"), CONCLUSION]), before_turn=hold_turn(1, release=never)) as model,
        open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene,
    ):
        first, _ = await scene.fleet.start("first", "second")
        session_id = await first.submit()
        async with reading_feed(scene.store, session_id) as feed:
            await scene.asked(1)
            owner, other = await scene.owner_and_other(session_id)
            await owner.kill()
            answer = await other.cancel(session_id)
            assert (answer.status_code, answer.json()["status"]) == (200, "cancelling")
            assert await scene.ended(session_id) is SessionStatus.CANCELLED
            await feed.check_whole()
            feed.check_streams_closed()
        assert len(scene.requests(1)) == 1


async def test_a_cancel_that_races_the_end_is_either_obeyed_or_refused(dsn: str, tmp_path: Path) -> None:
    gates = [asyncio.Event() for _ in range(8)]

    def answer(body: Body) -> Reply:
        number = next(n for n in range(8) if f"Number {n}." in str(body))
        return stall_after(CONCLUSION, 1, release=gates[number])

    async with (
        serve(answer) as model,
        open_scene(tmp_path, model=model, dsn=dsn, worker_count=8, max_concurrent_sessions=8) as scene,
    ):
        first, second = await scene.fleet.start("first", "second")
        sessions = [await first.submit(f"Number {n}.") for n in range(8)]
        await scene.asked(0, times=8)
        async with AsyncExitStack() as feeds:
            readers = [await feeds.enter_async_context(reading_feed(scene.store, session)) for session in sessions]
            for number, session_id in enumerate(sessions):
                gates[number].set()
                if number % 2:
                    # Half of them a little later: when the model's words have reached the feed.
                    await eventually(lambda reader=readers[number]: len(reader.stored) > 4)
                said = (await second.cancel(session_id)).status_code
                ending = await scene.ended(session_id)
                assert (said, ending) in ((200, SessionStatus.CANCELLED), (409, SessionStatus.COMPLETED))
                await readers[number].check_whole()
                readers[number].check_streams_closed()
        outbox = await scene.fetch("SELECT count(*) AS n FROM outbox GROUP BY session_id")
        assert [row["n"] for row in outbox] == [1] * 8
