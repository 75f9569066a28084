"""Questions over several replicas: killed, frozen, drained and cancelled, an answer ends once and blocks nobody."""

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from midwatch.domain.session import SessionStatus, WorkStatus
from midwatch.llm.scripted import ScriptedTurn
from tests.fakes.openai_server import Answer, Body, Reply, count_turns, serve, stall_after
from tests.feed_reader import FeedReader, reading_feed
from tests.replicas import Replica
from tests.scenes import BRIEF, CONCLUSION, Scene, call, change, look, open_scene
from tests.waiting import eventually

QUESTION = "Whose watch was it?"
FOLLOW_UP = "And now?"
ANSWER = ScriptedTurn(text="It was the mate's.")


def talk(*replies: Reply) -> Answer:
    """These for whoever is asked the question, in turn; everybody else concludes."""

    def answer(body: Body) -> Reply:
        said = str(body["messages"])
        if QUESTION not in said or FOLLOW_UP in said:
            return CONCLUSION
        return replies[count_turns(body)] if count_turns(body) < len(replies) else ANSWER

    return answer


def talks(scene: Scene, turn: int) -> list[Body]:
    return [body for body in scene.requests(turn) if QUESTION in str(body["messages"])]


async def ended_session(scene: Scene, replica: Replica) -> UUID:
    session_id = await replica.submit()
    assert await scene.ended(session_id) is SessionStatus.COMPLETED
    return session_id


async def ask(replica: Replica, session_id: UUID, content: str = QUESTION) -> int:
    path = f"/api/v1/sessions/{session_id}/chat/messages"
    return (await replica.http.post(path, json={"content": content})).status_code


async def stages(scene: Scene, session_id: UUID) -> list[WorkStatus]:
    rows = await scene.fetch(
        "SELECT status FROM stages WHERE session_id = $1 AND stage_type = 'chat' ORDER BY stage_index", session_id
    )
    return [WorkStatus(row["status"]) for row in rows]


async def answered(scene: Scene, session_id: UUID) -> WorkStatus:
    async def look_for_end() -> WorkStatus | None:
        last = (await stages(scene, session_id))[-1]
        return last if last.is_terminal else None

    return await eventually(look_for_end, within=40)


async def owner_and_other(scene: Scene, session_id: UUID) -> tuple[Replica, Replica]:
    async def find() -> str | None:
        rows = await scene.fetch("SELECT pod_id FROM chats WHERE session_id = $1", session_id)
        return rows[0]["pod_id"]

    pod = await eventually(find)
    living = [each for each in scene.fleet.replicas if each.process.returncode is None]
    (owner,) = [each for each in living if each.name == pod]
    (other,) = [each for each in living if each is not owner]
    return owner, other


def chat_ends(feed: FeedReader) -> list[dict[str, Any]]:
    events = [event for event in feed.stored if event["type"] == "stage.status" and event["stage_type"] == "chat"]
    return [event for event in events if event["status"] != "started"]


async def check_feed(feed: FeedReader, ends: Sequence[str]) -> None:
    """Every stored event once and in order, and each question has ended once."""
    await eventually(lambda: len(chat_ends(feed)) == len(ends))
    assert [event["status"] for event in chat_ends(feed)] == list(ends)
    assert [event["db_event_id"] for event in feed.stored] == list(range(1, len(feed.stored) + 1))
    assert len(feed.endings) == 1, "the session itself ended long before"
    feed.check_streams_closed(transient=False)


async def test_an_answer_whose_replica_is_killed_goes_on_elsewhere_with_what_was_finished(
    dsn: str, tmp_path: Path
) -> None:
    release = asyncio.Event()
    turns = talk(change("pump"), look("pump"), stall_after(ANSWER, 1, release=release))
    async with serve(turns) as model, open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene:
        first, _ = await scene.fleet.start("first", "second")
        session_id = await ended_session(scene, first)
        async with reading_feed(scene.store, session_id) as feed:
            assert await ask(first, session_id) == 202
            await eventually(lambda: talks(scene, 2))
            owner, other = await owner_and_other(scene, session_id)
            assert await ask(other, session_id) == 409
            await owner.kill()
            await eventually(lambda: len(talks(scene, 2)) == 2)
            release.set()
            assert await answered(scene, session_id) is WorkStatus.COMPLETED
            assert await ask(other, session_id) == 202
            assert await answered(scene, session_id) is WorkStatus.COMPLETED
            await check_feed(feed, ["completed", "completed"])
        assert [len(scene.effects(tool)) for tool in ("lookup", "restart")] == [2, 2], "once for each question"
        again = [body["messages"] for body in talks(scene, 2)[:2]]
        assert again[0] == again[1]
        shown = await other.show(session_id)
        assert (shown["status"], shown["attempts"], shown["chat_message_count"]) == ("completed", 0, 2)


