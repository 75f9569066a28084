"""Replicas killed with `kill -9`: what they had finished stands, and another goes on."""

import asyncio
import random
from pathlib import Path

from midwatch.domain.session import SessionStatus
from tests.fakes.openai_server import SUMMARY, by_turn, hold_turn, serve
from tests.feed_reader import FeedReader, reading_feed
from tests.scenes import BRIEF, CONCLUSION, Scene, call, change, look, open_scene
from tests.waiting import eventually


async def test_killed_during_a_model_call_the_session_goes_on_with_what_was_finished(dsn: str, tmp_path: Path) -> None:
    release = asyncio.Event()
    turns = by_turn([change("pump"), look("pump", "valve"), CONCLUSION])
    async with (
        serve(turns, before_turn=hold_turn(2, release=release)) as model,
        open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene,
    ):
        first, _ = await scene.fleet.start("first", "second")
        session_id = await first.submit()
        async with reading_feed(scene.store, session_id) as feed:
            await scene.asked(2)
            owner, other = await scene.owner_and_other(session_id)
            await owner.kill()
            await scene.asked(2, times=2)
            assert (await scene.session(session_id))["attempts"] == 1
            release.set()
            assert await scene.ended(session_id) is SessionStatus.COMPLETED
            await feed.check_whole()
            feed.check_streams_closed()
        assert [len(scene.effects("lookup", key=key)) for key in ("pump", "valve")] == [1, 1]
        assert len(scene.effects("restart")) == 1
        await scene.check_dispatches(session_id)
        assert scene.requests(2)[0]["messages"] == scene.requests(2)[1]["messages"]
        shown = await other.show(session_id)
        assert (shown["status"], shown["attempts"], len(shown["resumed_at"])) == ("completed", 1, 1)
        assert shown["final_analysis"] == CONCLUSION.text
        entries = await other.show_timeline(session_id)
        assert [entry["event_type"] for entry in entries].count("session_resumed") == 1
        assert [entry["content"] for entry in entries if entry["event_type"] == "final_analysis"] == [
            CONCLUSION.text,
            SUMMARY.text,
        ]


async def test_a_read_that_was_in_flight_runs_again_once(dsn: str, tmp_path: Path) -> None:
    turns = by_turn([look("pump"), call("slow_read", seconds=2), CONCLUSION])
    async with serve(turns) as model, open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene:
        first, _ = await scene.fleet.start("first", "second")
        session_id = await first.submit()
        async with reading_feed(scene.store, session_id) as feed:
            await eventually(lambda: scene.effects("slow_read"))
            owner, _ = await scene.owner_and_other(session_id)
            await owner.kill()
            assert await scene.ended(session_id) is SessionStatus.COMPLETED
            await feed.check_whole()
            feed.check_streams_closed()
        assert [len(scene.effects(tool)) for tool in ("lookup", "slow_read")] == [1, 2]
        await scene.check_dispatches(session_id)
        assert [row["state"] for row in await scene.calls(session_id)] == ["finished", "finished"]


async def test_a_write_that_was_in_flight_is_never_sent_again(dsn: str, tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    turns = by_turn([call("slow_write", name="pump", hold=str(hold)), CONCLUSION])
    async with serve(turns) as model, open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene:
        first, _ = await scene.fleet.start("first", "second")
        session_id = await first.submit()
        async with reading_feed(scene.store, session_id) as feed:
            await eventually(lambda: scene.effects("slow_write"))
            owner, other = await scene.owner_and_other(session_id)
            await owner.kill()
            assert await scene.ended(session_id) is SessionStatus.COMPLETED
            await feed.check_whole()
            feed.check_streams_closed()
        assert [entry["state"] for entry in scene.effects("slow_write")].count("begin") == 1
        assert [(row["state"], row["error_code"]) for row in await scene.calls(session_id)] == [
            ("unknown", "OUTCOME_UNKNOWN")
        ]
        told = scene.requests(1)[-1]["messages"][-1]
        assert (told["role"], told["tool_call_id"]) == ("tool", "call_0_0")
        assert "Outcome unknown" in told["content"]
        entries = await other.show_timeline(session_id)
        assert [entry["status"] for entry in entries if entry["event_type"] == "llm_tool_call"] == ["interrupted"]


async def test_killed_again_and_again_a_session_still_ends_once_and_no_write_is_sent_twice(
    dsn: str, tmp_path: Path
) -> None:
    servers = ("deck", "engine")
    turns = [turn for n in range(5) for turn in (look(f"a{n}", f"b{n}"), change(f"pump {n}", server=servers[n % 2]))]
    async with (
        serve(by_turn([*turns, CONCLUSION]), delay=0.15) as model,
        open_scene(tmp_path, model=model, dsn=dsn, servers=servers, heartbeat_interval="500ms") as scene,
    ):
        first, _ = await scene.fleet.start("first", "second")
        session_id = await first.submit()
        async with reading_feed(scene.store, session_id) as feed:
            await _kill_owners(scene, feed, kills=6, chance=random.Random(20))
            assert await scene.ended(session_id) is SessionStatus.COMPLETED
            await feed.check_whole()
            feed.check_streams_closed(transient=False)
        await scene.check_dispatches(session_id)


async def _kill_owners(scene: Scene, feed: FeedReader, *, kills: int, chance: random.Random) -> None:
    """Each as soon as the session is a few events further than when its last owner died."""
    for number in range(kills):
        target = len(feed.stored) + chance.randint(3, 9)
        await eventually(lambda target=target: feed.endings or len(feed.stored) >= target)
        if feed.endings:
            return
        owner = await eventually(lambda: scene.living_owner(feed.session_id))
        await owner.kill()
        await scene.fleet.start(f"replacement {number}")


async def test_a_session_that_nobody_gets_any_further_with_is_given_up(dsn: str, tmp_path: Path) -> None:
    never = asyncio.Event()
    async with (
        serve(by_turn([CONCLUSION]), before_turn=hold_turn(0, release=never)) as model,
        open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval="500ms") as scene,
    ):
        first, last = await scene.fleet.start("first", "last")
        session_id = await first.submit()
        async with reading_feed(scene.store, session_id) as feed:
            for attempt in range(4):
                await scene.asked(0, times=attempt + 1)
                owner = await eventually(lambda: scene.living_owner(session_id))
                await owner.kill()
                if attempt < 3:
                    last, *_ = await scene.fleet.start(f"attempt {attempt}")
            assert await scene.ended(session_id) is SessionStatus.FAILED
            await feed.check_whole()
        shown = await last.show(session_id)
        assert "given up: 3 replicas in a row" in shown["error_message"]
        assert {stage["status"] for stage in shown["stages"]} == {"failed"}
        assert len(scene.requests(0)) == 4
