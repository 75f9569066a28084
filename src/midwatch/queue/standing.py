"""Why something waits, in one sentence for whoever has to do with it. Pure."""

from dataclasses import dataclass

from midwatch.domain.session import RunKind
from midwatch.store.queues import LeaseReading, Line, QueueReading


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """The slots of one kind: how many there are, how many are taken, and what they are for."""

    slots: int
    line: Line
    noun: str

    @property
    def is_full(self) -> bool:
        return self.line.running >= self.slots


def measure_room(queue: QueueReading, kind: RunKind, *, cap: int) -> Room:
    """No more than `cap` sessions run at once, however many slots there are. For questions only slots count."""
    if kind is RunKind.CHAT:
        return Room(slots=queue.chat_slots, line=queue.chats, noun="question")
    return Room(slots=min(cap, queue.slots), line=queue.alerts, noun="session")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    ahead: int
    kind: RunKind = RunKind.ALERT
    lease: LeaseReading | None = None
    """Of a run whose owner is gone."""
    journal_format: int = 1

    @property
    def position(self) -> int:
        """Counted from one, which is the next to be taken."""
        return self.ahead + 1


def explain_place(queue: QueueReading, place: Place, *, cap: int) -> str:
    """Why this one waits."""
    room = measure_room(queue, place.kind, cap=cap)
    if (trouble := explain_trouble(queue)) is not None:
        return trouble
    if not any(replica.journal_format >= place.journal_format for replica in queue.open_replicas):
        return "a newer version has had it in hand, and no replica of that version is alive"
    if place.lease is not None and place.lease.owner is not None:
        return f"{_tell_owner(place.lease)}; {_tell_ahead(place.ahead, room.noun)}"
    return f"{_tell_slots(room)}, {_tell_ahead(place.ahead, room.noun)}"


def explain_queue(queue: QueueReading, *, cap: int) -> str | None:
    """Why sessions wait; None when none does."""
    if not queue.alerts.waiting:
        return None
    return explain_trouble(queue) or _tell_slots(measure_room(queue, RunKind.ALERT, cap=cap))


def explain_trouble(queue: QueueReading) -> str | None:
    """What keeps everything waiting."""
    if not queue.replicas:
        return "no replica is alive"
    if not queue.open_replicas:
        return "the replica is draining" if len(queue.replicas) == 1 else "all replicas are draining"
    return None


def _tell_slots(room: Room) -> str:
    if not room.is_full:
        return f"{room.slots - room.line.running} of {room.slots} slots are free"
    return "the one slot is taken" if room.slots == 1 else f"all {room.slots} slots are taken"


def _tell_ahead(ahead: int, noun: str) -> str:
    match ahead:
        case 0:
            return "and this one is next"
        case 1:
            return f"one {noun} is before this one"
        case _:
            return f"{ahead} {noun}s are before this one"


def _tell_owner(lease: LeaseReading) -> str:
    went = "has handed it over" if lease.was_released else "is gone"
    return f"replica {lease.pod_id} {went}, and another takes over within seconds"
