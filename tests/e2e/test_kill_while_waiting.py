"""Replicas killed with `kill -9` around a question to a person: it waits in the database, and so does the answer."""

from pathlib import Path
from typing import Any
from uuid import UUID

from midwatch.domain.session import SessionStatus
from midwatch.safety.approvals import Undecidable
from midwatch.store.approvals import lock_question, settle_question
from midwatch.store.parking import tell_decision
from tests.fakes.openai_server import by_turn, serve
from tests.feed_reader import reading_feed
from tests.replicas import Replica
from tests.safety.requirements import requirement
from tests.scenes import BRIEF, CONCLUSION, Scene, call, look, open_scene
from tests.waiting import eventually

APPROVALS = "/api/v1/approvals"
TURNS = by_turn([look("pump"), call("restart", name="pump"), look("after"), CONCLUSION])


async def find_waiting(replica: Replica) -> dict[str, Any]:
    async def ask() -> dict[str, Any] | None:
        listed = (await replica.http.get(APPROVALS, params={"state": "waiting"})).json()["approvals"]
        return listed[0] if listed else None

    return await eventually(ask)


async def is_parked(scene: Scene, session_id: UUID) -> bool:
    return (await scene.session(session_id))["parked"]


async def approve(scene: Scene, replica: Replica, approval_id: str) -> None:
    secret = scene.fleet.read_secret()
    answer = await replica.http.post(f"{APPROVALS}/{approval_id}/approve", json={}, headers=secret)
    assert answer.status_code == 200, answer.text


@requirement("parking:survives", "parking:goes-on")
async def test_a_question_outlives_whoever_asked_and_another_replica_goes_on(dsn: str, tmp_path: Path) -> None:
    async with (
        serve(TURNS) as model,
        open_scene(tmp_path, model=model, dsn=dsn, level="controlled", heartbeat_interval=BRIEF) as scene,
    ):
        (first,) = await scene.fleet.start("first")
        session_id = await first.submit()
        async with reading_feed(scene.store, session_id) as feed:
            waiting = await find_waiting(first)
            await eventually(lambda: is_parked(scene, session_id))
            await first.kill()
            (second,) = await scene.fleet.start("second")
            assert await find_waiting(second) == waiting | {"models_words": waiting["models_words"]}
            assert scene.effects("restart") == []
            await approve(scene, second, waiting["approval_id"])
            assert await scene.ended(session_id) is SessionStatus.COMPLETED
            await feed.check_whole()
        assert len(scene.effects("restart")) == 1
        session = await scene.session(session_id)
        assert (session["attempts"], session["waiting_for"]) == (0, None)
        await scene.check_dispatches(session_id)


@requirement("parking:survives")
async def test_a_decision_that_nobody_was_told_of_is_found(dsn: str, tmp_path: Path) -> None:
    """Whoever decided died between the commit and the call to the workers."""
    async with (
        serve(TURNS) as model,
        open_scene(tmp_path, model=model, dsn=dsn, level="controlled", heartbeat_interval=BRIEF) as scene,
    ):
        (first,) = await scene.fleet.start("first")
        session_id = await first.submit()
        waiting = await find_waiting(first)
        await eventually(lambda: is_parked(scene, session_id))
        async with scene.store.begin() as tx:
            question = await lock_question(tx, UUID(waiting["approval_id"]))
            decided = await settle_question(tx, question, is_approved=True, by="ada", reason="")
            assert not isinstance(decided, Undecidable)
            await tell_decision(tx, decided)
        assert await scene.ended(session_id) is SessionStatus.COMPLETED
        assert len(scene.effects("restart")) == 1


@requirement("parking:survives", "approval:single-use")
async def test_killed_as_soon_as_the_answer_is_yes_the_call_runs_at_most_once(dsn: str, tmp_path: Path) -> None:
    async with (
        serve(TURNS) as model,
        open_scene(tmp_path, model=model, dsn=dsn, level="controlled", heartbeat_interval=BRIEF) as scene,
    ):
        (first,) = await scene.fleet.start("first")
        session_id = await first.submit()
        waiting = await find_waiting(first)
        await eventually(lambda: is_parked(scene, session_id))
        await approve(scene, first, waiting["approval_id"])
        await eventually(lambda: is_taken_up(scene, session_id))
        await first.kill()
        await scene.fleet.start("second")
        assert await scene.ended(session_id) is SessionStatus.COMPLETED
        assert len(scene.effects("restart")) <= 1
        await scene.check_dispatches(session_id)


async def is_taken_up(scene: Scene, session_id: UUID) -> bool:
    session = await scene.session(session_id)
    return session["epoch"] > 1


@requirement("stop:no-gap")
async def test_a_stop_gives_up_on_a_change_that_another_replica_is_making(dsn: str, tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    turns = by_turn([look("pump"), call("slow_write", name="pump", hold=str(hold)), look("after"), CONCLUSION])
    async with serve(turns) as model, open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene:
        first, _ = await scene.fleet.start("first", "second")
        session_id = await first.submit()
        await eventually(lambda: scene.effects("slow_write"))
        _, other = await scene.owner_and_other(session_id)
        answer = await other.http.post(
            "/api/v1/system/emergency-stop", json={"reason": "wrong pump"}, headers=scene.fleet.read_secret()
        )
        assert answer.status_code == 201
        assert len(answer.json()["cancelled_calls"]) == 1
        states = await eventually(lambda: find_given_up(scene, session_id))
        assert states == ["unknown"]
        hold.unlink()


async def find_given_up(scene: Scene, session_id: UUID) -> list[str]:
    calls = await scene.calls(session_id)
    return [row["state"] for row in calls if row["tool_name"] == "deck.slow_write" and row["state"] != "started"]