async def test_a_change_that_was_in_flight_for_an_answer_is_never_sent_again(dsn: str, tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    turns = talk(call("slow_write", name="pump", hold=str(hold)), ANSWER)
    async with serve(turns) as model, open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene:
        first, _ = await scene.fleet.start("first", "second")
        session_id = await ended_session(scene, first)
        assert await ask(first, session_id) == 202
        await eventually(lambda: scene.effects("slow_write"))
        owner, _ = await owner_and_other(scene, session_id)
        await owner.kill()
        assert await answered(scene, session_id) is WorkStatus.COMPLETED
        assert [entry["state"] for entry in scene.effects("slow_write")].count("begin") == 1
        assert [(row["state"], row["error_code"]) for row in await scene.calls(session_id)] == [
            ("unknown", "OUTCOME_UNKNOWN")
        ]
        assert "Outcome unknown" in str(talks(scene, 1)[-1])


@pytest.mark.parametrize("frozen", [False, True])
async def test_an_answer_is_cancelled_from_another_replica_or_after_its_own_was_lost(
    dsn: str, tmp_path: Path, *, frozen: bool
) -> None:
    turns = talk(look("pump"), stall_after(ANSWER, 1, release=asyncio.Event()))
    async with serve(turns) as model, open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene:
        first, _ = await scene.fleet.start("first", "second")
        session_id = await ended_session(scene, first)
        async with reading_feed(scene.store, session_id) as feed:
            assert await ask(first, session_id) == 202
            await eventually(lambda: talks(scene, 1))
            owner, other = await owner_and_other(scene, session_id)
            if frozen:
                owner.freeze()
            assert (await other.cancel(session_id)).status_code == 200
            assert await answered(scene, session_id) is WorkStatus.CANCELLED
            if frozen:
                owner.thaw()
            await check_feed(feed, ["cancelled"])
            assert (await other.cancel(session_id)).status_code == 409
        await eventually(owner.is_idle_and_healthy)
        assert await ask(owner, session_id, FOLLOW_UP) == 202
        assert await answered(scene, session_id) is WorkStatus.COMPLETED
        assert await stages(scene, session_id) == [WorkStatus.CANCELLED, WorkStatus.COMPLETED]
        assert (await scene.session(session_id))["status"] == "completed"


async def test_a_drained_replica_takes_no_questions_and_hands_its_answer_over(dsn: str, tmp_path: Path) -> None:
    release = asyncio.Event()
    turns = talk(look("pump"), stall_after(ANSWER, 1, release=release))
    async with (
        serve(turns) as model,
        # With a lease this long nobody could go on so soon unless it was released.
        open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval="60s", graceful_shutdown_timeout="3s") as scene,
    ):
        first, _ = await scene.fleet.start("first", "second")
        session_id, untouched = [await ended_session(scene, first) for _ in range(2)]
        async with reading_feed(scene.store, session_id) as feed:
            assert await ask(first, session_id) == 202
            await eventually(lambda: talks(scene, 1))
            owner, other = await owner_and_other(scene, session_id)
            owner.process.send_signal(signal.SIGTERM)
            await eventually(lambda: owner.logged("draining"))
            assert await ask(owner, untouched) == 503
            assert await owner.exit_status() == 0
            await eventually(lambda: len(talks(scene, 1)) == 2)
            release.set()
            assert await answered(scene, session_id) is WorkStatus.COMPLETED
            await check_feed(feed, ["completed"])
        assert len(scene.effects("lookup")) == 1
        assert await ask(other, untouched) == 202


async def test_a_question_that_nobody_gets_any_further_with_is_given_up_and_blocks_nobody(
    dsn: str, tmp_path: Path
) -> None:
    stuck = talk(stall_after(ANSWER, 1, release=asyncio.Event()))
    async with serve(stuck) as model, open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene:
        (replica,) = await scene.fleet.start("first")
        session_id = await ended_session(scene, replica)
        assert await ask(replica, session_id) == 202
        for attempt in range(4):
            await eventually(lambda attempt=attempt: len(talks(scene, 0)) >= attempt + 1)
            await replica.kill()
            (replica,) = await scene.fleet.start(f"attempt {attempt}")
        assert await answered(scene, session_id) is WorkStatus.FAILED
        (row,) = await scene.fetch("SELECT error_message FROM stages WHERE stage_type = 'chat'")
        assert "given up: 3 replicas in a row took the question over" in row["error_message"]
        assert await ask(replica, session_id, FOLLOW_UP) == 202
        assert await answered(scene, session_id) is WorkStatus.COMPLETED


async def test_an_answer_that_takes_too_long_ends_as_timed_out(dsn: str, tmp_path: Path) -> None:
    stuck = talk(look("pump"), stall_after(ANSWER, 1, release=asyncio.Event()))
    async with serve(stuck) as model, open_scene(tmp_path, model=model, dsn=dsn, session_timeout="3s") as scene:
        (replica,) = await scene.fleet.start("only")
        session_id = await ended_session(scene, replica)
        async with reading_feed(scene.store, session_id) as feed:
            assert await ask(replica, session_id) == 202
            assert await answered(scene, session_id) is WorkStatus.TIMED_OUT
            await check_feed(feed, ["timed_out"])
        executions = await scene.fetch(
            "SELECT e.status FROM agent_executions e JOIN stages s USING (stage_id) WHERE s.stage_type = 'chat'"
        )
        assert [row["status"] for row in executions] == ["timed_out"]
        assert (await scene.session(session_id))["status"] == "completed"
