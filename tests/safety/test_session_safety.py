"""Machine and context of one session, moved together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.domain.tools import Refusal, ToolKind
from midwatch.safety.context import ResolvedContext
from midwatch.safety.machine import Machine, Outcome, Phase, RecordedCall, Ticket
from midwatch.safety.resources import Resource
from midwatch.safety.session import SessionSafety
from midwatch.safety.targets import Target
from tests.fakes.stepped_clock import SteppedClock
from tests.safety.requirements import requirement

WEB = Resource(kind="container", host="server1", uid="c0ffee", name="web")
DB = Resource(kind="container", host="server1", uid="d00d", name="db")
HOST = Resource(kind="docker_host", uid="server1")
MINUTE = 60.0


def session(clock: SteppedClock | None = None, *, is_strict: bool = True) -> SessionSafety:
    clock = clock or SteppedClock()
    return SessionSafety(machine=Machine(clock=clock), context=ResolvedContext(clock=clock), is_strict=is_strict)


def begin(safety: SessionSafety, kind: ToolKind, *targets: str) -> Ticket | Refusal:
    return safety.begin([safety.identify(Target(id=target)) for target in targets], kind=kind, action="restart")


def run(safety: SessionSafety, kind: ToolKind, *targets: str) -> tuple[str, ...]:
    ticket = begin(safety, kind, *targets)
    assert isinstance(ticket, Ticket)
    return safety.end(ticket, Outcome.SUCCEEDED)


def code_of(answer: Ticket | Refusal) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


@requirement("context:strict")
def test_a_made_up_target_is_refused_until_it_is_found() -> None:
    safety = session()
    run(safety, ToolKind.READ, "container:web")
    assert code_of(begin(safety, ToolKind.WRITE, "container:web")) == "STRICT_RESOLUTION"
    safety.learn([WEB, DB])
    assert run(safety, ToolKind.WRITE, "container:web") == ()
    assert safety.machine.unverified_targets == (WEB.id,)


@requirement("context:strict")
def test_without_strict_resolution_a_look_at_the_target_is_enough() -> None:
    safety = session(is_strict=False)
    assert code_of(begin(safety, ToolKind.WRITE, "container:web")) == "FSM_BLOCKED"
    run(safety, ToolKind.READ, "container:web")
    assert code_of(begin(safety, ToolKind.WRITE, "container:web")) is None


@requirement("context:by-any-name", "machine:only-reads-verify")
def test_a_change_by_name_is_verified_by_a_read_by_id_and_the_other_way_round() -> None:
    safety = session()
    safety.learn([WEB])
    run(safety, ToolKind.WRITE, "web")
    assert run(safety, ToolKind.READ, WEB.id) == (WEB.id,)
    run(safety, ToolKind.WRITE, WEB.id)
    assert run(safety, ToolKind.READ, "container:web") == (WEB.id,)


@requirement("context:by-any-name")
def test_what_is_owed_keeps_the_name_it_was_changed_under() -> None:
    safety = session(is_strict=False)
    run(safety, ToolKind.READ, "web")
    run(safety, ToolKind.WRITE, "web")
    safety.learn([WEB])
    assert run(safety, ToolKind.READ, "web") == ("web",)


def test_a_target_takes_its_parent_from_its_template_or_from_what_was_found() -> None:
    safety = session()
    safety.learn([Resource(kind="pod", uid="web", parent="node:n1")])
    assert safety.identify(Target(id="web")) == Target(id="pod:web", parent="node:n1")
    assert safety.identify(Target(id="web", parent="node:n2")) == Target(id="pod:web", parent="node:n2")
    assert safety.identify(Target(id="nothing")) == Target(id="nothing")


@requirement("context:debts-survive")
def test_what_is_owed_is_kept_however_long_it_takes_and_let_go_when_it_is_verified() -> None:
    clock = SteppedClock()
    safety = session(clock)
    safety.learn([WEB])
    run(safety, ToolKind.WRITE, "web")
    clock.step(300 * MINUTE)
    assert safety.context.has(WEB.id)
    assert code_of(begin(safety, ToolKind.WRITE, "web")) == "FSM_BLOCKED"
    assert run(safety, ToolKind.READ, "web") == (WEB.id,)
    clock.step(300 * MINUTE)
    assert not safety.context.has(WEB.id)


@requirement("context:pins")
def test_verifying_does_not_take_away_somebody_elses_pin() -> None:
    safety = session()
    safety.learn([WEB])
    safety.context.pin(WEB.id, why="approval")
    run(safety, ToolKind.WRITE, "web")
    run(safety, ToolKind.READ, "web")
    assert safety.context.pinned == {WEB.id}


@requirement("routing:host-refused", "routing:mention-arms")
def test_routing_speaks_before_the_host_has_to_be_found() -> None:
    safety = session()
    safety.learn([WEB])
    safety.context.mention(["web"])
    assert code_of(begin(safety, ToolKind.WRITE, "docker_host:server1")) == "ROUTING_MISMATCH"


@requirement("routing:get-arms", "routing:lists-do-not-arm")
def test_a_list_means_nothing_and_a_get_means_what_it_got() -> None:
    safety = session()
    safety.learn([WEB, DB, HOST])
    assert code_of(begin(safety, ToolKind.WRITE, "server1")) is None
    other = session()
    other.learn([WEB, HOST], got=WEB)
    assert code_of(begin(other, ToolKind.WRITE, "server1")) == "ROUTING_MISMATCH"
    host = [other.identify(Target(id="server1"))]
    assert other.refuse(host, kind=ToolKind.READ, action="load") is None
    entering = other.refuse(host, kind=ToolKind.READ, action="exec", enters=True)
    assert entering is not None
    assert entering.code == "ROUTING_MISMATCH"


@requirement("context:reset-together", "context:debts-survive")
def test_a_reset_forgets_everything_but_debts() -> None:
    safety = session()
    safety.learn([WEB, DB, HOST], got=DB)
    safety.context.pin(HOST.id, why="approval")
    run(safety, ToolKind.READ, "db")
    run(safety, ToolKind.WRITE, "web")
    safety.reset(keep_pinned=False)
    assert safety.context.ids == {WEB.id}
    assert safety.context.meant == {}
    assert safety.machine.phase_of(DB.id) is Phase.RESOLVING
    assert safety.machine.phase_of(WEB.id) is Phase.VERIFYING


@requirement("context:reset-together")
def test_a_reset_may_keep_what_is_pinned_with_the_progress_made_on_it() -> None:
    safety = session()
    safety.learn([WEB, DB])
    safety.context.pin(DB.id, why="approval")
    run(safety, ToolKind.READ, "db", "web")
    safety.reset(keep_pinned=True)
    assert safety.context.ids == {DB.id}
    assert safety.machine.phase_of(DB.id) is Phase.READING
    assert safety.machine.phase_of(WEB.id) is Phase.RESOLVING


@requirement("machine:rebuilt")
def test_a_take_over_starts_with_an_empty_context_and_the_debts() -> None:
    machine = Machine.rebuild([RecordedCall(kind=ToolKind.WRITE, targets=(WEB.id,), began=1)])
    safety = SessionSafety(machine=machine)
    assert len(safety.context) == 0
    assert code_of(begin(safety, ToolKind.WRITE, DB.id)) == "STRICT_RESOLUTION"
    safety.learn([WEB])
    assert code_of(begin(safety, ToolKind.WRITE, "web")) == "FSM_BLOCKED"
    assert run(safety, ToolKind.READ, "web") == (WEB.id,)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["read", "write"]), st.sampled_from(["web", "db"])),
        st.tuples(st.sampled_from(["learn", "wait", "reset", "reset-but-pinned", "pin"]), st.just("")),
    ),
    max_size=25,
)


@requirement("context:debts-survive", "context:reset-together")
@given(STEPS)
@pytest.mark.parametrize("is_strict", [True, False])
def test_no_reset_and_no_wait_ever_loses_a_debt(is_strict: bool, steps: list[tuple[str, str]]) -> None:  # noqa: FBT001
    clock = SteppedClock()
    safety = session(clock, is_strict=is_strict)
    owed: set[str] = set()
    for step, name in steps:
        match step:
            case "learn":
                safety.learn([WEB, DB])
            case "wait":
                clock.step(50 * MINUTE)
            case "pin":
                safety.context.pin(WEB.id, why="approval")
            case "reset" | "reset-but-pinned":
                safety.reset(keep_pinned=step == "reset-but-pinned")
            case _:
                kind = ToolKind.READ if step == "read" else ToolKind.WRITE
                ticket = begin(safety, kind, name)
                if isinstance(ticket, Ticket):
                    owed |= set(ticket.targets) if kind is ToolKind.WRITE else set()
                    owed -= set(safety.end(ticket, Outcome.SUCCEEDED))
        assert set(safety.machine.unverified_targets) == owed
        assert safety.context.pinned <= owed | {WEB.id}
