"""Sessions as readers see them, and how a person stops one."""

from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from midwatch.domain.session import SessionStatus
from midwatch.kit.ids import new_id
from tests.api.edge import CONCLUSION, Edge, call, open_edge, running, write_config
from tests.waiting import eventually

SESSIONS = "/api/v1/sessions"

SESSION_KEYS = {
    *("id", "alert_type", "alert_data", "status", "chain_id", "author", "error_message", "final_analysis"),
    *("executive_summary", "executive_summary_error", "created_at", "started_at", "completed_at", "duration_ms"),
    *("current_stage_index", "current_stage_id", "waiting_for", "attempts", "resumed_at", "warnings"),
    *("queue", "lease"),
    *("unverified_targets", "total_stages", "completed_stages", "failed_stages", "input_tokens", "output_tokens"),
    *("total_tokens", "llm_interaction_count", "mcp_interaction_count", "stages", "runbook_url", "chat_enabled"),
    *(
        "slack_message_fingerprint",
        "mcp_selection",
        "selected_resources",
        "chat_id",
        "chat_message_count",
        "has_parallel_stages",
    ),
    *("cost_estimation_enabled", "estimated_cost_usd", "cost_completeness", "unpriced_interaction_count"),
}
STAGE_KEYS = {
    *("id", "stage_name", "stage_index", "stage_type", "status", "parallel_type", "expected_agent_count"),
    "referenced_stage_id",
    *("started_at", "completed_at", "duration_ms", "error_message", "executions"),
    *("attempts", "resumed_at"),
}
EXECUTION_KEYS = {
    *("execution_id", "agent_name", "agent_index", "status", "llm_provider", "llm_backend", "model_name"),
    *("started_at", "completed_at", "duration_ms", "error_message", "input_tokens", "output_tokens"),
    *("total_tokens", "llm_interaction_count", "mcp_interaction_count", "estimated_cost_usd", "cost_completeness"),
    *("unpriced_interaction_count", "original_llm_provider", "original_llm_backend", "original_model_name"),
    *("fallback_reason", "fallback_error_code", "fallback_attempt"),
}
ENTRY_KEYS = {
    *("id", "event_id", "session_id", "stage_id", "execution_id", "sequence_number", "event_type", "status"),
    *("content", "metadata", "llm_interaction_id", "mcp_interaction_id", "created_at", "updated_at"),
}


