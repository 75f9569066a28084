"""What must hold of every session that has ended, whatever happened to those who ran it."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from midwatch.domain.session import SessionStatus, WorkStatus
from midwatch.domain.tools import CallState
from midwatch.kit import json
from midwatch.store.driver import Row, Tx
from midwatch.tools.failure import FailureCode

Effect = Mapping[str, Any]
CallKey = tuple[str, str]
"""A tool and its arguments in one spelling. Tests give each call arguments of its own."""

WRITES = frozenset({"restart", "slow_write", "crash_write"})
"""Tools of the fake server that leave a line for each effect."""
_MAYBE_SENT = frozenset({FailureCode.NOT_DISPATCHED, FailureCode.TRANSPORT_ERROR, FailureCode.TIMEOUT})


async def check_session(tx: Tx, session_id: UUID, effects: Iterable[Effect]) -> None:
    """Raises AssertionError. `effects` are the lines of the fake server's effects file."""
    status = await check_end(tx, session_id)
    await check_feed(tx, session_id, status)
    await check_timeline(tx, session_id)
    await check_work(tx, session_id)
    await check_conversations(tx, session_id, ended_well=status is SessionStatus.COMPLETED)
    calls = await read_calls(tx, session_id)
    await check_open_changes(tx, calls)
    check_effects(calls, count_effects(effects))


async def check_end(tx: Tx, session_id: UUID) -> SessionStatus:
    """One terminal state, told once to the outbox, and nobody left who holds the session."""
    row = await tx.fetchrow("SELECT status, completed_at FROM alert_sessions WHERE session_id = $1", session_id)
    assert row is not None
    status = SessionStatus(row["status"])
    assert status.is_terminal
    assert row["completed_at"] is not None
    posts = await tx.fetch("SELECT kind, payload FROM outbox WHERE session_id = $1", session_id)
    assert [(post["kind"], json.decode(post["payload"])) for post in posts] == [
        ("session.terminal", {"status": status})
    ]
    lease = await tx.fetchrow("SELECT owner, expires_at FROM session_leases WHERE session_id = $1", session_id)
    assert lease is not None
    assert (lease["owner"], lease["expires_at"]) == (None, None)
    return status


async def check_feed(tx: Tx, session_id: UUID, status: SessionStatus) -> None:
    """Numbered without gaps, and the terminal status is the last word and is said once."""
    events = await tx.fetch("SELECT seq, type, payload FROM events WHERE session_id = $1 ORDER BY seq", session_id)
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert await tx.fetchval("SELECT seq FROM session_feeds WHERE session_id = $1", session_id) == len(events)
    told = [json.decode(event["payload"])["status"] for event in events if event["type"] == "session.status"]
    assert told.count(status) == 1
    assert sum(SessionStatus(word).is_terminal for word in told) == 1
    assert events[-1]["type"] == "session.status"
    assert told[-1] == status


async def check_timeline(tx: Tx, session_id: UUID) -> None:
    """Nothing streams any more, and every entry was announced once, at the place it stands at."""
    entries = await tx.fetch(
        "SELECT event_id, sequence_number, status FROM timeline_events WHERE session_id = $1", session_id
    )
    assert [entry["event_id"] for entry in entries if entry["status"] == "streaming"] == []
    announced = await tx.fetch(
        "SELECT ref, seq FROM events WHERE session_id = $1 AND type = 'timeline_event.created' ORDER BY seq", session_id
    )
    assert sorted((entry["sequence_number"], entry["event_id"]) for entry in entries) == [
        (event["seq"], event["ref"]) for event in announced
    ]
    assert await tx.fetchval("SELECT count(*) FROM live_texts WHERE session_id = $1", session_id) == 0
    analyses = await tx.fetch(
        "SELECT execution_id FROM timeline_events WHERE session_id = $1 AND event_type = 'final_analysis'", session_id
    )
    completed = await tx.fetch(
        "SELECT execution_id FROM agent_executions WHERE session_id = $1 AND status = 'completed'", session_id
    )
    assert sorted(row["execution_id"] for row in analyses) == sorted(row["execution_id"] for row in completed)


