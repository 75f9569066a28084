"""The machine: what may be done to a target next."""

from uuid import UUID

import pytest

from midwatch.domain.tools import Refusal, ToolKind
from midwatch.safety.machine import Machine, Outcome, Phase, RecordedCall, Ticket, name_outcome
from tests.fakes.stepped_clock import SteppedClock
from tests.safety.requirements import requirement

READ, WRITE, RESOLVE, ASK = ToolKind.READ, ToolKind.WRITE, ToolKind.RESOLVE, ToolKind.ASK
WEB, DB = "container:web", "container:db"
ONE, OTHER = UUID(int=1), UUID(int=2)


def begin(machine: Machine, kind: ToolKind, *targets: str, owner: UUID | None = None) -> Ticket:
    ticket = machine.begin(kind, targets, owner=owner)
    assert isinstance(ticket, Ticket)
    return ticket


def run(machine: Machine, kind: ToolKind, *targets: str, outcome: Outcome = Outcome.SUCCEEDED) -> tuple[str, ...]:
    return machine.end(begin(machine, kind, *targets), outcome)


def refuse(machine: Machine, *targets: str) -> Refusal:
    refusal = machine.begin(WRITE, targets)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "FSM_BLOCKED"
    return refusal


def looked_at(*targets: str, clock: SteppedClock | None = None) -> Machine:
    machine = Machine(clock=clock or SteppedClock())
    run(machine, READ, *targets)
    return machine


@requirement("machine:look-before-change")
def test_a_target_that_nobody_has_looked_at_is_not_changed() -> None:
    machine = Machine()
    refusal = refuse(machine, WEB)
    assert machine.phase_of(WEB) is Phase.RESOLVING
    assert refusal.details["state"] == "RESOLVING"
    assert refusal.details["targets"] == [WEB]
    assert refusal.details["auto_recoverable"] is True
    assert refusal.details["recovery_hint"] == refusal.hint


@requirement("machine:look-before-change")
@pytest.mark.parametrize("kind", [READ, RESOLVE])
def test_looking_opens_a_target_for_changes(kind: ToolKind) -> None:
    machine = Machine()
    run(machine, kind, WEB)
    assert machine.phase_of(WEB) is Phase.READING
    begin(machine, WRITE, WEB)
    assert machine.phase_of(WEB) is Phase.WRITING


@requirement("machine:look-before-change")
def test_what_a_discovery_found_is_open_for_changes() -> None:
    machine = Machine()
    assert machine.refuse(WRITE, [WEB], found={DB}) is not None
    assert isinstance(machine.begin(WRITE, [WEB], found={WEB}), Ticket)


@requirement("machine:names-a-target")
def test_a_change_without_a_target_is_refused() -> None:
    refusal = refuse(Machine())
    assert refusal.reason == "the change names no target"
    assert Machine().refuse(READ, []) is None


@requirement("machine:per-target")
def test_what_is_done_to_one_target_says_nothing_of_another() -> None:
    machine = looked_at(WEB)
    refuse(machine, DB)
    refuse(machine, WEB, DB)
    run(machine, READ, DB)
    run(machine, WRITE, WEB)
    assert run(machine, READ, DB) == ()
    assert machine.phase_of(WEB) is Phase.VERIFYING
    run(machine, WRITE, DB)
    assert machine.unverified_targets == (DB, WEB)


@requirement("machine:entered-in-one-step")
def test_of_two_changes_to_one_target_the_second_is_refused_until_the_first_was_verified() -> None:
    machine = looked_at(WEB, DB)
    first = begin(machine, WRITE, WEB)
    assert refuse(machine, DB, WEB).details == {
        "state": "WRITING",
        "targets": [WEB],
        "recovery_hint": refuse(machine, WEB).hint,
        "auto_recoverable": True,
    }
    assert machine.phase_of(DB) is Phase.READING
    machine.end(first, Outcome.SUCCEEDED)
    assert refuse(machine, WEB).details["state"] == "VERIFYING"


