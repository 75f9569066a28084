"""Rows as the wire shows them."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from midwatch.kit import json
from midwatch.timeline.render import render_event, render_live_text, render_timeline_entry

NOW = datetime(2026, 11, 15, 4, 30, 0, 123456, tzinfo=UTC)
SESSION, STAGE, EXECUTION, EVENT = (UUID(int=number) for number in range(1, 5))
CALL = {"call_id": "c1", "tool_name": "k8s.pods.list", "arguments": "{}", "call_state": "finished"}


def event_row(**columns: Any) -> dict[str, Any]:
    """A row as the feed's query returns it, with everything joined and nothing found."""
    empty = dict.fromkeys(
        (
            *("ref", "payload", "event_type", "status", "sequence_number", "metadata", "parent_execution_id"),
            *("stage_id", "execution_id", "interaction_type", "content", "content_length"),
            *("call_id", "tool_name", "arguments", "error_code", "call_state", "verdict"),
        )
    )
    return {"session_id": SESSION, "seq": 7, "created_at": NOW, **empty, **columns}


def timeline_row(**columns: Any) -> dict[str, Any]:
    place = {"ref": EVENT, "stage_id": STAGE, "execution_id": EXECUTION, "sequence_number": 7, "status": "completed"}
    return event_row(**place | columns)


HEAD = {"session_id": str(SESSION), "timestamp": "2026-11-15T04:30:00.123456Z", "db_event_id": 7}
PLACE = {"stage_id": str(STAGE), "execution_id": str(EXECUTION)}


def test_an_event_that_says_it_all_itself_is_told_as_it_was_stored() -> None:
    row = event_row(type="session.status", payload='{"status": "completed"}')
    assert render_event(row) == {"type": "session.status", **HEAD, "status": "completed"}
    assert render_event(event_row(type="session.status")) == {"type": "session.status", **HEAD}


@pytest.mark.parametrize("kind", ["llm_thinking", "llm_response", "llm_tool_call", "mcp_tool_summary"])
def test_a_streamed_entry_is_announced_empty_and_running_whatever_became_of_it(kind: str) -> None:
    row = timeline_row(type="timeline_event.created", event_type=kind, content="all", content_length=3)
    assert render_event(row) == {
        "type": "timeline_event.created",
        **HEAD,
        **PLACE,
        "event_id": str(EVENT),
        "event_type": kind,
        "status": "streaming",
        "content": "",
        **({"metadata": {"source": "native"}} if kind == "llm_thinking" else {}),
        "sequence_number": 7,
    }


def test_thinking_that_was_read_out_of_a_text_says_so() -> None:
    row = timeline_row(type="timeline_event.completed", event_type="llm_thinking", metadata='{"source": "react"}')
    assert render_event(row)["metadata"] == {"source": "react"}


def test_what_belongs_to_no_stage_names_none() -> None:
    row = timeline_row(type="timeline_event.created", event_type="session_resumed", stage_id=None, execution_id=None)
    assert not render_event(row).keys() & {"stage_id", "execution_id", "parent_execution_id", "metadata"}


def test_an_entry_that_comes_whole_is_announced_whole() -> None:
    row = timeline_row(
        type="timeline_event.created",
        event_type="final_analysis",
        content="all",
        content_length=3,
        metadata='{"forced_conclusion": true}',
    )
    event = render_event(row)
    assert (event["status"], event["content"], event["metadata"]) == ("completed", "all", {"forced_conclusion": True})


def test_a_completed_entry_is_told_with_its_text() -> None:
    row = timeline_row(type="timeline_event.completed", event_type="llm_response", content="all", content_length=3)
    assert render_event(row) == {
        "type": "timeline_event.completed",
        **HEAD,
        "event_id": str(EVENT),
        "event_type": "llm_response",
        "status": "completed",
        "content": "all",
    }


def test_a_text_that_is_too_long_is_cut_and_says_so() -> None:
    row = timeline_row(type="timeline_event.completed", event_type="llm_response", content="begin", content_length=12)
    assert render_event(row)["content"] == "begin\n[… 7 more characters are kept in the journal]"


def test_a_tool_call_is_announced_without_what_became_of_it() -> None:
    row = timeline_row(type="timeline_event.created", event_type="llm_tool_call", error_code="E", **CALL)
    assert render_event(row)["metadata"] == {
        "server_name": "k8s",
        "tool_name": "pods.list",
        "arguments": "{}",
        "tool_type": "mcp",
        "call_id": "c1",
    }


