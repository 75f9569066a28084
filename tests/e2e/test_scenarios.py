"""Chains that go well, half well and wrong, as clients live through them: over HTTP and WebSocket alone."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.fakes.openai_server import SUMMARY, Reply, serve, stall_after
from tests.replicas import Replica
from tests.voyages import (
    Json,
    Voyage,
    ask,
    by_agent,
    cancel,
    chain,
    ended,
    hear_each,
    of_type,
    open_voyage,
    read,
    stage,
    statuses,
    submit,
    watching,
)
from tests.waiting import eventually

NO_KEY = ScriptedTurn(error=ModelUnavailable("no key", code="credentials", retryable=False))
AGENTS = {name: {"mcp_servers": ["deck"]} for name in ("Bosun", "Stoker", "Mate")}


def say(text: str) -> ScriptedTurn:
    return ScriptedTurn(text=text)


def call_of(tool: str, **arguments: Any) -> ScriptedCall:
    return ScriptedCall(name=f"deck.{tool}", arguments=arguments)


def look(*calls: ScriptedCall) -> ScriptedTurn:
    return ScriptedTurn(text="I look.", calls=calls)


PARTS: Mapping[str, Sequence[Reply]] = {
    "Bosun": [look(call_of("echo", text="stuck")), say("The valve is stuck.")],
    "Stoker": [look(call_of("echo", text="quiet")), say("The engine is quiet.")],
    "SynthesisAgent": [say("One cause: a stuck valve.")],
    "Mate": [say("Grease the valve.")],
    "ChatAgent": [say("Nobody greased it.")],
}


@asynccontextmanager
async def sail(
    folder: Path, dsn: str, *, parts: Mapping[str, Sequence[Reply]], policy: str = "any", **queue: Any
) -> AsyncGenerator[Voyage]:
    """Two agents side by side, then one: each plays its usual part unless it is given another."""
    chains = chain("watch", stage("look", "Bosun", "Stoker", success_policy=policy), stage("decide", "Mate"))
    async with (
        serve(by_agent({**PARTS, **parts})) as model,
        open_voyage(folder, model=model, dsn=dsn, chains=chains, agents=AGENTS, queue=queue) as voyage,
    ):
        yield voyage


def stall(words: str, *, release: asyncio.Event | None = None) -> Reply:
    """Some words, and then no more before it is released, or ever."""
    turn = ScriptedTurn(text=words, chunk_size=4)
    return stall_after(turn, 2, release=release or asyncio.Event())


def told(events: Sequence[Json], kind: str, *fields: str) -> list[tuple[Any, ...]]:
    return [tuple(event[field] for field in fields) for event in of_type(events, kind)]


def check_streams_closed(events: Sequence[Json]) -> None:
    begun = {event["event_id"] for event in of_type(events, "timeline_event.created") if event["status"] == "streaming"}
    assert begun == {event["event_id"] for event in of_type(events, "timeline_event.completed")}


async def test_one_agent_of_two_fails_and_the_chain_goes_on_with_what_the_other_found(dsn: str, tmp_path: Path) -> None:
    async with sail(tmp_path, dsn, parts={"Bosun": [NO_KEY]}) as voyage:
        (replica,) = await voyage.fleet.start("only")
        session_id = await submit(replica, "watch")
        async with watching(replica, f"session:{session_id}") as watcher:
            events = await watcher.hear_until(type="session.status", status="completed")
        session = await read(replica, session_id)
    first, *later = session["stages"]
    bosun, stoker = first["executions"]
    assert (bosun["status"], stoker["status"], first["status"]) == ("failed", "completed", "completed")
    assert "no key" in bosun["error_message"]
    assert first["error_message"] is None
    assert {each["status"] for each in later} == {"completed"}
    (asked,) = voyage.asked("SynthesisAgent")
    prompt = asked["messages"][1]["content"]
    assert "Stage look: 1/2 agents succeeded." in prompt
    assert "no key" in prompt.partition("### Agent 2: Stoker")[0]
    assert "One cause: a stuck valve." in voyage.asked("Mate")[0]["messages"][1]["content"]
    assert (session["final_analysis"], session["executive_summary"]) == ("Grease the valve.", SUMMARY.text)
    ends = told(events, "stage.status", "stage_name", "status")
    assert ends[:2] == [("look", "started"), ("look", "completed")]
    failures = [
        event["content"] for event in of_type(events, "timeline_event.created") if event["event_type"] == "error"
    ]
    assert len(failures) == 1
    assert "no key" in failures[0]


async def is_answered(replica: Replica, session_id: str, stage_id: str) -> bool:
    last = (await read(replica, session_id))["stages"][-1]
    return (last["id"], last["stage_type"], last["status"]) == (stage_id, "chat", "completed")


async def test_a_stage_that_fails_ends_the_chain_and_says_why_of_each_agent(dsn: str, tmp_path: Path) -> None:
    async with sail(tmp_path, dsn, policy="all", parts={"Bosun": [NO_KEY]}) as voyage:
        (replica,) = await voyage.fleet.start("only")
        session_id = await submit(replica, "watch")
        async with watching(replica, f"session:{session_id}") as watcher:
            events = await watcher.hear_until(type="session.status", status="failed")
        session = await read(replica, session_id)
        summary = await read(replica, session_id, "/summary")
        stage_id = await ask(replica, session_id, "What went wrong?")
        await eventually(lambda: is_answered(replica, session_id, stage_id))
        history = voyage.asked("ChatAgent")[0]["messages"][1]["content"]
    (only,) = session["stages"]
    assert [each["status"] for each in only["executions"]] == ["failed", "completed"]
    assert only["error_message"].startswith("1 of 2 agents did not succeed: Bosun failed: ")
    assert "no key" in only["error_message"]
    assert session["error_message"] == f"stage 1 (look) failed: {only['error_message']}"
    assert (session["final_analysis"], session["executive_summary"]) == (None, None)
    assert (session["failed_stages"], summary["chain_statistics"]["failed_stages"]) == (1, 1)
    assert told(events, "stage.status", "stage_name", "status") == [("look", "started"), ("look", "failed")]
    assert voyage.asked("SynthesisAgent") == voyage.asked("Mate") == voyage.asked("ExecSummaryAgent") == []
    assert "no key" in history


async def test_a_session_cancelled_in_the_middle_of_a_parallel_stage_takes_both_agents_with_it(
    dsn: str, tmp_path: Path
) -> None:
    parts = {"Bosun": [stall("The valve is")], "Stoker": [look(call_of("slow_read", seconds=60))]}
    # Waiting for a heartbeat would take far longer than this test waits.
    async with sail(tmp_path, dsn, parts=parts, heartbeat_interval="300s") as voyage:
        first, second = await voyage.fleet.start("first", "second")
        session_id = await submit(first, "watch")
        async with watching(second, f"session:{session_id}") as watcher:
            # What was only sent may have been sent before anybody listened.
            await eventually(lambda: is_calling(first, session_id))
            await eventually(lambda: voyage.asked("Bosun"))
            answers = [await cancel(replica, session_id) for replica in (second, first)]
            cancelled = {"type": "execution.status", "status": "cancelled"}
            over = {"type": "session.status", "status": "cancelled"}
            events = await hear_each(watcher, over, *({**cancelled, "agent_index": index} for index in (1, 2)))
        session = await ended(first, session_id)
        timeline = await read(first, session_id, "/timeline")
        assert (await cancel(second, session_id)).status_code == 409
        await eventually(first.is_idle_and_healthy)
        await eventually(second.is_idle_and_healthy)
    # The second comes while the session is being cancelled, or when it already was.
    assert answers[0].status_code == 200
    assert answers[1].status_code in (200, 409)
    assert statuses(session["stages"]) == {"look": "cancelled"}
    assert [each["status"] for each in session["stages"][0]["executions"]] == ["cancelled", "cancelled"]
    assert (session["status"], session["error_message"]) == ("cancelled", "cancelled by a person")
    ends = [event for event in events if event["type"] in ("stage.status", "session.status")]
    assert [event["status"] for event in ends][-2:] == ["cancelled", "cancelled"]
    assert [event["type"] for event in ends][-2:] == ["stage.status", "session.status"]
    assert "streaming" not in {entry["status"] for entry in timeline}
    check_streams_closed(events)
    assert voyage.asked("SynthesisAgent") == []


async def is_calling(replica: Replica, session_id: str) -> bool:
    timeline = await read(replica, session_id, "/timeline")
    return any((entry["event_type"], entry["status"]) == ("llm_tool_call", "streaming") for entry in timeline)


async def test_a_session_that_runs_out_of_time_in_a_parallel_stage_ends_its_agents_first(
    dsn: str, tmp_path: Path
) -> None:
    parts = {"Bosun": [stall("The valve is")], "Stoker": [say("The engine is quiet.")]}
    async with sail(tmp_path, dsn, parts=parts, session_timeout="3s") as voyage:
        (replica,) = await voyage.fleet.start("only")
        session_id = await submit(replica, "watch")
        async with watching(replica, f"session:{session_id}") as watcher:
            events = await hear_each(
                watcher,
                {"type": "session.status", "status": "timed_out"},
                {"type": "execution.status", "status": "timed_out", "agent_index": 1},
            )
        session = await read(replica, session_id)
        timeline = await read(replica, session_id, "/timeline")
        await eventually(replica.is_idle_and_healthy)
    bosun, stoker = session["stages"][0]["executions"]
    assert (bosun["status"], stoker["status"]) == ("timed_out", "completed")
    assert statuses(session["stages"]) == {"look": "timed_out"}
    assert (session["status"], session["error_message"]) == ("timed_out", "the session ran for 0.05 minutes")
    ends = [event for event in events if event["type"] in ("stage.status", "session.status")]
    assert [event["type"] for event in ends][-2:] == ["stage.status", "session.status"]
    cut = [entry for entry in timeline if entry["execution_id"] == bosun["execution_id"]]
    assert {entry["status"] for entry in cut} == {"timed_out"}
    check_streams_closed(events)


async def test_of_three_sessions_at_once_two_run_and_the_third_waits_for_its_turn(dsn: str, tmp_path: Path) -> None:
    release = asyncio.Event()
    parts = {"Bosun": [stall("The valve is stuck.", release=release)]}
    async with sail(tmp_path, dsn, parts=parts, max_concurrent_sessions=2) as voyage:
        (replica,) = await voyage.fleet.start("only")
        sessions = [await submit(replica, "watch", data=f"Pump {number} runs hot.") for number in range(3)]
        await eventually(lambda: len(voyage.asked("Bosun")) == 2)
        listed = (await replica.http.get("/api/v1/sessions/active")).json()
        assert {each["id"] for each in listed["active"]} == set(sessions[:2])
        assert [(each["id"], each["queue_position"]) for each in listed["queued"]] == [(sessions[2], 1)]
        assert {str(body["messages"]).count("Pump 2") for body in voyage.asked("Bosun")} == {0}
        release.set()
        done = [await ended(replica, session_id) for session_id in sessions]
    assert [session["status"] for session in done] == ["completed"] * 3
    assert done[2]["started_at"] >= min(session["completed_at"] for session in done[:2])
    for number, session in enumerate(done):
        own = f"Pump {number} runs hot."
        assert session["alert_data"] == own
        assert (session["llm_interaction_count"], session["mcp_interaction_count"]) == (6, 1)
    prompts = [body["messages"][1]["content"] for body in voyage.asked("Mate")]
    assert sorted(sum(f"Pump {number}" in prompt for number in range(3)) for prompt in prompts) == [1, 1, 1]


async def test_subscribers_of_either_replica_are_told_the_same_of_a_session_and_of_its_question(
    dsn: str, tmp_path: Path
) -> None:
    async with sail(tmp_path, dsn, parts={}) as voyage:
        first, second = await voyage.fleet.start("first", "second")
        session_id = await submit(first, "watch")
        channel = f"session:{session_id}"
        async with watching(first, channel) as here, watching(second, channel) as there:
            heard = [await each.hear_until(type="session.status", status="completed") for each in (here, there)]
            over = {"type": "stage.status", "status": "completed", "stage_id": await ask(second, session_id, "Why?")}
            for place, watcher in enumerate((here, there)):
                heard[place] += await hear_each(watcher, over)
        shown = [await read(replica, session_id, "/timeline") for replica in (first, second)]
    stored = [[event for event in events if "db_event_id" in event] for events in heard]
    assert stored[0] == stored[1]
    assert [event["db_event_id"] for event in stored[0]] == list(range(1, len(stored[0]) + 1))
    assert told(stored[0], "stage.status", "stage_name")[::2] == [
        ("look",),
        ("look - Synthesis",),
        ("decide",),
        ("Executive Summary",),
        ("Chat",),
    ]
    assert shown[0] == shown[1]


async def test_a_timeline_is_read_stage_after_stage_although_agents_work_side_by_side(dsn: str, tmp_path: Path) -> None:
    async with sail(tmp_path, dsn, parts={}) as voyage:
        (replica,) = await voyage.fleet.start("only")
        session_id = await submit(replica, "watch")
        session = await ended(replica, session_id)
        timeline = await read(replica, session_id, "/timeline")
    places = {each["id"]: each["stage_index"] for each in session["stages"]}
    read_in = [places[entry["stage_id"]] for entry in timeline]
    assert read_in == sorted(read_in)
    assert set(read_in) == {1, 2, 3, 4}
    for each in session["stages"]:
        assert each["started_at"] <= each["completed_at"]
        assert each["duration_ms"] >= 0


async def list_calls(replica: Replica, session_id: str) -> list[Json]:
    timeline = await read(replica, session_id, "/timeline")
    return [entry for entry in timeline if entry["event_type"] == "llm_tool_call"]


async def have_answered(replica: Replica, session_id: str, *, tool: str, times: int) -> bool:
    calls = await list_calls(replica, session_id)
    return sum(entry["metadata"]["tool_name"] == tool and bool(entry["content"]) for entry in calls) == times


async def test_reads_of_one_turn_do_not_wait_for_each_other_and_agents_share_their_server(
    dsn: str, tmp_path: Path
) -> None:
    slow, quick = call_of("slow_read", seconds=600), call_of("pid")
    parts = {"Bosun": [look(slow, quick), say("Done.")], "Stoker": [look(quick), say("Done.")]}
    async with sail(tmp_path, dsn, parts=parts) as voyage:
        (replica,) = await voyage.fleet.start("only")
        session_id = await submit(replica, "watch")

        await eventually(lambda: have_answered(replica, session_id, tool="pid", times=2))
        calls = await list_calls(replica, session_id)
        (waiting,) = [entry for entry in calls if entry["metadata"]["tool_name"] == "slow_read"]
        assert waiting["status"] == "streaming", "it was asked first and is still at work"
        path = f"/api/v1/sessions/{session_id}/calls/{waiting['metadata']['call_id']}/cancel"
        assert (await replica.http.post(path)).status_code == 200
        assert (await ended(replica, session_id))["status"] == "completed"
    assert len({entry["content"] for entry in calls if entry["metadata"]["tool_name"] == "pid"}) == 1