@requirement("machine:read-after-end")
def test_reads_that_began_before_or_during_the_change_do_not_verify_it() -> None:
    machine = looked_at(WEB)
    before = begin(machine, READ, WEB)
    change = begin(machine, WRITE, WEB)
    during = begin(machine, READ, WEB)
    assert machine.end(before, Outcome.SUCCEEDED) == ()
    assert machine.phase_of(WEB) is Phase.WRITING
    machine.end(change, Outcome.SUCCEEDED)
    assert machine.end(during, Outcome.SUCCEEDED) == ()
    assert machine.phase_of(WEB) is Phase.VERIFYING
    assert run(machine, READ, WEB) == (WEB,)
    assert machine.phase_of(WEB) is Phase.READING


@requirement("machine:only-reads-verify")
@pytest.mark.parametrize("kind", [RESOLVE, ASK])
def test_finding_and_asking_do_not_verify(kind: ToolKind) -> None:
    machine = looked_at(WEB)
    run(machine, WRITE, WEB)
    assert run(machine, kind, WEB) == ()
    assert machine.phase_of(WEB) is Phase.VERIFYING


@requirement("machine:only-reads-verify")
def test_asking_a_person_looks_at_nothing() -> None:
    machine = Machine()
    run(machine, ASK, WEB)
    assert machine.phase_of(WEB) is Phase.RESOLVING


@requirement("machine:only-reads-verify", "machine:unsent-moves-nothing")
@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.UNKNOWN, Outcome.NOT_SENT])
def test_a_read_that_did_not_succeed_moves_nothing(outcome: Outcome) -> None:
    fresh = Machine()
    run(fresh, READ, WEB, outcome=outcome)
    assert fresh.phase_of(WEB) is Phase.RESOLVING
    machine = looked_at(WEB)
    run(machine, WRITE, WEB)
    assert run(machine, READ, WEB, outcome=outcome) == ()
    assert machine.phase_of(WEB) is Phase.VERIFYING


@requirement("machine:unsent-moves-nothing")
def test_a_change_that_never_left_leaves_its_target_as_it_was() -> None:
    machine = looked_at(WEB)
    run(machine, WRITE, WEB, outcome=Outcome.NOT_SENT)
    assert machine.phase_of(WEB) is Phase.READING
    assert machine.may_conclude()
    found = machine.begin(WRITE, [DB], found={DB})
    assert isinstance(found, Ticket)
    machine.end(found, Outcome.NOT_SENT)
    assert machine.phase_of(DB) is Phase.RESOLVING


@requirement("machine:look-before-change")
def test_what_was_looked_at_before_a_person_judged_has_been_looked_at() -> None:
    machine = Machine()
    machine.see([WEB])
    assert (machine.phase_of(WEB), machine.phase_of(DB)) == (Phase.READING, Phase.RESOLVING)
    assert machine.refuse(WRITE, [WEB]) is None


@requirement("machine:unknown-stays-closed")
def test_a_change_given_up_on_without_a_deadline_is_over_at_once() -> None:
    machine = looked_at(WEB)
    run(machine, WRITE, WEB, outcome=Outcome.UNKNOWN)
    assert machine.phase_of(WEB) is Phase.VERIFYING


@requirement("machine:unsent-moves-nothing")
def test_a_call_ends_once() -> None:
    machine = looked_at(WEB)
    change = begin(machine, WRITE, WEB)
    machine.end(change, Outcome.SUCCEEDED)
    machine.end(change, Outcome.NOT_SENT)
    assert machine.phase_of(WEB) is Phase.VERIFYING
    look = begin(machine, READ, WEB)
    assert machine.end(look, Outcome.SUCCEEDED) == (WEB,)
    assert machine.end(look, Outcome.SUCCEEDED) == ()


@requirement("machine:failed-change-verified")
def test_a_change_that_failed_is_verified_like_any_other() -> None:
    machine = looked_at(WEB)
    run(machine, WRITE, WEB, outcome=Outcome.FAILED)
    assert machine.phase_of(WEB) is Phase.VERIFYING
    assert run(machine, READ, WEB) == (WEB,)


