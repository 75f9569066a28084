"""Any number of calls in flight, in any order: the promises of the machine against a plain record of what happened."""

from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from midwatch.domain.tools import ToolKind
from midwatch.safety.machine import Machine, Outcome, Phase, RecordedCall, Ticket
from tests.fakes.stepped_clock import SteppedClock
from tests.safety.requirements import requirement

TARGETS = ("a", "b", "c")
HOLD = 10.0


@dataclass(frozen=True)
class Begin:
    kind: ToolKind
    targets: tuple[str, ...]


@dataclass(frozen=True)
class End:
    pick: int
    outcome: Outcome


@dataclass(frozen=True)
class Wait:
    seconds: float


Step = Begin | End | Wait
STEPS = st.lists(
    st.one_of(
        st.builds(
            Begin,
            st.sampled_from(ToolKind),
            st.lists(st.sampled_from(TARGETS), min_size=1, max_size=2, unique=True).map(tuple),
        ),
        st.builds(End, st.integers(0, 5), st.sampled_from(Outcome)),
        st.builds(Wait, st.sampled_from([1.0, HOLD])),
    ),
    max_size=40,
)


@dataclass
class Past:
    """What really happened to one target, told without any phases."""

    looked: bool = False
    writing: bool = False
    changed_at: int | None = None
    """The step at which the last change was over and might be seen."""
    held_until: float | None = None


@dataclass
class World:
    """Runs steps on the machine and keeps its own plain account of them."""

    clock: SteppedClock = field(default_factory=SteppedClock)
    step: int = 0
    past: dict[str, Past] = field(default_factory=lambda: {target: Past() for target in TARGETS})
    flying: list[tuple[Ticket, int]] = field(default_factory=list[tuple[Ticket, int]])
    journal: dict[int, RecordedCall] = field(default_factory=dict[int, RecordedCall])
    machine: Machine = field(init=False)

    def __post_init__(self) -> None:
        self.machine = Machine(clock=self.clock)

    def take(self, step: Step) -> None:
        self.step += 1
        match step:
            case Begin():
                self.begin(step)
            case End() if self.flying:
                ticket, began = self.flying.pop(step.pick % len(self.flying))
                self.end(ticket, began, step.outcome)
            case End():
                pass
            case Wait(seconds=seconds):
                self.clock.step(seconds)

    def settle_holds(self) -> None:
        for past in self.past.values():
            if past.held_until is not None and self.clock() >= past.held_until:
                past.writing, past.held_until, past.changed_at = False, None, self.step

    def begin(self, step: Begin) -> None:
        self.settle_holds()
        pasts = [self.past[target] for target in step.targets]
        answer = self.machine.begin(step.kind, step.targets)
        is_clear = all(past.looked and not past.writing and past.changed_at is None for past in pasts)
        assert isinstance(answer, Ticket) == (step.kind is not ToolKind.WRITE or is_clear)
        if isinstance(answer, Ticket):
            self.step += 1
            self.flying.append((answer, self.step))
            if step.kind is ToolKind.WRITE:
                self.journal[answer.began] = RecordedCall(
                    kind=step.kind, targets=answer.targets, began=answer.began, held_for=HOLD
                )
                for past in pasts:
                    past.writing = True

    def end(self, ticket: Ticket, began: int, outcome: Outcome) -> None:
        verified = self.machine.end(ticket, outcome, held_for=HOLD)
        expected: set[str] = set()
        for target in ticket.targets:
            past = self.past[target]
            if ticket.kind is ToolKind.WRITE:
                self.end_change(past, outcome)
            elif outcome is Outcome.SUCCEEDED and ticket.kind in (ToolKind.READ, ToolKind.RESOLVE):
                past.looked = True
                if ticket.kind is ToolKind.READ and past.changed_at is not None and began > past.changed_at:
                    past.changed_at = None
                    expected.add(target)
        assert set(verified) == expected
        self.write_down(ticket, outcome, verified)

    def end_change(self, past: Past, outcome: Outcome) -> None:
        if outcome is Outcome.NOT_SENT:
            past.writing = False
            return
        past.looked = True
        if outcome is Outcome.UNKNOWN:
            past.held_until = self.clock() + HOLD
        else:
            past.writing, past.changed_at = False, self.step

    def write_down(self, ticket: Ticket, outcome: Outcome, verified: tuple[str, ...]) -> None:
        if ticket.kind is not ToolKind.WRITE:
            self.journal[ticket.began] = RecordedCall(
                kind=ticket.kind, targets=ticket.targets, began=ticket.began, verified=verified
            )
        elif outcome is Outcome.NOT_SENT:
            del self.journal[ticket.began]

    def check(self) -> None:
        self.settle_holds()
        owed = {target for target, past in self.past.items() if past.writing or past.changed_at is not None}
        assert set(self.machine.unverified_targets) == owed
        assert self.machine.may_conclude() == (not owed)
        for target, past in self.past.items():
            phase = self.machine.phase_of(target)
            assert (phase is Phase.WRITING) == past.writing
            assert (phase is Phase.VERIFYING) == (past.changed_at is not None)


@requirement("machine:entered-in-one-step", "machine:read-after-end", "machine:per-target")
@settings(max_examples=400, deadline=None)
@given(STEPS)
def test_whatever_is_in_flight_the_machine_tells_what_really_happened(steps: list[Step]) -> None:
    world = World()
    for step in steps:
        world.take(step)
        world.check()


@requirement("machine:rebuilt")
@settings(max_examples=400, deadline=None)
@given(STEPS)
def test_a_take_over_at_any_moment_owes_exactly_what_the_former_owner_owed(steps: list[Step]) -> None:
    world = World()
    for step in steps:
        world.take(step)
        successor = Machine.rebuild(world.journal.values(), clock=world.clock)
        assert successor.unverified_targets == world.machine.unverified_targets


@requirement("machine:verify-after-change", "machine:write-read-write")
@settings(max_examples=200, deadline=None)
@given(STEPS)
def test_every_target_can_be_brought_to_rest_by_reading_it_after_all_is_over(steps: list[Step]) -> None:
    world = World()
    for step in steps:
        world.take(step)
    while world.flying:
        world.take(End(0, Outcome.FAILED))
    world.clock.step(HOLD)
    look = world.machine.begin(ToolKind.READ, TARGETS)
    assert isinstance(look, Ticket)
    world.machine.end(look, Outcome.SUCCEEDED)
    assert world.machine.unverified_targets == ()
    assert world.machine.refuse(ToolKind.WRITE, TARGETS) is None
