"""What is told and not stored fits a notification, whatever is in it."""

import pytest

from midwatch.domain.session import WorkStatus
from midwatch.domain.timeline import Phase
from midwatch.domain.tools import CallNote
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.timeline.announce import (
    ExecutionPlace,
    Progress,
    render_execution,
    render_note,
    render_phase,
    render_progress,
)
from midwatch.timeline.flush import News, pack
from tests.fakes.cleared_calls import cleared_read

PLACE = ExecutionPlace(session_id=new_id(), stage_id=new_id(), execution_id=new_id())


def test_an_execution_that_goes_well_has_no_error() -> None:
    event = render_execution(PLACE, agent_index=0, status=WorkStatus.ACTIVE, error=None)
    assert event == {
        "type": "execution.status",
        "stage_id": str(PLACE.stage_id),
        "execution_id": str(PLACE.execution_id),
        "agent_index": 0,
        "status": "active",
    }


@pytest.mark.parametrize("text", ["short", "x" * 5_000, "\x01" * 5_000])
def test_long_texts_are_cut_so_that_the_event_is_told(text: str) -> None:
    events = [
        render_execution(PLACE, agent_index=0, status=WorkStatus.FAILED, error=text),
        render_phase(PLACE, phase=Phase.CONCLUDING, message=text),
        render_note(PLACE, cleared=cleared_read("deck.look"), note=CallNote(message=text)),
        render_progress(
            Progress(stage_name=text, stage_index=1, total_stages=1, active_executions=0, status_text=text)
        ),
    ]
    payloads = pack({PLACE.session_id: News(transient=events)})
    told = [event for payload in payloads for entry in json.decode(payload)[1:] for event in entry[2]]
    assert [event["type"] for event in told] == [event["type"] for event in events]
    assert told[0]["error_message"] == text[:500]


def test_what_a_tool_says_while_it_works_names_its_call_and_leaves_out_what_it_does_not_know() -> None:
    cleared = cleared_read("deck.core.look")
    event = render_note(PLACE, cleared=cleared, note=CallNote(message="halfway", progress=1.0, total=2.0))
    assert event == {
        "type": "call.progress",
        "stage_id": str(PLACE.stage_id),
        "execution_id": str(PLACE.execution_id),
        "call_id": str(cleared.call.call_id),
        "server_name": "deck",
        "tool_name": "core.look",
        "message": "halfway",
        "progress": 1.0,
        "total": 2.0,
    }