@requirement("machine:unknown-stays-closed")
def test_a_change_that_was_given_up_on_keeps_its_target_closed_until_its_deadline() -> None:
    clock = SteppedClock()
    machine = looked_at(WEB, clock=clock)
    machine.end(begin(machine, WRITE, WEB), Outcome.UNKNOWN, held_for=30)
    clock.step(29.9)
    early = begin(machine, READ, WEB)
    assert machine.phase_of(WEB) is Phase.WRITING
    clock.step(0.1)
    assert machine.end(early, Outcome.SUCCEEDED) == ()
    assert machine.phase_of(WEB) is Phase.VERIFYING
    assert run(machine, READ, WEB) == (WEB,)


@requirement("machine:unknown-stays-closed")
def test_a_read_after_the_deadline_counts_even_if_nobody_asked_in_between() -> None:
    clock = SteppedClock()
    machine = looked_at(WEB, clock=clock)
    machine.end(begin(machine, WRITE, WEB), Outcome.UNKNOWN, held_for=30)
    clock.step(30)
    assert run(machine, READ, WEB) == (WEB,)


@requirement("machine:write-read-write", "machine:verify-after-change")
def test_change_read_change_works_again_and_again() -> None:
    machine = looked_at(WEB)
    for _ in range(3):
        run(machine, WRITE, WEB)
        refuse(machine, WEB)
        assert not machine.may_conclude()
        assert run(machine, READ, WEB) == (WEB,)
        assert machine.may_conclude()


@requirement("machine:reads-unlimited")
def test_logs_can_be_read_as_often_as_one_likes_and_close_nothing() -> None:
    machine = Machine()
    for _ in range(5):
        run(machine, READ, WEB)
        assert machine.phase_of(WEB) is Phase.READING
    run(machine, WRITE, WEB)
    assert [run(machine, READ, WEB) for _ in range(3)] == [(WEB,), (), ()]
    assert machine.may_conclude()


@requirement("machine:reads-unlimited")
@pytest.mark.parametrize("kind", [READ, RESOLVE, ASK])
def test_looking_and_asking_are_refused_in_no_phase(kind: ToolKind) -> None:
    machine = looked_at(WEB)
    change = begin(machine, WRITE, WEB)
    assert machine.refuse(kind, [WEB, DB]) is None
    machine.end(change, Outcome.FAILED)
    assert machine.refuse(kind, [WEB, DB]) is None


@requirement("machine:says-what-is-unverified", "machine:verify-after-change")
def test_a_run_that_ends_early_says_what_nobody_has_looked_at() -> None:
    machine = looked_at(WEB, DB)
    assert machine.unverified_targets == ()
    begin(machine, WRITE, WEB)
    run(machine, WRITE, DB)
    assert machine.unverified_targets == (DB, WEB)
    refusal = machine.refuse_conclusion()
    assert refusal is not None
    assert (refusal.code, refusal.details["state"], refusal.details["targets"]) == ("FSM_BLOCKED", "WRITING", [DB, WEB])
    assert refusal.hint.startswith(f"Read {DB}, {WEB}")


@requirement("machine:says-what-is-unverified")
def test_whoever_would_conclude_is_told_to_wait_only_while_a_change_is_under_way() -> None:
    machine = looked_at(WEB)
    change = begin(machine, WRITE, WEB)
    early = machine.refuse_conclusion()
    machine.end(change, Outcome.SUCCEEDED)
    late = machine.refuse_conclusion()
    assert early is not None
    assert late is not None
    assert early.hint == f"{late.hint} It may still be under way, and only a look after it counts: wait."
    assert late.hint == f"Read {WEB} to see what the change has done, then conclude."


@requirement("gate:observe-tracks", "machine:entered-in-one-step")
def test_a_second_change_is_refused_with_the_same_words_whether_it_is_observed_or_not() -> None:
    machine = looked_at(WEB)
    begin(machine, WRITE, WEB)
    refusal = refuse(machine, WEB)
    assert "under way" in refusal.reason
    assert machine.observe(WRITE, [WEB]) == refusal