@pytest.mark.parametrize(("code", "shown"), [(None, {"is_error": False}), ("E", {"is_error": True, "error_code": "E"})])
def test_a_tool_call_is_described_by_what_was_called(code: str | None, shown: dict[str, Any]) -> None:
    row = timeline_row(type="timeline_event.completed", event_type="llm_tool_call", error_code=code, **CALL)
    assert render_event(row)["metadata"] == {
        "server_name": "k8s",
        "tool_name": "pods.list",
        "arguments": "{}",
        "tool_type": "mcp",
        "call_id": "c1",
        "call_state": "finished",
        **shown,
    }


def test_a_name_that_the_model_made_up_is_shown_as_it_is() -> None:
    row = timeline_row(type="timeline_event.completed", event_type="llm_tool_call", **CALL | {"tool_name": "pods"})
    metadata = render_event(row)["metadata"]
    assert (metadata["server_name"], metadata["tool_name"]) == ("pods", "pods")


def test_an_interaction_is_told_by_its_id() -> None:
    row = timeline_row(type="interaction.created", interaction_type="mcp")
    assert render_event(row) == {
        "type": "interaction.created",
        **HEAD,
        **PLACE,
        "interaction_id": str(EVENT),
        "interaction_type": "mcp",
    }


def test_the_work_of_a_child_names_its_parent() -> None:
    row = timeline_row(type="timeline_event.completed", event_type="llm_response", parent_execution_id=UUID(int=9))
    assert render_event(row)["parent_execution_id"] == str(UUID(int=9))


def test_an_entry_of_the_timeline() -> None:
    row = timeline_row(event_type="llm_response", content="all", content_length=3, metadata='{"a": 1}')
    row |= {"event_id": EVENT, "updated_at": None, "llm_interaction_id": UUID(int=8), "mcp_interaction_id": None}
    assert render_timeline_entry(row) == {
        "id": str(EVENT),
        "event_id": str(EVENT),
        "session_id": str(SESSION),
        **PLACE,
        "sequence_number": 7,
        "event_type": "llm_response",
        "status": "completed",
        "content": "all",
        "metadata": {"a": 1},
        "llm_interaction_id": str(UUID(int=8)),
        "mcp_interaction_id": None,
        "created_at": "2026-11-15T04:30:00.123456Z",
        "updated_at": "2026-11-15T04:30:00.123456Z",
    }


def test_a_stream_that_runs_now_is_shown_like_an_entry() -> None:
    row = {
        "event_id": EVENT,
        "stage_id": STAGE,
        "execution_id": None,
        "event_type": "llm_response",
        "content": "so f",
        "updated_at": NOW,
    }
    shown = render_live_text(row, SESSION, sequence_number=9)
    assert (shown["status"], shown["content"], shown["sequence_number"]) == ("streaming", "so f", 9)
    assert (shown["stage_id"], shown["execution_id"]) == (str(STAGE), None)
    assert (
        shown.keys()
        == render_timeline_entry(
            timeline_row(
                event_type="x", event_id=EVENT, updated_at=NOW, llm_interaction_id=None, mcp_interaction_id=None
            )
        ).keys()
    )


@pytest.mark.parametrize(
    ("verdict", "shown"),
    [
        (
            {"kind": "read", "proven": True, "rule": "operator:read:*", "began": 3},
            {"kind": "read", "risk": "read_only", "policy_rule": "operator:read:*"},
        ),
        (
            {"kind": "write", "rule": "unknown", "policy_rule": "level:autonomous", "observed": "FSM_BLOCKED"},
            {"kind": "write", "risk": "unknown", "policy_rule": "level:autonomous", "observed": "FSM_BLOCKED"},
        ),
        ({"refused": "TOOL_NOT_FOUND", "policy_rule": "gate:TOOL_NOT_FOUND"}, {"policy_rule": "gate:TOOL_NOT_FOUND"}),
        ({"refused": "OLD"}, {}),
    ],
)
def test_a_call_says_what_it_was_taken_for(verdict: dict[str, Any], shown: dict[str, Any]) -> None:
    row = timeline_row(
        type="timeline_event.completed", event_type="llm_tool_call", **CALL, verdict=json.encode_text(verdict)
    )
    metadata = render_event(row)["metadata"]
    assert {name: metadata[name] for name in ("kind", "risk", "policy_rule", "observed") if name in metadata} == shown