async def wait_for_end(edge: Edge, session_id: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        session = await edge.show(session_id)
        return session if SessionStatus(session["status"]).is_terminal else None

    return await eventually(look)


async def cancel(edge: Edge, session_id: object) -> tuple[int, dict[str, Any]]:
    answer = await edge.http.post(f"{SESSIONS}/{session_id}/cancel")
    return answer.status_code, answer.json()


async def test_a_session_that_waits_is_shown_without_work(edge: Edge) -> None:
    session_id = await edge.submit("Fog over the harbour.")
    session = await edge.show(session_id)
    assert session.keys() == SESSION_KEYS
    assert (session["id"], session["status"], session["alert_data"]) == (session_id, "pending", "Fog over the harbour.")
    assert (session["total_stages"], session["stages"], session["attempts"]) == (2, [], 0)
    assert session["duration_ms"] is session["started_at"] is session["final_analysis"] is None
    assert (await edge.http.get(f"{SESSIONS}/{session_id}/timeline")).json() == []


async def test_a_finished_session_is_shown_whole(dsn: str, tmp_path: Path) -> None:
    write_config(tmp_path, turns=[call("echo", text="all is dry"), CONCLUSION])
    async with open_edge(tmp_path, dsn) as edge, running(edge):
        session_id = await edge.submit()
        session = await wait_for_end(edge, session_id)
        timeline = (await edge.http.get(f"{SESSIONS}/{session_id}/timeline")).json()
    assert_whole_session(session)
    assert_whole_timeline(timeline, session)


def assert_whole_session(session: dict[str, Any]) -> None:
    stage = session["stages"][0]
    execution = stage["executions"][0]
    assert (session.keys(), stage.keys(), execution.keys()) == (SESSION_KEYS, STAGE_KEYS, EXECUTION_KEYS)
    assert (session["status"], session["final_analysis"]) == ("completed", "The deck is dry.")
    assert (session["executive_summary"], session["executive_summary_error"]) == ("In short: dry.", None)
    assert (session["total_stages"], session["completed_stages"], session["failed_stages"]) == (2, 2, 0)
    tokens = {"input_tokens": 40, "output_tokens": 6, "total_tokens": 46}
    counts = {"llm_interaction_count": 2, "mcp_interaction_count": 1}
    assert (tokens | counts).items() <= execution.items()
    assert (tokens | counts | {"llm_interaction_count": 3}).items() <= session.items()
    assert (stage["stage_name"], stage["stage_index"], stage["status"]) == ("watch", 1, "completed")
    assert (execution["agent_name"], execution["llm_provider"]) == ("Mate", "script")
    started, ended = (datetime.fromisoformat(session[key]) for key in ("started_at", "completed_at"))
    assert session["duration_ms"] == pytest.approx((ended - started).total_seconds() * 1000, abs=1)


def assert_whole_timeline(timeline: list[dict[str, Any]], session: dict[str, Any]) -> None:
    assert all(entry.keys() == ENTRY_KEYS for entry in timeline)
    assert all(entry["status"] == "completed" for entry in timeline)
    assert {entry["session_id"] for entry in timeline} == {session["id"]}
    numbers = [entry["sequence_number"] for entry in timeline]
    assert numbers == sorted(set(numbers))
    assert [(entry["event_type"], entry["content"]) for entry in timeline] == [
        ("llm_thinking", "I should look."),
        ("llm_response", "I look."),
        ("llm_tool_call", "all is dry"),
        ("llm_response", "The deck is dry."),
        ("final_analysis", "The deck is dry."),
        ("llm_response", "In short: dry."),
        ("final_analysis", "In short: dry."),
    ]
    tool_call = timeline[2]["metadata"]
    assert (tool_call["server_name"], tool_call["tool_name"], tool_call["is_error"]) == ("deck", "echo", False)


@pytest.mark.parametrize("path", ["", "/timeline"])
async def test_a_session_that_is_not_there_is_not_found(edge: Edge, path: str) -> None:
    unknown = new_id()
    answer = await edge.http.get(f"{SESSIONS}/{unknown}{path}")
    assert answer.status_code == 404
    assert answer.json() == {"message": f"there is no session {unknown}", "code": "not_found"}
    assert await cancel(edge, unknown) == (404, answer.json())


@pytest.mark.parametrize("path", ["", "/timeline"])
async def test_a_session_id_that_is_none_is_called_malformed(edge: Edge, path: str) -> None:
    answer = await edge.http.get(f"{SESSIONS}/pump-three{path}")
    assert answer.status_code == 400
    assert answer.json() == {"message": "session_id: must be a UUID", "code": "invalid", "field": "session_id"}
    assert await cancel(edge, "pump-three") == (400, answer.json())


async def test_a_deleted_session_is_gone(edge: Edge) -> None:
    session_id = await edge.submit()
    async with edge.store.connect() as tx:
        await tx.execute("UPDATE alert_sessions SET deleted_at = clock_timestamp() WHERE session_id = $1", session_id)
    for path in ("", "/timeline"):
        assert (await edge.http.get(f"{SESSIONS}/{session_id}{path}")).status_code == 404
    assert (await cancel(edge, session_id))[0] == 404


async def test_a_waiting_session_is_cancelled_at_once_and_only_once(edge: Edge) -> None:
    session_id = await edge.submit()
    assert await cancel(edge, session_id) == (
        200,
        {"session_id": session_id, "status": "cancelled", "message": "Session cancelled"},
    )
    assert (await edge.show(session_id))["status"] == "cancelled"
    assert await cancel(edge, session_id) == (
        409,
        {"message": "the session has ended already: it is cancelled", "code": "conflict"},
    )


async def test_a_running_session_is_told_to_stop_and_ends_cancelled(dsn: str, tmp_path: Path) -> None:
    write_config(tmp_path, turns=[call("slow_read", seconds=60), CONCLUSION])
    async with open_edge(tmp_path, dsn) as edge, running(edge):
        session_id = await edge.submit()

        async def is_calling() -> bool:
            timeline = await edge.http.get(f"{SESSIONS}/{session_id}/timeline")
            return any(entry["event_type"] == "llm_tool_call" for entry in timeline.json())

        await eventually(is_calling)
        stopping = {"session_id": session_id, "status": "cancelling", "message": "Session is being cancelled"}
        assert await cancel(edge, session_id) == (200, stopping)
        session = await wait_for_end(edge, session_id)
    assert session["status"] == "cancelled"
    assert session["stages"][0]["status"] == "cancelled"
    assert session["final_analysis"] is None


async def test_a_session_that_is_being_cancelled_may_be_cancelled_again(edge: Edge) -> None:
    session_id = await edge.submit()
    async with edge.store.connect() as tx:
        await tx.execute("UPDATE alert_sessions SET status = 'cancelling' WHERE session_id = $1", session_id)
    status, body = await cancel(edge, session_id)
    assert (status, body["status"]) == (200, "cancelling")


async def test_a_stream_that_still_runs_comes_last_in_the_timeline(edge: Edge) -> None:
    session_id = await edge.submit()
    event_id = new_id()
    async with edge.store.connect() as tx:
        await tx.execute(
            "UPDATE session_leases SET expires_at = clock_timestamp() + interval '1 minute' WHERE session_id = $1",
            UUID(session_id),
        )
        await tx.execute(
            "INSERT INTO live_texts (event_id, session_id, event_type, content) VALUES ($1, $2, 'llm_response', $3)",
            event_id,
            UUID(session_id),
            "The pump",
        )
    entry = (await edge.http.get(f"{SESSIONS}/{session_id}/timeline")).json()[-1]
    assert entry.keys() == ENTRY_KEYS
    assert (entry["id"], entry["status"], entry["content"]) == (str(event_id), "streaming", "The pump")
    assert entry["sequence_number"] == 1
