"""The safety machine: what may be done next to each target, given what was done to it before.

One per session, shared by all its executions and its chat. It never awaits: a change is entered and left in one step
each, and the order of those steps is the only time it trusts. Only what was really sent moves it.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final
from uuid import UUID

from midwatch.domain.tools import Refusal, Ticket, ToolKind
from midwatch.kit.clock import Clock, boottime
from midwatch.safety.refusals import CODES, Code, build_refusal, name_failure

_LOOKS: Final = (ToolKind.READ, ToolKind.RESOLVE)


class Phase(StrEnum):
    RESOLVING = "RESOLVING"  # nobody has looked at the target yet
    READING = "READING"  # somebody has, and nothing is left to verify
    WRITING = "WRITING"  # a change is under way, or may still be
    VERIFYING = "VERIFYING"  # a change is over and nobody has looked since


class Outcome(StrEnum):
    SUCCEEDED = "succeeded"
    FAILED = "failed"  # sent, and came back as an error or not in time
    UNKNOWN = "unknown"  # sent, and given up on while it may still be at work
    NOT_SENT = "not_sent"  # denied, queued, blocked: it never left


_GIVEN_UP: Final = (Code.CANCELLED_BY_PERSON, Code.OUTCOME_UNKNOWN)


def name_outcome(error: str | None) -> Outcome:
    """What the code of a result says of its call. What no code tells was sent and failed."""
    if error is None:
        return Outcome.SUCCEEDED
    code = name_failure(error)
    if code in _GIVEN_UP:
        return Outcome.UNKNOWN
    return Outcome.NOT_SENT if CODES[code].blocked else Outcome.FAILED


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedCall:
    """What the journal keeps of a call that was sent, for whoever takes the session over."""

    kind: ToolKind
    targets: tuple[str, ...]
    began: int
    verified: tuple[str, ...] = ()
    """Targets whose last change this call has verified, as `end` said."""
    owner: UUID | None = None
    held_for: float = 0.0
    """Seconds for which a change without an answer may still be at work: what is left until its deadline."""


@dataclass(slots=True)
class _Change:
    """The last change of a target, as long as nobody has verified it."""

    began: int
    owner: UUID | None
    ended: int | None = None
    held_until: float | None = None
    """Given up on, but perhaps still at work until then."""


@dataclass(slots=True, kw_only=True)
class Machine:
    clock: Clock = boottime
    _order: int = 0
    _seen: set[str] = field(default_factory=set[str])
    _changes: dict[str, _Change] = field(default_factory=dict[str, _Change])
    _under_way: dict[int, Ticket] = field(default_factory=dict[int, Ticket])

    def phase_of(self, target: str) -> Phase:
        change = self._changes.get(target)
        if change is None:
            return Phase.READING if target in self._seen else Phase.RESOLVING
        self._release(change)
        return Phase.WRITING if change.ended is None else Phase.VERIFYING

    def refuse(self, kind: ToolKind, targets: Collection[str], *, found: Collection[str] = ()) -> Refusal | None:
        """Why a call may not begin now. `found` are targets that a discovery has shown to exist."""
        if kind is not ToolKind.WRITE:
            return None
        if not targets:
            return _refuse_phase(Phase.RESOLVING, [], reason="the change names no target", hint="Name the target.")
        for phase, reason, hint in _BLOCKS:
            blocked = [target for target in targets if self._phase_for_write(target, found) is phase]
            if blocked:
                return _refuse_phase(phase, blocked, reason=reason, hint=hint)
        return None

    def begin(
        self,
        kind: ToolKind,
        targets: Collection[str],
        *,
        found: Collection[str] = (),
        owner: UUID | None = None,
    ) -> Ticket | Refusal:
        """Asks and enters in one step: of two changes to one target, the second is refused."""
        refusal = self.refuse(kind, targets, found=found)
        return self._enter(kind, targets, owner=owner) if refusal is None else refusal

    def observe(self, kind: ToolKind, targets: Collection[str], *, owner: UUID | None = None) -> Ticket | Refusal:
        """Enters whatever would have been refused, but for a second change while one is under way."""
        phases = {target: self.phase_of(target) for target in targets} if kind is ToolKind.WRITE else {}
        blocked = [target for target, phase in phases.items() if phase is Phase.WRITING]
        if blocked:
            _, reason, hint = _BLOCKS[0]
            return _refuse_phase(Phase.WRITING, blocked, reason=reason, hint=hint)
        return self._enter(kind, targets, owner=owner)

    def _enter(self, kind: ToolKind, targets: Collection[str], *, owner: UUID | None) -> Ticket:
        for change in self._changes.values():
            self._release(change)
        began = self._tick()
        ticket = Ticket(number=began, kind=kind, targets=tuple(dict.fromkeys(targets)), began=began, owner=owner)
        self._under_way[ticket.number] = ticket
        if kind is ToolKind.WRITE:
            self._changes |= {target: _Change(began, owner) for target in ticket.targets}
        return ticket

    def end(self, ticket: Ticket, outcome: Outcome, *, held_for: float = 0.0) -> tuple[str, ...]:
        """Leaves what `begin` entered, once, and returns the targets this call has verified.

        `held_for` are the seconds that a change with an unknown outcome may still be at work.
        """
        if self._under_way.pop(ticket.number, None) is None:
            return ()
        if ticket.kind is ToolKind.WRITE:
            self._end_change(ticket, outcome, held_for=held_for)
            return ()
        if outcome is not Outcome.SUCCEEDED or ticket.kind not in _LOOKS:
            return ()
        verified = self._verify(ticket) if ticket.kind is ToolKind.READ else ()
        self._seen |= set(ticket.targets)
        return verified

    def see(self, targets: Iterable[str]) -> None:
        """Looked at before, as the journal tells."""
        self._seen |= set(targets)

    @property
    def unverified_targets(self) -> tuple[str, ...]:
        """Changed, or being changed, and not looked at since."""
        return tuple(sorted(self._changes))

    def list_owed(self, owner: UUID | None = None) -> tuple[str, ...]:
        """What an execution has changed and nobody has looked at since; without an owner, all of the session's."""
        return tuple(
            target for target in self.unverified_targets if owner is None or self._changes[target].owner == owner
        )

    def refuse_conclusion(self, *, owner: UUID | None = None) -> Refusal | None:
        """An execution answers for its own changes; without an owner, all of the session's count."""
        owed = list(self.list_owed(owner))
        if not owed:
            return None
        phases = {self.phase_of(target) for target in owed}
        is_under_way = Phase.WRITING in phases
        look = f"Read {', '.join(owed)} to see what the change has done, then conclude."
        return _refuse_phase(
            Phase.WRITING if is_under_way else Phase.VERIFYING,
            owed,
            reason="what was changed has not been looked at since",
            hint=f"{look} It may still be under way, and only a look after it counts: wait." if is_under_way else look,
        )

    def may_conclude(self, *, owner: UUID | None = None) -> bool:
        return self.refuse_conclusion(owner=owner) is None

    def reset(self, *, keep: Collection[str] = ()) -> None:
        """Forgets what was looked at, except for `keep`. What is left to verify stays so."""
        self._seen &= set(keep)

    @classmethod
    def rebuild(cls, calls: Iterable[RecordedCall], *, clock: Clock = boottime) -> "Machine":
        """What a former owner left to verify. What it had looked at is to be looked at again."""
        machine = cls(clock=clock)
        for call in sorted(calls, key=lambda call: call.began):
            machine._recall(call)
        return machine

    def _phase_for_write(self, target: str, found: Collection[str]) -> Phase:
        phase = self.phase_of(target)
        return Phase.READING if phase is Phase.RESOLVING and target in found else phase

    def _end_change(self, ticket: Ticket, outcome: Outcome, *, held_for: float) -> None:
        for target in ticket.targets:
            if outcome is Outcome.NOT_SENT:
                del self._changes[target]
            elif outcome is Outcome.UNKNOWN:
                self._changes[target].held_until = self.clock() + held_for
            else:
                self._changes[target].ended = self._tick()

    def _verify(self, ticket: Ticket) -> tuple[str, ...]:
        verified = tuple(target for target in ticket.targets if self._is_verified_by(ticket, target))
        for target in verified:
            del self._changes[target]
        return verified

    def _is_verified_by(self, ticket: Ticket, target: str) -> bool:
        change = self._changes.get(target)
        return change is not None and change.ended is not None and ticket.began > change.ended

    def _release(self, change: _Change) -> None:
        if change.held_until is not None and self.clock() >= change.held_until:
            change.ended, change.held_until = self._tick(), None

    def _recall(self, call: RecordedCall) -> None:
        self._order = max(self._order, call.began)
        if call.kind is not ToolKind.WRITE:
            for target in call.verified:
                self._changes.pop(target, None)
            return
        for target in call.targets:
            self._changes[target] = _Change(call.began, call.owner, held_until=self.clock() + call.held_for)

    def _tick(self) -> int:
        self._order += 1
        return self._order


_BLOCKS: Final = (
    (
        Phase.WRITING,
        "another change of it is under way, or may still be",
        "Wait for that change to be over, read the target, and change it again only if it is still needed.",
    ),
    (
        Phase.VERIFYING,
        "it was changed before, and nobody has looked at it since",
        "Read the target to see what the last change has done, then change it again if it is still needed.",
    ),
    (
        Phase.RESOLVING,
        "nobody has looked at it in this session",
        "Find or read the target first, then make the change.",
    ),
)


def _refuse_phase(phase: Phase, targets: list[str], *, reason: str, hint: str) -> Refusal:
    return build_refusal(
        Code.FSM_BLOCKED,
        f"{', '.join(targets)}: {reason}" if targets else reason,
        hint=hint,
        details={"state": phase, "targets": targets},
    )
