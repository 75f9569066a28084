"""What the doctor makes of a queue, and of who is there."""

from datetime import UTC, datetime, timedelta

from midwatch.cli.checks.finding import Finding, Grade
from midwatch.cli.checks.queue import judge_queue
from midwatch.config.queue import Queue
from midwatch.store.queues import Line, QueueReading
from midwatch.store.replicas import LiveReplica

NOW = datetime(2025, 1, 1, tzinfo=UTC)
EMPTY = Line(waiting=0, oldest=None, running=0, left_behind=0, unreadable=0)


def line(waiting: int, *, running: int = 0, left_behind: int = 0, unreadable: int = 0) -> Line:
    oldest = timedelta(minutes=3) if waiting else None
    return Line(waiting=waiting, oldest=oldest, running=running, left_behind=left_behind, unreadable=unreadable)


def replica(name: str, *, is_draining: bool = False, busy: int = 0) -> LiveReplica:
    return LiveReplica(
        owner=f"{name}:1",
        pod_id=name,
        version="1.0",
        journal_format=1,
        slots=2,
        chat_slots=5,
        is_draining=is_draining,
        busy_slots=busy,
        busy_chat_slots=1,
        started_at=NOW,
        seen_at=NOW,
    )


def judge(alerts: Line, *replicas: LiveReplica, chats: Line = EMPTY) -> list[Finding]:
    return list(judge_queue(QueueReading(alerts=alerts, chats=chats, replicas=replicas), Queue(warn_depth=10)))


def test_replicas_are_named_with_what_they_do() -> None:
    found, queue = judge(EMPTY, replica("one", busy=2), replica("two", is_draining=True))
    one = "one (1.0): 2 of 2 slots busy, 1 of 5 for questions"
    two = "two (1.0, draining): 0 of 2 slots busy, 1 of 5 for questions"
    assert (found.grade, found.text) == (Grade.FINE, f"2 alive: {one}; {two}")
    assert (queue.grade, queue.text) == (Grade.FINE, "nothing waits, 0 of 5 run")


def test_a_queue_that_moves_is_fine() -> None:
    _, queue = judge(line(3, running=2), replica("one", busy=2), chats=line(2))
    told = "3 sessions wait, the first for 3 min; all 2 slots are taken; 2 of 5 run, 2 questions wait"
    assert (queue.grade, queue.text, queue.remedy) == (Grade.FINE, told, None)


def test_a_deep_queue_is_doubtful() -> None:
    _, queue = judge(line(10, running=2), replica("one", busy=2))
    assert queue.grade is Grade.DOUBTFUL
    assert queue.text.endswith("; queue.warn_depth is 10")


def test_a_queue_that_nobody_takes_from_leads_to_serve() -> None:
    for replicas in ((), (replica("one", is_draining=True),)):
        _, queue = judge(line(1), *replicas)
        assert (queue.grade, queue.remedy) == (Grade.DOUBTFUL, "midwatch serve")


def test_leases_past_their_expiry_are_doubtful() -> None:
    *_, leases = judge(line(0, left_behind=2), replica("one"), chats=line(0, left_behind=1))
    assert (leases.subject, leases.grade, leases.remedy) == ("leases", Grade.DOUBTFUL, None)
    assert leases.text.startswith("3 past their expiry")
    *_, alone = judge(line(0, left_behind=1))
    assert (alone.text.startswith("1 past its expiry"), alone.remedy) == (True, "midwatch serve")


def test_runs_that_nobody_alive_can_read_are_named() -> None:
    *_, found = judge(line(0, left_behind=1, unreadable=1), replica("one"))
    assert (found.subject, found.grade) == ("versions", Grade.DOUBTFUL)
    assert found.text == "1 run was written by a newer version, of which no replica is alive"
