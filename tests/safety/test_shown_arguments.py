"""What a model wrote as arguments is sent as it is, and masked wherever a person or another model reads it."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from midwatch.api.trace_bodies import McpDetail, TracedCall
from midwatch.config.mcp import McpServer, StdioTransport
from midwatch.config.safety import Safety
from midwatch.domain.messages import Usage
from midwatch.masking.mask import mask_shown
from midwatch.store.recordings import RecordedConversation, RecordedTurn
from midwatch.timeline.recording import render_script
from midwatch.timeline.render import render_timeline_entry
from midwatch.tools.workbench import Fittings, open_workbench
from tests.fakes.call_journal import FakeCallJournal
from tests.safety.requirements import requirement

SECRET = "hunter2-of-the-deck"
WRITTEN = json.dumps({"name": "web", "owner": "mate@ship.example", "password": SECRET})
SHOWN = {"name": "web", "owner": "mate@ship.example", "password": "[MASKED_PASSWORD]"}
NOW = datetime(2026, 11, 15, tzinfo=UTC)


def row(**columns: Any) -> dict[str, Any]:
    names = (
        *("event_id", "stage_id", "execution_id", "parent_execution_id", "event_type", "status", "sequence_number"),
        *("content", "content_length", "metadata", "call_id", "tool_name", "arguments", "error_code", "call_state"),
        *("created_at", "updated_at", "session_id", "llm_interaction_id", "mcp_interaction_id", "verdict"),
    )
    return dict.fromkeys(names) | {"created_at": NOW, "updated_at": NOW, "session_id": UUID(int=1)} | columns


@requirement("mask:shown-arguments")
def test_the_timeline_shows_arguments_masked() -> None:
    entry = render_timeline_entry(
        row(event_type="llm_tool_call", status="completed", tool_name="k8s.set", arguments=WRITTEN, call_id="c")
    )
    assert json.loads(entry["metadata"]["arguments"]) == SHOWN


@requirement("mask:shown-arguments")
def test_traces_show_arguments_masked() -> None:
    assert json.loads(TracedCall(id="c", name="k8s.set", arguments=WRITTEN).arguments) == SHOWN
    item = {"id": UUID(int=1), "interaction_type": "tool_call", "server_name": "k8s", "tool_name": "set"}
    rest = {"duration_ms": 1, "error_message": None, "created_at": NOW, "content": None, "available_tools": None}
    assert McpDetail.from_row({**item, **rest, "arguments": WRITTEN}).tool_arguments == SHOWN  # pyright: ignore[reportArgumentType]  # a row is read by its names
    assert (
        McpDetail.from_row({**item, **rest, "arguments": f"password={SECRET}"}).tool_arguments != f"password={SECRET}"
    )  # pyright: ignore[reportArgumentType]  # a row is read by its names


@requirement("mask:shown-arguments")
def test_a_recording_holds_arguments_masked() -> None:
    calls = (("k8s.set", WRITTEN),)
    turn = RecordedTurn(text="", thinking="", calls=calls, usage=Usage())
    script = render_script([RecordedConversation(agent="Mate", turns=(turn,))])
    assert SECRET not in script
    assert "mate@ship.example" in script


@pytest.mark.parametrize("arguments", ["{}", "", '{"name":"web-7d9f8b6c5d-x2x4z","lines":50}', "name: web"])
def test_arguments_without_secrets_are_shown_as_they_were_written(arguments: str) -> None:
    assert mask_shown(arguments) == arguments


@requirement("mask:results-and-errors")
async def test_why_a_server_is_missing_is_told_masked() -> None:
    transport = StdioTransport(type="stdio", command="true")
    servers = {"far": McpServer(transport=transport, run_as=f"password={SECRET}")}
    async with open_workbench(
        Fittings(servers=servers, safety=Safety(), journal=FakeCallJournal(), environment={}, init_timeout=5)
    ) as workbench:
        assert "password=[MASKED_PASSWORD]" in workbench.unavailable["far"]
