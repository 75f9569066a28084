"""The checker of the chaos runs: says nothing of a history in which all is well, and finds every way to break one."""

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.chaos.checker import RULES, check
from tests.chaos.history import Cancel, History

Change = Callable[[History], History]

_DAWN = datetime(2026, 1, 1, tzinfo=UTC)
_SESSION = "session-1"


def at(seconds: float) -> datetime:
    return _DAWN + timedelta(seconds=seconds)


def event(seq: int, type_: str, **payload: Any) -> dict[str, Any]:
    return {"session_id": _SESSION, "seq": seq, "type": type_, "ref": None, "payload": payload}


def claim(epoch: int, replica: str, seconds: float, **facts: Any) -> dict[str, Any]:
    usual = {"run": "alert", "resumed": False, "released": False, "progressed": False, "cancelled": False}
    return {
        "session_id": _SESSION,
        "epoch": epoch,
        "replica": f"chaos_1_{replica}",
        "at": at(seconds),
        "attempts": 0,
        **usual,
        **facts,
    }


def call(index: int, tool: str, **facts: Any) -> dict[str, Any]:
    return {
        "call_id": f"call-{index}",
        "session_id": _SESSION,
        "execution_id": "execution-1",
        "message_sequence": 2,
        "call_index": index,
        "provider_call_id": f"provider-{index}",
        "tool_name": f"deck.{tool}",
        "arguments": f'{{"key":"key-{index}"}}',
        "state": "finished",
        "error_code": None,
        "epoch": 1,
        "finished_at": at(3),
        **facts,
    }


def effect(index: int, tool: str, seconds: float, *, replica: str = "a1", **facts: str) -> dict[str, Any]:
    time = at(seconds).timestamp()
    return {"time": time, "tool": tool, "arguments": {"key": f"key-{index}"}, "replica": replica, **facts}


def message(sequence: int, role: str, tool_call_id: str | None = None) -> dict[str, Any]:
    return {
        "execution_id": "execution-1",
        "sequence_number": sequence,
        "role": role,
        "tool_call_id": tool_call_id,
    }


def stage(number: int, kind: str) -> dict[str, Any]:
    return {
        "stage_id": f"stage-{number}",
        "session_id": _SESSION,
        "stage_name": kind,
        "stage_type": kind,
        "status": "completed",
        "completed_at": at(9),
    }


_EVENTS = [
    event(1, "session.status", status="pending"),
    event(2, "session.status", status="in_progress"),
    event(3, "stage.status", stage_id="stage-1", status="started"),
    {**event(4, "timeline_event.created"), "ref": "entry-1"},
    {**event(5, "timeline_event.created"), "ref": "entry-2"},
    event(6, "stage.status", stage_id="stage-1", status="completed"),
    event(7, "session.status", status="completed"),
    event(8, "stage.status", stage_id="stage-2", status="started"),
    event(9, "stage.status", stage_id="stage-2", status="completed"),
]
_HEALTHY = {"status": "healthy", "checks": {"worker_pool": {"busy_slots": 0}}}

WELL = History(
    accepted=[_SESSION],
    questions=["stage-2"],
    sessions=[{"session_id": _SESSION, "status": "completed", "completed_at": at(9), "error_message": None}],
    leases=[{"session_id": _SESSION, "owner": None, "expires_at": None}],
    stages=[stage(1, "investigation"), stage(2, "chat")],
    executions=[
        {
            "execution_id": "execution-1",
            "session_id": _SESSION,
            "stage_id": "stage-1",
            "agent_name": "Hand",
            "status": "completed",
            "completed_at": at(9),
        }
    ],
    events=_EVENTS,
    timeline=[
        {
            "event_id": "entry-1",
            "session_id": _SESSION,
            "execution_id": None,
            "event_type": "session_resumed",
            "status": "completed",
            "metadata": {"attempts": 1, "taken_over": True, "epoch": 2},
        },
        {
            "event_id": "entry-2",
            "session_id": _SESSION,
            "execution_id": "execution-1",
            "event_type": "final_analysis",
            "status": "completed",
            "metadata": None,
        },
    ],
    calls=[call(0, "look"), call(1, "turn")],
    messages=[
        message(0, "system"),
        message(1, "user"),
        message(2, "assistant"),
        message(3, "tool", "provider-0"),
        message(4, "tool", "provider-1"),
    ],
    outbox=[{"session_id": _SESSION, "kind": "session.terminal", "payload": {"status": "completed"}}],
    claims=[
        claim(1, "a1", 1),
        claim(2, "b1", 5, resumed=True, attempts=1),
        claim(3, "b1", 10, run="chat", released=True),
    ],
    passes=[
        {"session_id": _SESSION, "epoch": epoch, "seq": 4, "replica": f"chaos_1_{replica}", "at": at(6)}
        for epoch, replica in ((1, "a1"), (2, "b1"), (3, "b1"))
    ],
    watched={_SESSION: [(int(each["seq"]), str(each["type"])) for each in _EVENTS]},
    heard={_SESSION: [(int(each["seq"]), str(each["type"])) for each in _EVENTS]},
    effects=[effect(0, "look", 2), effect(1, "turn", 2)],
    health={"b1": _HEALTHY},
    exits={"b1": 0},
)


