"""The queue over the wire: why something waits, who runs what, and who is there."""

from datetime import datetime, timedelta
from typing import Self

from pydantic import BaseModel, Field

from midwatch.domain.session import RunKind
from midwatch.queue.places import Standing
from midwatch.queue.standing import Place, explain_place, explain_queue, measure_room
from midwatch.store.queues import LeaseReading, Line, QueueReading
from midwatch.store.replicas import LiveReplica


class PlaceOut(BaseModel):
    position: int = Field(description="Counted from one, which is the next to be taken")
    ahead: int = Field(description="How many are before it")
    running: int = Field(description="How many of its kind run now, on all replicas")
    cap: int = Field(description="How many of its kind may run at once, on all replicas")
    reason: str = Field(description="Why it waits, in a sentence")

    @classmethod
    def from_place(cls, queue: QueueReading, place: Place, *, cap: int) -> Self:
        room = measure_room(queue, place.kind, cap=cap)
        return cls(
            position=place.position,
            ahead=place.ahead,
            running=room.line.running,
            cap=cap if place.kind is RunKind.ALERT else room.slots,
            reason=explain_place(queue, place, cap=cap),
        )


class LeaseOut(BaseModel):
    kind: RunKind = Field(description="Whether the investigation is run, or a question is answered")
    replica: str = Field(description="The `POD_ID` of whoever runs it")
    owner: str = Field(description="The replica and the start of its process")
    epoch: int = Field(description="Grows each time somebody takes the session")
    attempts: int = Field(description="Take-overs in a row without progress between them")
    claimed_at: datetime
    last_heartbeat: datetime
    seconds_since_heartbeat: float
    expires_at: datetime = Field(description="When another replica may take over, unless it is renewed")
    is_expired: bool

    @classmethod
    def from_reading(cls, lease: LeaseReading) -> Self:
        return cls(
            kind=lease.kind,
            replica=lease.pod_id or "",
            owner=lease.owner or "",
            epoch=lease.epoch,
            attempts=lease.attempts,
            claimed_at=lease.claimed_at,
            last_heartbeat=lease.renewed_at,
            seconds_since_heartbeat=_seconds(lease.silence),
            expires_at=lease.expires_at,
            is_expired=lease.is_expired,
        )


def place_of(standing: Standing, *, cap: int) -> PlaceOut | None:
    waiting = standing.waiting
    return None if waiting is None else PlaceOut.from_place(waiting.queue, waiting.place, cap=cap)


def lease_of(standing: Standing) -> LeaseOut | None:
    return None if standing.lease is None else LeaseOut.from_reading(standing.lease)


class LineOut(BaseModel):
    depth: int = Field(description="How many wait")
    oldest_age_seconds: float | None = Field(description="How long the first in line has waited; null when none does")
    running: int
    cap: int = Field(description="How many may run at once, on all replicas")
    left_behind: int = Field(description="Runs whose replica is gone, and that nobody has taken over yet")

    @classmethod
    def from_line(cls, line: Line, *, cap: int) -> Self:
        return cls(
            depth=line.waiting,
            oldest_age_seconds=None if line.oldest is None else _seconds(line.oldest),
            running=line.running,
            cap=cap,
            left_behind=line.left_behind,
        )


class ReplicaOut(BaseModel):
    replica: str = Field(description="Its `POD_ID`")
    owner: str = Field(description="The replica and the start of its process, as in the leases it holds")
    version: str
    is_draining: bool = Field(description="It takes nothing on any more")
    slots: int
    busy_slots: int
    chat_slots: int
    busy_chat_slots: int
    started_at: datetime
    last_seen: datetime

    @classmethod
    def from_replica(cls, replica: LiveReplica) -> Self:
        return cls(
            replica=replica.pod_id,
            owner=replica.owner,
            version=replica.version,
            is_draining=replica.is_draining,
            slots=replica.slots,
            busy_slots=replica.busy_slots,
            chat_slots=replica.chat_slots,
            busy_chat_slots=replica.busy_chat_slots,
            started_at=replica.started_at,
            last_seen=replica.seen_at,
        )


class QueueOut(LineOut):
    warn_depth: int = Field(description="So many that wait are too many, by `queue.warn_depth`")
    is_deep: bool
    reason: str | None = Field(description="Why sessions wait, in a sentence; null when none does")
    chat: LineOut = Field(description="The same of questions, which have slots of their own")
    replicas: list[ReplicaOut] = Field(description="Those that are alive, oldest first")

    @classmethod
    def from_queue(cls, queue: QueueReading, *, cap: int, warn_depth: int) -> Self:
        return cls(
            **LineOut.from_line(queue.alerts, cap=cap).model_dump(),
            warn_depth=warn_depth,
            is_deep=queue.alerts.waiting >= warn_depth,
            reason=explain_queue(queue, cap=cap),
            chat=LineOut.from_line(queue.chats, cap=queue.chat_slots),
            replicas=[ReplicaOut.from_replica(replica) for replica in queue.replicas],
        )


def _seconds(span: timedelta) -> float:
    return round(max(span.total_seconds(), 0.0), 3)
