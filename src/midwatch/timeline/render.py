"""Rows as the wire shows them: events of the feed and entries of the timeline. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from midwatch.domain.timeline import EventType, TimelineStatus, TimelineType
from midwatch.kit import json
from midwatch.masking.mask import mask_shown
from midwatch.timeline.verdicts import show_verdict

NATIVE = "native"
"""Where thinking comes from unless something else is said."""

_STREAMED = frozenset(
    {
        TimelineType.LLM_THINKING,
        TimelineType.LLM_RESPONSE,
        TimelineType.LLM_TOOL_CALL,
        TimelineType.MCP_TOOL_SUMMARY,
    }
)


def render_event(row: Mapping[str, Any]) -> dict[str, Any]:
    event: dict[str, Any] = {
        "type": row["type"],
        "session_id": str(row["session_id"]),
        "timestamp": render_timestamp(row["created_at"]),
        "db_event_id": row["seq"],
    }
    match EventType(row["type"]):
        case EventType.TIMELINE_CREATED:
            event |= _created(row)
        case EventType.TIMELINE_COMPLETED:
            event |= _completed(row)
        case EventType.INTERACTION_CREATED:
            event |= _known(_place(row))
            event |= {"interaction_id": str(row["ref"]), "interaction_type": row["interaction_type"]}
        case _:
            event |= json.decode(row["payload"]) if row["payload"] else {}
    return event


def render_timeline_entry(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": str(row["event_id"]),
        "event_id": str(row["event_id"]),
        "session_id": str(row["session_id"]),
        **_place(row),
        "sequence_number": row["sequence_number"],
        "event_type": row["event_type"],
        "status": row["status"],
        "content": _shown(row),
        "metadata": _metadata(row),
        "llm_interaction_id": _text_or_none(row["llm_interaction_id"]),
        "mcp_interaction_id": _text_or_none(row["mcp_interaction_id"]),
        "created_at": render_timestamp(row["created_at"]),
        "updated_at": render_timestamp(row["updated_at"] or row["created_at"]),
    }


def _created(row: Mapping[str, Any]) -> dict[str, Any]:
    """A streamed entry is announced empty and running, whatever became of it since."""
    streamed = row["event_type"] in _STREAMED
    return {
        "event_id": str(row["ref"]),
        **_known(_place(row)),
        "event_type": row["event_type"],
        "status": TimelineStatus.STREAMING if streamed else row["status"],
        "content": "" if streamed else _shown(row),
        **_known({"metadata": _metadata(row) if row["tool_name"] is None else _call(row)}),
        "sequence_number": row["sequence_number"],
    }


def _completed(row: Mapping[str, Any]) -> dict[str, Any]:
    """Where it belongs was said when it was announced."""
    return {
        "event_id": str(row["ref"]),
        **_known({"parent_execution_id": _text_or_none(row["parent_execution_id"])}),
        "event_type": row["event_type"],
        "status": row["status"],
        "content": _shown(row),
        **_known({"metadata": _metadata(row)}),
    }


def _known(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The wire leaves out what an event does not have."""
    return {name: value for name, value in fields.items() if value}


def _place(row: Mapping[str, Any]) -> dict[str, Any]:
    place = {"stage_id": _text_or_none(row["stage_id"]), "execution_id": _text_or_none(row["execution_id"])}
    parent = row["parent_execution_id"]
    return place if parent is None else place | {"parent_execution_id": str(parent)}


def _metadata(row: Mapping[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = json.decode(row["metadata"]) if row["metadata"] else {}
    if row["event_type"] == TimelineType.LLM_THINKING:
        return {"source": NATIVE} | metadata
    if row["tool_name"] is None:
        return metadata
    return metadata | _call(row) | _outcome(row)


def _call(row: Mapping[str, Any]) -> dict[str, Any]:
    server, _, tool = row["tool_name"].partition(".")
    return {
        "server_name": server,
        "tool_name": tool or server,
        "arguments": mask_shown(row["arguments"]),
        "tool_type": "mcp",
        "call_id": str(row["call_id"]),
    }


def _outcome(row: Mapping[str, Any]) -> dict[str, Any]:
    outcome = {"call_state": row["call_state"], "is_error": row["error_code"] is not None}
    judged = show_verdict(json.decode(row["verdict"])) if row["verdict"] else {}
    return outcome | ({"error_code": row["error_code"]} if row["error_code"] else {}) | judged


def _shown(row: Mapping[str, Any]) -> str:
    return cut_text(row["content"], row["content_length"])


def cut_text(shown: str | None, length: int | None) -> str:
    """The beginning of a text, and how much more of it there is."""
    content = shown or ""
    hidden = (length or 0) - len(content)
    return content if hidden <= 0 else f"{content}\n[… {hidden} more characters are kept in the journal]"


def render_timestamp(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)


def render_live_text(row: Mapping[str, Any], session_id: object, *, sequence_number: int) -> dict[str, Any]:
    """A stream that runs now. Its place in the timeline is settled only when it is whole."""
    return {
        "id": str(row["event_id"]),
        "event_id": str(row["event_id"]),
        "session_id": str(session_id),
        "stage_id": _text_or_none(row["stage_id"]),
        "execution_id": _text_or_none(row["execution_id"]),
        "sequence_number": sequence_number,
        "event_type": row["event_type"],
        "status": TimelineStatus.STREAMING,
        "content": row["content"],
        "metadata": {},
        "llm_interaction_id": None,
        "mcp_interaction_id": None,
        "created_at": render_timestamp(row["updated_at"]),
        "updated_at": render_timestamp(row["updated_at"]),
    }