async def check_work(tx: Tx, session_id: UUID) -> None:
    """Stages and executions have ended, and the end of each stage was told once."""
    for table in ("stages", "agent_executions"):
        rows = await tx.fetch(f"SELECT status, completed_at FROM {table} WHERE session_id = $1", session_id)
        assert all(WorkStatus(row["status"]).is_terminal and row["completed_at"] is not None for row in rows)
    told = await tx.fetch(
        "SELECT payload FROM events WHERE session_id = $1 AND type = 'stage.status' ORDER BY seq", session_id
    )
    by_stage: defaultdict[str, list[str]] = defaultdict(list)
    for event in told:
        payload = json.decode(event["payload"])
        by_stage[payload["stage_id"]].append(payload["status"])
    stages = await tx.fetch("SELECT stage_id, status FROM stages WHERE session_id = $1", session_id)
    assert dict(by_stage) == {str(stage["stage_id"]): ["started", stage["status"]] for stage in stages}


async def check_conversations(tx: Tx, session_id: UUID, *, ended_well: bool) -> None:
    executions = await tx.fetch("SELECT execution_id FROM agent_executions WHERE session_id = $1", session_id)
    for execution in executions:
        messages = await tx.fetch(
            "SELECT sequence_number, role, tool_call_id FROM messages WHERE execution_id = $1 ORDER BY sequence_number",
            execution["execution_id"],
        )
        calls = await tx.fetch(
            "SELECT message_sequence, call_index, provider_call_id FROM tool_calls WHERE execution_id = $1 "
            "ORDER BY message_sequence, call_index",
            execution["execution_id"],
        )
        check_answers(messages, calls, all_answered=ended_well)


def check_answers(messages: Sequence[Row], calls: Sequence[Row], *, all_answered: bool) -> None:
    """Every call is answered once, at the place reserved for it. A run that was stopped may leave its last open."""
    tools = {row["sequence_number"]: row["tool_call_id"] for row in messages if row["role"] == "tool"}
    places = {call["message_sequence"] + 1 + call["call_index"]: call["provider_call_id"] for call in calls}
    assert tools.items() <= places.items()
    last_turn = max((row["sequence_number"] for row in messages if row["role"] == "assistant"), default=-1)
    unanswered = [place for place in places if place not in tools]
    assert not (all_answered and unanswered)
    assert all(place > last_turn for place in unanswered)
    numbers = sorted([row["sequence_number"] for row in messages] + unanswered)
    assert numbers == list(range(len(numbers)))


async def read_calls(tx: Tx, session_id: UUID) -> Sequence[Row]:
    return await tx.fetch(
        "SELECT call_id, tool_name, arguments, state, error_code FROM tool_calls WHERE session_id = $1", session_id
    )


async def check_open_changes(tx: Tx, calls: Sequence[Row]) -> None:
    """Only a change that nobody knows the outcome of keeps its target."""
    settled = [call["call_id"] for call in calls if call["state"] not in (CallState.UNKNOWN, CallState.STARTED)]
    assert await tx.fetchval("SELECT count(*) FROM open_changes WHERE call_id = ANY($1)", settled) == 0


def check_effects(calls: Sequence[Row], effects: Mapping[CallKey, int]) -> None:
    """A change happened at most once for every time it was asked for, and not at all if it was refused."""
    least: Counter[CallKey] = Counter()
    most: Counter[CallKey] = Counter()
    for call in calls:
        key = call_key(call["tool_name"], call["arguments"])
        if key is None or key[0] not in WRITES:
            continue
        least[key] += call["state"] == CallState.FINISHED and call["error_code"] not in _MAYBE_SENT
        most[key] += call["state"] in (CallState.FINISHED, CallState.STARTED, CallState.UNKNOWN)
    for key, asked in most.items():
        assert least[key] <= effects.get(key, 0) <= asked, key


def call_key(tool_name: str, arguments: str) -> CallKey | None:
    """None for a call whose arguments could never have been sent."""
    try:
        decoded = json.decode(arguments or "{}")
    except ValueError:
        return None
    return tool_name.partition(".")[2], _spell(decoded)


def count_effects(effects: Iterable[Effect]) -> Counter[CallKey]:
    """A change that logs its end as well is counted where it began."""
    return Counter((e["tool"], _spell(e["arguments"])) for e in effects if e.get("state") != "end")


def _spell(arguments: object) -> str:
    if isinstance(arguments, dict):
        return repr(sorted((str(key), repr(value)) for key, value in arguments.items()))  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] -- decoded JSON
    return repr(arguments)
