"""Replicas frozen for longer than their lease, by accident and at the worst places."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from uuid import UUID

import pytest

from midwatch.domain.session import SessionStatus
from tests.fakes.openai_server import by_turn, serve
from tests.fault_points import FaultPoint, holding, install_fault_points
from tests.feed_reader import reading_feed
from tests.replicas import Replica
from tests.scenes import BRIEF, CONCLUSION, Scene, change, look, open_scene
from tests.waiting import eventually


async def test_frozen_during_a_model_call_the_old_owner_stops_and_commits_nothing(dsn: str, tmp_path: Path) -> None:
    for_the_old, for_the_new = asyncio.Event(), asyncio.Event()
    answers = iter((for_the_old,))

    async def hold_second_turn(turn: int) -> None:
        if turn == 1:
            await next(answers, for_the_new).wait()

    async with (
        serve(by_turn([change("pump"), look("pump"), CONCLUSION]), before_turn=hold_second_turn) as model,
        open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene,
    ):
        first, _ = await scene.fleet.start("first", "second")
        session_id = await first.submit()
        async with reading_feed(scene.store, session_id) as feed:
            await scene.asked(1)
            owner, other = await scene.owner_and_other(session_id)
            owner.freeze()
            await scene.asked(1, times=2)
            # The old owner has its answer before the new one: nothing but the fence is between it and a commit.
            for_the_old.set()
            owner.thaw()
            await eventually(owner.is_idle_and_healthy)
            for_the_new.set()
            assert await scene.ended(session_id) is SessionStatus.COMPLETED
            await feed.check_whole()
            feed.check_streams_closed(transient=False)
        session = await scene.session(session_id)
        assert (session["pod_id"], session["epoch"], session["attempts"]) == (other.name, 2, 1)
        assert len(scene.effects("restart")) == 1
        assert len(scene.effects("lookup")) == 1
        await scene.check_dispatches(session_id)
        rows = await scene.fetch(
            "SELECT count(*) AS n FROM messages JOIN stages USING (stage_id) "
            "WHERE messages.session_id = $1 AND stage_type = 'investigation'",
            session_id,
        )
        assert rows[0]["n"] == 2 + 3 + 2, "two to open, three of the model, two of tools"
        assert owner.process.returncode is None
        await other.kill()
        later = await owner.submit()
        assert await scene.ended(later) is SessionStatus.COMPLETED


@pytest.mark.parametrize(
    "points", [(FaultPoint.STAGE,), (FaultPoint.STARTING,), (FaultPoint.STARTING, FaultPoint.FENCE)]
)
async def test_frozen_inside_a_transaction_nobody_waits_for_it_for_long(
    dsn: str, tmp_path: Path, points: tuple[FaultPoint, ...]
) -> None:
    async with (
        serve(by_turn([change("pump"), look("pump"), CONCLUSION])) as model,
        open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene,
    ):
        session_id, owner, other = await _freeze_at(scene, *points)
        async with reading_feed(scene.store, session_id) as feed:
            assert await scene.ended(session_id) is SessionStatus.COMPLETED
            owner.thaw()
            await eventually(owner.is_idle_and_healthy)
            await feed.check_whole()
            feed.check_streams_closed()
        assert (await scene.session(session_id))["pod_id"] == other.name
        assert [row["state"] for row in await scene.calls(session_id)] == ["finished", "finished"]
        assert len(scene.effects("restart")) == 1
        await scene.check_dispatches(session_id)


async def _freeze_at(scene: Scene, *points: FaultPoint) -> tuple[UUID, Replica, Replica]:
    """Follows the owner of a new session from point to point, freezes it at the last, and lets everybody else go on."""
    async with scene.store.connect() as tx:
        await install_fault_points(tx)
    first, _ = await scene.fleet.start("first", "second")
    async with AsyncExitStack() as here:
        held = await here.enter_async_context(holding(scene.store, points[0]))
        session_id = await first.submit()
        await held.reached()
        for point in points[1:]:
            passed = here.pop_all()
            held = await here.enter_async_context(holding(scene.store, point))
            await passed.aclose()
            await held.reached()
        owner, other = await scene.owner_and_other(session_id)
        owner.freeze()
    return session_id, owner, other


async def test_frozen_inside_a_claim_others_claim_again_soon(dsn: str, tmp_path: Path) -> None:
    async with (
        serve(by_turn([look("pump"), CONCLUSION])) as model,
        open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene,
    ):
        async with scene.store.connect() as tx:
            await install_fault_points(tx)
        (frozen,) = await scene.fleet.start("frozen")
        async with holding(scene.store, FaultPoint.CLAIM) as held:
            caught = await frozen.submit()
            await held.reached()
            frozen.freeze()
        (other,) = await scene.fleet.start("other")
        sessions = [caught, await other.submit()]
        for session_id in sessions:
            async with reading_feed(scene.store, session_id) as feed:
                assert await scene.ended(session_id) is SessionStatus.COMPLETED
                await feed.check_whole()
            assert (await scene.session(session_id))["pod_id"] == other.name
        frozen.thaw()
        await eventually(frozen.is_idle_and_healthy)
        assert len(scene.effects("lookup")) == 2
        assert [(await scene.session(session_id))["epoch"] for session_id in sessions] == [1, 1]
        await other.kill()
        assert await scene.ended(await frozen.submit()) is SessionStatus.COMPLETED


async def test_frozen_between_started_and_dispatch_a_write_is_sent_by_nobody(dsn: str, tmp_path: Path) -> None:
    async with (
        serve(by_turn([look("pump"), change("pump"), CONCLUSION])) as model,
        open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene,
    ):
        session_id, owner, other = await _freeze_at(scene, FaultPoint.STARTED)
        async with reading_feed(scene.store, session_id) as feed:
            assert await scene.ended(session_id) is SessionStatus.COMPLETED
            owner.thaw()
            await eventually(owner.is_idle_and_healthy)
            await feed.check_whole()
            feed.check_streams_closed()
        assert scene.effects("restart") == []
        assert [row["state"] for row in await scene.calls(session_id)] == ["finished", "unknown"]
        assert "Outcome unknown" in scene.requests(2)[-1]["messages"][-1]["content"]
        assert (await scene.session(session_id))["pod_id"] == other.name
