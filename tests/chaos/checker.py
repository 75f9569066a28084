"""What must hold of every run, whatever happened in it. Pure: a history goes in, what is wrong with it comes out."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from midwatch.domain.session import SessionStatus, WorkStatus
from midwatch.domain.tools import CallState
from midwatch.kit import json
from midwatch.tools.failure import FailureCode
from tests.chaos.history import Entry, History
from tests.chaos.plan import WRITES
from tests.chaos.takeovers import MOST_ATTEMPTS, find_miscounted_resumes, list_passes
from tests.invariants import check_answers

_SETTLED = frozenset({CallState.FINISHED, CallState.REFUSED, CallState.UNKNOWN})
_MAYBE_SENT = frozenset({FailureCode.NOT_DISPATCHED, FailureCode.TRANSPORT_ERROR, FailureCode.TIMEOUT})


@dataclass(frozen=True, slots=True)
class Violation:
    rule: str
    what: str


def check(history: History) -> list[Violation]:
    return [Violation(rule, what) for rule, find in RULES.items() for what in find(history)]


def find_lost_sessions(history: History) -> Iterator[str]:
    statuses = {row["session_id"]: row["status"] for row in history.sessions}
    yield from (f"session {lost} was accepted and is not stored" for lost in set(history.accepted) - statuses.keys())
    yield from (f"session {extra} was stored for nobody" for extra in statuses.keys() - set(history.accepted))
    for row in history.sessions:
        status = SessionStatus(row["status"])
        if not status.is_terminal or row["completed_at"] is None:
            yield f"session {row['session_id']} is {status}"
            continue
        posts = [post["payload"]["status"] for post in history.outbox if post["session_id"] == row["session_id"]]
        if posts != [status]:
            yield f"session {row['session_id']} is {status}, and its outbox says {posts}"
        told = [word for word in _told_statuses(history, row["session_id"]) if SessionStatus(word).is_terminal]
        if told != [status]:
            yield f"session {row['session_id']} is {status}, and its feed tells of the ends {told}"


def find_lost_questions(history: History) -> Iterator[str]:
    stages = {row["stage_id"]: row for row in history.stages if row["stage_type"] == "chat"}
    yield from (f"question {lost} was accepted and is not stored" for lost in set(history.questions) - stages.keys())
    for stage_id, stage in stages.items():
        told = [
            event["payload"]["status"]
            for event in history.events
            if event["type"] == "stage.status" and event["payload"]["stage_id"] == stage_id
        ]
        ends = [word for word in told if word != "started"]
        if not WorkStatus(stage["status"]).is_terminal or ends != [stage["status"]]:
            yield f"question {stage_id} is {stage['status']}, and its feed tells of the ends {ends}"


def find_unexplained_ends(history: History) -> Iterator[str]:
    """Models and tools are well here: a session completes, unless a person cancels it or replica after replica dies."""
    stopped = {cancel.session_id for cancel in history.cancels if cancel.kind in ("session", "agent")}
    for row in history.sessions:
        session_id, status = row["session_id"], row["status"]
        gave_up = any(
            claim["session_id"] == session_id and claim["run"] == "alert" and claim["attempts"] > MOST_ATTEMPTS
            for claim in history.claims
        )
        explained = (
            status == SessionStatus.COMPLETED
            or (status == SessionStatus.CANCELLED and session_id in stopped)
            or (status == SessionStatus.FAILED and gave_up)
        )
        if not explained:
            yield f"session {session_id} is {status}: {row['error_message']}"


def find_ignored_cancels(history: History) -> Iterator[str]:
    sessions = {row["session_id"]: row["status"] for row in history.sessions}
    stages = {row["stage_id"]: row["status"] for row in history.stages}
    executions = {row["execution_id"]: row["status"] for row in history.executions}
    ends = {"session": sessions, "question": stages, "agent": executions}
    for cancel in history.cancels:
        end = ends.get(cancel.kind, {}).get(cancel.target_id)
        if cancel.status == 200 and end not in (None, "cancelled"):
            yield f"the {cancel.kind} {cancel.target_id} was cancelled and is {end}"


def find_repeated_calls(history: History) -> Iterator[str]:
    """A finished call is never executed again, and no two rows stand for one call."""
    times = _list_dispatches(history)
    rows = Counter(_key_of(call) for call in history.calls)
    yield from (f"call {key} stands in {count} rows" for key, count in rows.items() if count > 1)
    for call in history.calls:
        if call["finished_at"] is None:
            continue
        finished = call["finished_at"].timestamp()
        late = [effect for effect in times[_key_of(call)] if effect["time"] > finished]
        if late:
            yield f"call {call['call_id']} {_key_of(call)} was executed again by {late[0]['replica']}"


def find_repeated_writes(history: History) -> Iterator[str]:
    sent = _list_dispatches(history)
    for call in filter(_is_write, history.calls):
        count = len(sent[_key_of(call)])
        if count > 1:
            yield f"write {call['call_id']} {_key_of(call)} was sent {count} times"
        if count and call["state"] == CallState.REFUSED:
            yield f"write {call['call_id']} {_key_of(call)} was refused and sent"
        is_sure = call["state"] == CallState.FINISHED and call["error_code"] not in _MAYBE_SENT
        if is_sure and not count:
            yield f"write {call['call_id']} {_key_of(call)} is finished and was never sent"
    stored = {_key_of(call) for call in history.calls}
    yield from (f"{key} was sent and stands in no row" for key in sent.keys() - stored)


def find_unfenced_writes(history: History) -> Iterator[str]:
    """Sent by whoever had started it, and before anybody else had taken the session over."""
    sent = _list_dispatches(history)
    for call in filter(_is_write, history.calls):
        claims = [claim for claim in history.claims if claim["session_id"] == call["session_id"]]
        owner = next((claim["replica"] for claim in claims if claim["epoch"] == call["epoch"]), None)
        later = min(
            (claim["at"].timestamp() for claim in claims if claim["epoch"] > (call["epoch"] or 0)), default=None
        )
        for effect in sent[_key_of(call)]:
            if owner is None or not owner.endswith(f"_{effect['replica']}"):
                yield f"write {call['call_id']} was started by {owner} and sent by {effect['replica']}"
            if later is not None and effect["time"] > later:
                yield (
                    f"write {call['call_id']} of epoch {call['epoch']} was sent {effect['time'] - later:.3f} s after "
                    f"the session had been taken over"
                )


def find_feed_gaps(history: History) -> Iterator[str]:
    stored: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for event in history.events:
        stored[event["session_id"]].append((event["seq"], event["type"]))
    for session_id, rows in stored.items():
        if [seq for seq, _ in rows] != list(range(1, len(rows) + 1)):
            yield f"the events of session {session_id} are numbered {[seq for seq, _ in rows]}"
        for who, told in (("reader", history.heard), ("watcher", history.watched)):
            if list(told.get(session_id, ())) != rows:
                yield f"a {who} of session {session_id} was told {_differ(rows, told.get(session_id, ()))}"


def find_what_is_held(history: History) -> Iterator[str]:
    """By the dead, or by nobody: leases, open work, streams, wishes."""
    for lease in history.leases:
        if lease["owner"] is not None or lease["expires_at"] is not None:
            yield f"the lease of session {lease['session_id']} is still held by {lease['owner']}"
    for kind, rows in (("stage", history.stages), ("execution", history.executions)):
        for row in rows:
            if not WorkStatus(row["status"]).is_terminal or row["completed_at"] is None:
                yield f"{kind} {row[f'{kind}_id']} is {row['status']}"
    yield from (f"entry {row['event_id']} still streams" for row in history.timeline if row["status"] == "streaming")
    yield from (f"call {row['call_id']} is {row['state']}" for row in history.calls if row["state"] not in _SETTLED)
    yield from (f"live text {row['event_id']} was left" for row in history.live_texts)
    yield from (f"the wish to end {row['target_id']} was left" for row in history.cancel_requests)
    unsure = {row["call_id"] for row in history.calls if row["state"] == CallState.UNKNOWN}
    for row in history.open_changes:
        if row["call_id"] not in unsure:
            yield f"target {row['target']} is kept by call {row['call_id']}, whose outcome is known"


def find_untold_work(history: History) -> Iterator[str]:
    """Every stage is told to have begun and to have ended, every entry is announced, every agent that completes
    concludes: each once. No text that is spoken of is missing.
    """
    told: defaultdict[str, list[str]] = defaultdict(list)
    for event in history.events:
        if event["type"] == "stage.status":
            told[event["payload"]["stage_id"]].append(event["payload"]["status"])
    for stage in history.stages:
        words = told[stage["stage_id"]]
        never_begun = stage["stage_type"] == "chat" and words == [stage["status"]]
        if words != ["started", stage["status"]] and not never_begun:
            yield f"stage {stage['stage_id']} is {stage['status']}, and its feed says {words}"
    announced = Counter(event["ref"] for event in history.events if event["type"] == "timeline_event.created")
    for entry in history.timeline:
        if announced[entry["event_id"]] != 1:
            yield f"entry {entry['event_id']} was announced {announced[entry['event_id']]} times"
    concluded = Counter(row["execution_id"] for row in history.timeline if row["event_type"] == "final_analysis")
    for execution in history.executions:
        expected = int(execution["status"] == WorkStatus.COMPLETED)
        if concluded[execution["execution_id"]] != expected:
            times = concluded[execution["execution_id"]]
            yield f"execution {execution['execution_id']} is {execution['status']} and has concluded {times} times"
    yield from (f"text {row['text_id']} of session {row['session_id']} is missing" for row in history.dangling)


def find_broken_conversations(history: History) -> Iterator[str]:
    for execution in history.executions:
        execution_id = execution["execution_id"]
        messages = [row for row in history.messages if row["execution_id"] == execution_id]
        calls = [row for row in history.calls if row["execution_id"] == execution_id]
        try:
            check_answers(messages, calls, all_answered=execution["status"] == WorkStatus.COMPLETED)
        except AssertionError:
            yield f"in execution {execution_id} of {execution['agent_name']} calls and answers do not match"


def find_crowds(history: History) -> Iterator[str]:
    """Whoever claims a session that nobody had begun leaves those alone that ran, then and afterwards, at the cap."""
    for claim in history.claims:
        if claim["run"] == "alert" and not claim["resumed"]:
            running = {other["session_id"] for other in history.claims if _runs_at(history, other, claim["at"])}
            if len(running) >= history.cap:
                yield f"session {claim['session_id']} was begun beside {running}, and the cap is {history.cap}"


def _runs_at(history: History, claim: Entry, time: datetime) -> bool:
    """Under this claim it surely ran: its owner committed something of it later."""
    ends = (row["completed_at"] for row in history.sessions if row["session_id"] == claim["session_id"])
    return (
        claim["run"] == "alert"
        and claim["at"] < time
        and all(end is None or end > time for end in ends)
        and any(row["at"] > time for row in list_passes(history, claim))
    )


def find_sick_survivors(history: History) -> Iterator[str]:
    for name, health in history.health.items():
        pool = health.get("checks", {}).get("worker_pool", {})
        if health.get("status") != "healthy" or pool.get("busy_slots") != 0:
            yield f"replica {name} says of itself {dict(health)}"
    yield from (f"replica {name} ended by itself" for name in history.crashed)
    yield from (
        f"replica {name} was asked to stop and ended with {code}" for name, code in history.exits.items() if code
    )
    yield from (f"a 500: {request}" for request in history.server_errors)


def find_leftovers(history: History) -> Iterator[str]:
    yield from (f"replica {name} is dead and has {n} database connections" for name, n in history.connections.items())
    yield from (f"a process was left: {process}" for process in history.leftovers)


RULES: dict[str, Callable[[History], Iterator[str]]] = {
    "every accepted session ends once": find_lost_sessions,
    "every accepted question ends once": find_lost_questions,
    "a session fails for a reason": find_unexplained_ends,
    "an accepted cancel is obeyed": find_ignored_cancels,
    "a finished call is not executed again": find_repeated_calls,
    "a write is sent at most once": find_repeated_writes,
    "a write is sent by its epoch's owner only": find_unfenced_writes,
    "a reader hears every stored event once": find_feed_gaps,
    "nothing is held by the dead": find_what_is_held,
    "all work is told": find_untold_work,
    "every call is answered in its place": find_broken_conversations,
    "resumes agree with take-overs": find_miscounted_resumes,
    "no more sessions run than may": find_crowds,
    "survivors are well": find_sick_survivors,
    "nothing is left over": find_leftovers,
}


def _told_statuses(history: History, session_id: str) -> list[str]:
    return [
        event["payload"]["status"]
        for event in history.events
        if event["session_id"] == session_id and event["type"] == "session.status"
    ]


def _list_dispatches(history: History) -> defaultdict[str, list[Entry]]:
    """A slow write is counted where it begins."""
    found: defaultdict[str, list[Entry]] = defaultdict(list)
    for effect in history.effects:
        if effect.get("state") != "end":
            found[effect["arguments"]["key"]].append(effect)
    return found


def _key_of(call: Entry) -> str:
    arguments: dict[str, Any] = json.decode(call["arguments"])
    return arguments["key"]


def _is_write(call: Entry) -> bool:
    return call["tool_name"].partition(".")[2] in WRITES


def _differ(stored: Sequence[tuple[int, str]], heard: Sequence[tuple[int, str]]) -> str:
    at = next((n for n, (s, h) in enumerate(zip(stored, heard, strict=False)) if s != h), min(len(stored), len(heard)))
    return (
        f"{len(heard)} events of {len(stored)}; they differ from {at}: {heard[at : at + 2]}, not {stored[at : at + 2]}"
    )