def first(name: str, **facts: Any) -> Change:
    """The first row of a table is another."""

    def change(history: History) -> History:
        head, *rest = getattr(history, name)
        return dataclasses.replace(history, **{name: [{**head, **facts}, *rest]})

    return change


def last(name: str, **facts: Any) -> Change:
    def change(history: History) -> History:
        *rest, end = getattr(history, name)
        return dataclasses.replace(history, **{name: [*rest, {**end, **facts}]})

    return change


def more(name: str, *rows: Any) -> Change:
    return lambda history: dataclasses.replace(history, **{name: [*getattr(history, name), *rows]})


def other(**facts: Any) -> Change:
    return lambda history: dataclasses.replace(history, **facts)


def both(*changes: Change) -> Change:
    def change(history: History) -> History:
        for each in changes:
            history = each(history)
        return history

    return change


_HEARD = list(WELL.heard[_SESSION])

BROKEN: list[tuple[str, Change]] = [
    ("every accepted session ends once", more("accepted", "session-2")),
    ("every accepted session ends once", other(accepted=[])),
    ("every accepted session ends once", first("sessions", status="in_progress")),
    ("every accepted session ends once", first("sessions", completed_at=None)),
    ("every accepted session ends once", other(outbox=[])),
    ("every accepted session ends once", first("outbox", payload={"status": "failed"})),
    ("every accepted session ends once", more("events", event(10, "session.status", status="completed"))),
    ("every accepted question ends once", more("questions", "stage-3")),
    ("every accepted question ends once", last("stages", status="active")),
    ("every accepted question ends once", last("events", type="session.resumed")),
    (
        "every accepted question ends once",
        more("events", event(10, "stage.status", stage_id="stage-2", status="completed")),
    ),
    ("a session fails for a reason", first("sessions", status="failed")),
    ("a session fails for a reason", first("sessions", status="cancelled")),
    ("a session fails for a reason", first("sessions", status="timed_out")),
    *[
        (
            "an accepted cancel is obeyed",
            other(cancels=[Cancel(kind=kind, session_id=_SESSION, target_id=target, status=200)]),
        )
        for kind, target in (("session", _SESSION), ("question", "stage-2"), ("agent", "execution-1"))
    ],
    ("a finished call is not executed again", more("effects", effect(0, "look", 4))),
    ("a finished call is not executed again", more("calls", call(0, "look"))),
    ("a write is sent at most once", more("effects", effect(1, "turn", 2.5))),
    ("a write is sent at most once", last("calls", state="refused")),
    ("a write is sent at most once", other(effects=[effect(0, "look", 2)])),
    ("a write is sent at most once", more("effects", effect(7, "turn", 2))),
    ("a write is sent by its epoch's owner only", last("effects", replica="b1")),
    ("a write is sent by its epoch's owner only", last("calls", epoch=None)),
    ("a write is sent by its epoch's owner only", last("effects", time=at(5.5).timestamp())),
    ("a reader hears every stored event once", other(heard={_SESSION: _HEARD[:3] + _HEARD[4:]})),
    ("a reader hears every stored event once", other(heard={_SESSION: [*_HEARD[:4], *_HEARD[3:]]})),
    ("a reader hears every stored event once", other(heard={_SESSION: [*_HEARD, (10, "session.status")]})),
    ("a reader hears every stored event once", other(heard={})),
    ("a reader hears every stored event once", other(watched={_SESSION: _HEARD[:3] + _HEARD[4:]})),
    ("a reader hears every stored event once", other(watched={_SESSION: [*_HEARD[:4], *_HEARD[3:]]})),
    ("a reader hears every stored event once", other(watched={})),
    ("a reader hears every stored event once", last("events", seq=10)),
    ("nothing is held by the dead", first("leases", owner="a1:1")),
    ("nothing is held by the dead", first("leases", expires_at=at(20))),
    ("nothing is held by the dead", first("stages", status="active")),
    ("nothing is held by the dead", first("executions", status="pending")),
    ("nothing is held by the dead", first("executions", completed_at=None)),
    ("nothing is held by the dead", first("timeline", status="streaming")),
    ("nothing is held by the dead", last("calls", state="started")),
    ("nothing is held by the dead", other(live_texts=[{"session_id": _SESSION, "event_id": "entry-2"}])),
    ("nothing is held by the dead", other(cancel_requests=[{"session_id": _SESSION, "target_id": "stage-2"}])),
    ("nothing is held by the dead", other(open_changes=[{"target": "mcp:deck", "call_id": "call-1"}])),
    ("all work is told", first("stages", stage_id="stage-9")),
    ("all work is told", first("timeline", event_id="entry-9")),
    ("all work is told", more("events", {**event(10, "timeline_event.created"), "ref": "entry-1"})),
    ("all work is told", other(timeline=WELL.timeline[:1])),
    ("all work is told", last("timeline", execution_id="execution-9")),
    ("all work is told", other(dangling=[{"session_id": _SESSION, "text_id": "text-1"}])),
    ("every call is answered in its place", other(messages=WELL.messages[:-1])),
    ("every call is answered in its place", last("messages", tool_call_id="provider-0")),
    ("resumes agree with take-overs", other(timeline=WELL.timeline[1:])),
    ("resumes agree with take-overs", more("timeline", WELL.timeline[0])),
    ("resumes agree with take-overs", first("timeline", metadata={"attempts": 0, "taken_over": True, "epoch": 2})),
    ("resumes agree with take-overs", first("timeline", metadata={"attempts": 1, "taken_over": False, "epoch": 2})),
    ("resumes agree with take-overs", first("timeline", metadata={"attempts": 1, "taken_over": True, "epoch": 1})),
    ("resumes agree with take-overs", first("claims", attempts=1)),
    ("resumes agree with take-overs", first("claims", epoch=2)),
    ("no more sessions run than may", more("claims", {**claim(1, "a1", 5.5), "session_id": "session-2"})),
    ("survivors are well", other(health={"b1": {"status": "unhealthy"}})),
    ("survivors are well", other(health={"b1": {**_HEALTHY, "checks": {"worker_pool": {"busy_slots": 1}}}})),
    ("survivors are well", other(crashed=["b1"])),
    ("survivors are well", other(exits={"b1": 1})),
    ("survivors are well", other(server_errors=["b1 /api/v1/alerts"])),
    ("nothing is left over", other(connections={"a1": 2})),
    ("nothing is left over", other(leftovers=["python tool_server.py"])),
]