@requirement("machine:own-changes")
def test_an_execution_answers_for_its_own_changes_and_anyone_may_verify_them() -> None:
    machine = looked_at(WEB)
    machine.end(begin(machine, WRITE, WEB, owner=ONE), Outcome.SUCCEEDED)
    assert not machine.may_conclude(owner=ONE)
    assert machine.may_conclude(owner=OTHER)
    assert not machine.may_conclude()
    refusal = machine.refuse_conclusion(owner=ONE)
    assert refusal is not None
    assert refusal.details["state"] == "VERIFYING"
    machine.end(begin(machine, READ, WEB, owner=OTHER), Outcome.SUCCEEDED)
    assert machine.may_conclude(owner=ONE)


@requirement("context:reset-together", "context:debts-survive")
def test_a_reset_forgets_what_was_looked_at_and_not_what_is_owed() -> None:
    machine = looked_at(WEB, DB, "container:cache")
    run(machine, WRITE, WEB)
    under_way = begin(machine, WRITE, DB)
    machine.reset(keep=["container:cache"])
    assert machine.phase_of("container:cache") is Phase.READING
    assert machine.phase_of(WEB) is Phase.VERIFYING
    assert machine.phase_of(DB) is Phase.WRITING
    machine.end(under_way, Outcome.NOT_SENT)
    assert machine.phase_of(DB) is Phase.RESOLVING


@requirement("machine:rebuilt")
def test_whoever_takes_over_inherits_what_is_left_to_verify_and_nothing_else() -> None:
    clock = SteppedClock()
    machine = Machine.rebuild(
        [
            RecordedCall(kind=READ, targets=(WEB,), began=9, verified=(WEB,)),
            RecordedCall(kind=WRITE, targets=(DB,), began=7, owner=ONE),
            RecordedCall(kind=WRITE, targets=(WEB,), began=3, owner=ONE),
            RecordedCall(kind=READ, targets=(WEB, DB), began=1),
            RecordedCall(kind=WRITE, targets=("container:cache",), began=8, held_for=20),
        ],
        clock=clock,
    )
    assert machine.phase_of(WEB) is Phase.RESOLVING
    assert machine.phase_of(DB) is Phase.VERIFYING
    assert machine.phase_of("container:cache") is Phase.WRITING
    assert not machine.may_conclude(owner=ONE)
    clock.step(20)
    assert run(machine, READ, DB, "container:cache") == (DB, "container:cache")


@requirement("machine:rebuilt")
def test_a_later_change_is_not_verified_by_an_earlier_read() -> None:
    machine = Machine.rebuild(
        [
            RecordedCall(kind=WRITE, targets=(WEB,), began=3),
            RecordedCall(kind=READ, targets=(WEB,), began=5, verified=(WEB,)),
            RecordedCall(kind=WRITE, targets=(WEB,), began=6),
        ]
    )
    assert machine.unverified_targets == (WEB,)
    assert begin(machine, READ, WEB).began > 6


@requirement("machine:unsent-moves-nothing", "machine:failed-change-verified")
@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, Outcome.SUCCEEDED),
        ("TOOL_ERROR", Outcome.FAILED),
        ("TIMEOUT", Outcome.FAILED),
        ("TRANSPORT_ERROR", Outcome.FAILED),
        ("something else", Outcome.FAILED),
        ("CANCELLED_BY_PERSON", Outcome.UNKNOWN),
        ("OUTCOME_UNKNOWN", Outcome.UNKNOWN),
        ("NOT_DISPATCHED", Outcome.NOT_SENT),
        ("TARGET_BUSY", Outcome.NOT_SENT),
        ("EMERGENCY_STOP", Outcome.NOT_SENT),
        ("APPROVAL_DENIED", Outcome.NOT_SENT),
        ("READ_ONLY_VIOLATION", Outcome.NOT_SENT),
    ],
)
def test_the_code_of_a_result_tells_whether_its_call_was_sent(error: str | None, outcome: Outcome) -> None:
    assert name_outcome(error) is outcome
