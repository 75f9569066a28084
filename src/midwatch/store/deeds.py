"""What a session has really done and read, for comparing a reply's words with."""

import zlib
from collections.abc import Mapping
from typing import Any, Final, cast
from uuid import UUID

from midwatch.domain.tools import CallState, ToolKind
from midwatch.kit import json
from midwatch.safety.claims.deeds import Deed
from midwatch.safety.machine import Outcome, name_outcome
from midwatch.store.driver import Row, Tx

_UNSETTLED: Final = {CallState.STARTED: Outcome.UNKNOWN, CallState.UNKNOWN: Outcome.UNKNOWN}


async def list_deeds(tx: Tx, session_id: UUID) -> list[Deed]:
    """All calls of all its agents, those that were refused or are under way among them."""
    rows = await tx.fetch(
        """
        SELECT c.tool_name, c.arguments, c.state, c.error_code, c.targets, c.verdict->>'kind' AS kind, i.created_at
        FROM agent_executions e JOIN tool_calls c USING (execution_id)
        LEFT JOIN mcp_interactions i ON i.session_id = c.session_id AND i.call_id = c.call_id
        WHERE e.session_id = $1 ORDER BY c.call_id
        """,
        session_id,
    )
    return [_read_deed(row) for row in rows]


async def list_readings(tx: Tx, session_id: UUID, *, most: int) -> list[str]:
    """What its tools have answered, masked: the newest first, and no more than about `most` characters.

    Takes time with a long one: it is unpacked on the way.
    """
    rows = await tx.fetch(
        """
        SELECT t.content, CASE WHEN w.characters <= $2 THEN w.content END AS packed, w.characters
        FROM agent_executions e JOIN tool_calls c USING (execution_id)
        LEFT JOIN texts t ON t.session_id = c.session_id AND t.text_id = c.result_text_id
        LEFT JOIN tool_results w ON w.session_id = c.session_id AND w.call_id = c.call_id
        WHERE e.session_id = $1 AND c.state = 'finished' ORDER BY c.call_id DESC
        """,
        session_id,
        most,
    )
    readings: list[str] = []
    for row in rows:
        is_whole = row["packed"] is not None and row["characters"] <= most
        reading = zlib.decompress(row["packed"]).decode() if is_whole else row["content"] or ""
        if len(reading) <= most:
            readings.append(reading)
            most -= len(reading)
    return readings


def _read_deed(row: Row) -> Deed:
    return Deed(
        tool=row["tool_name"],
        # What nobody has judged was not sent as a look.
        kind=ToolKind(row["kind"] or ToolKind.WRITE),
        outcome=_name_outcome(CallState(row["state"]), row["error_code"]),
        arguments=_read_arguments(row["arguments"]),
        targets=tuple(row["targets"] or ()),
        at=row["created_at"],
    )


def _name_outcome(state: CallState, error: str | None) -> Outcome:
    if state is CallState.FINISHED:
        return name_outcome(error)
    return _UNSETTLED.get(state, Outcome.NOT_SENT)


def _read_arguments(text: str) -> Mapping[str, Any]:
    try:
        arguments = json.decode(text)
    except ValueError:
        arguments = text
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else {"": arguments}