FINE: list[tuple[str, Change]] = [
    ("an interrupted read runs again", more("effects", effect(0, "look", 2.5, replica="b1"))),
    (
        "a write with an unknown outcome keeps its target",
        both(last("calls", state="unknown"), other(open_changes=[{"target": "mcp:deck", "call_id": "call-1"}])),
    ),
    ("a slow write that tells of its end", more("effects", effect(1, "turn", 9, replica="b1", state="end"))),
    (
        "a write that may never have been sent",
        both(last("calls", error_code="NOT_DISPATCHED"), other(effects=[effect(0, "look", 2)])),
    ),
    (
        "a cancel that was refused",
        other(cancels=[Cancel(kind="session", session_id=_SESSION, target_id=_SESSION, status=409)]),
    ),
    (
        "a claim that was to end what a person had cancelled",
        both(other(timeline=WELL.timeline[1:]), other(claims=[{**each, "cancelled": True} for each in WELL.claims])),
    ),
    (
        "what others tell the feed",
        other(timeline=WELL.timeline[1:], passes=[{**WELL.passes[1], "replica": "chaos_1_c1"}]),
    ),
    ("a session after another", more("claims", {**claim(1, "a1", 6.5), "session_id": "session-2"})),
    ("as many sessions as may run", both(other(cap=2), more("claims", {**claim(1, "a1", 5.5), "session_id": "s-2"}))),
    ("a claim that never got to say that it goes on", both(other(timeline=WELL.timeline[1:]), other(passes=[]))),
]


def test_nothing_is_found_where_all_is_well() -> None:
    assert check(WELL) == []


@pytest.mark.parametrize(("rule", "change"), BROKEN, ids=[f"{n} {rule}" for n, (rule, _) in enumerate(BROKEN)])
def test_a_broken_history_is_found_by_its_rule(rule: str, change: Change) -> None:
    assert rule in {violation.rule for violation in check(change(WELL))}


@pytest.mark.parametrize("change", [change for _, change in FINE], ids=[name for name, _ in FINE])
def test_what_may_happen_is_not_held_against_anybody(change: Change) -> None:
    assert check(change(WELL)) == []


def test_every_rule_has_a_history_that_breaks_it() -> None:
    assert {rule for rule, _ in BROKEN} == RULES.keys()
