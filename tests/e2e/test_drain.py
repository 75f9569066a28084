"""Replicas that are asked to stop."""

import asyncio
import signal
from pathlib import Path

import pytest

from midwatch.domain.session import SessionStatus
from tests.fakes.openai_server import by_turn, hold_turn, serve
from tests.feed_reader import reading_feed
from tests.replicas import all_dead_soon
from tests.scenes import CONCLUSION, change, look, open_scene
from tests.waiting import eventually


@pytest.mark.parametrize("asked_by", [signal.SIGTERM, signal.SIGINT])
async def test_a_drained_replica_hands_its_session_over(dsn: str, tmp_path: Path, asked_by: signal.Signals) -> None:
    release = asyncio.Event()
    turns = by_turn([change("pump"), look("pump"), CONCLUSION])
    async with (
        serve(turns, before_turn=hold_turn(2, release=release)) as model,
        # With a lease this long nobody could go on so soon unless it was released.
        open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval="60s") as scene,
    ):
        first, _ = await scene.fleet.start("first", "second")
        session_id = await first.submit()
        async with reading_feed(scene.store, session_id) as feed:
            await scene.asked(2)
            owner, other = await scene.owner_and_other(session_id)
            children = owner.children()
            assert children, "its tool server"
            owner.process.send_signal(asked_by)
            assert await owner.exit_status() == 0
            await scene.asked(2, times=2)
            release.set()
            assert await scene.ended(session_id) is SessionStatus.COMPLETED
            await feed.check_whole()
            feed.check_streams_closed()
        assert all_dead_soon(children)
        session = await scene.session(session_id)
        assert (session["attempts"], session["epoch"], session["pod_id"]) == (0, 2, other.name)
        assert len(scene.effects("restart")) == len(scene.effects("lookup")) == 1
        await scene.check_dispatches(session_id)


async def test_a_draining_replica_takes_nothing_new_and_stops_at_its_next_commit(dsn: str, tmp_path: Path) -> None:
    release = asyncio.Event()
    async with (
        serve(by_turn([change("pump"), look("pump"), CONCLUSION]), before_turn=hold_turn(0, release=release)) as model,
        open_scene(tmp_path, model=model, dsn=dsn, graceful_shutdown_timeout="60s") as scene,
    ):
        (leaving,) = await scene.fleet.start("leaving")
        started = await leaving.submit()
        await scene.asked(0)
        leaving.process.send_signal(signal.SIGTERM)
        await eventually(lambda: leaving.logged("draining"))
        waiting = await leaving.submit()
        release.set()
        assert await leaving.exit_status() == 0
        assert (await scene.session(waiting))["status"] == "pending"
        assert (await scene.session(started))["status"] == "in_progress"
        assert scene.effects("restart") == []
        await scene.fleet.start("staying")
        for session_id in (started, waiting):
            assert await scene.ended(session_id) is SessionStatus.COMPLETED
        assert (await scene.session(started))["attempts"] == 0


async def test_a_second_signal_ends_a_draining_replica_at_once(dsn: str, tmp_path: Path) -> None:
    release = asyncio.Event()
    async with (
        serve(by_turn([look("pump"), CONCLUSION]), before_turn=hold_turn(1, release=release)) as model,
        open_scene(tmp_path, model=model, dsn=dsn, graceful_shutdown_timeout="600s") as scene,
    ):
        first, _ = await scene.fleet.start("first", "second")
        session_id = await first.submit()
        await scene.asked(1)
        owner, _ = await scene.owner_and_other(session_id)
        children = owner.children()
        owner.process.send_signal(signal.SIGINT)
        await eventually(lambda: owner.logged("draining"))
        owner.process.send_signal(signal.SIGINT)
        assert await owner.exit_status() == 1
        assert all_dead_soon(children)
        release.set()
        assert await scene.ended(session_id) is SessionStatus.COMPLETED
        assert len(scene.effects("lookup")) == 1
