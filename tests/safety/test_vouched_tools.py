"""What a gate knows of the tools it has listed, and what of it a permission is bound to."""

from collections.abc import Collection, Sequence
from dataclasses import fields, replace

import pytest

from midwatch.domain.safety import ControlLevel, SafetyMode
from midwatch.domain.tools import ToolDefinition
from midwatch.kit.ids import new_id
from midwatch.safety.kinds import OperatorKinds
from midwatch.safety.policy import Stance
from midwatch.safety.session import SessionSafety
from midwatch.tools.appraisal import ServerRules
from midwatch.tools.consent import Granted
from midwatch.tools.gate import Gate
from tests.fakes.call_journal import FakeCallJournal
from tests.fakes.toolset import FakeToolset, define_tool
from tests.safety.requirements import requirement
from tests.safety.test_gate import call
from tests.safety.test_gate_sequences import Answers
from tests.settled import settle

KINDS = OperatorKinds(read=("get",), write=("set",), resolve=("find",))
RULES = ServerRules(kinds=KINDS, trust_annotations=True, level=ControlLevel.AUTONOMOUS)
NAMES = ("get", "set", "find", "odd")


class Recorded:
    """Has no pins, and keeps what it was asked about."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []

    async def find_changed(self, tools: Sequence[ToolDefinition]) -> Collection[str]:
        self.asked.append([tool.full_name for tool in tools])
        return ()


def open_gate(rules: ServerRules = RULES, *, pins: Recorded | None = None) -> tuple[Gate, FakeToolset]:
    journal, safety = FakeCallJournal(), SessionSafety()
    listed = [define_tool(f"{server}.{name}", read_only_hint=True) for server in ("k8s", "own") for name in NAMES]
    tools = FakeToolset(*listed, log=journal.log)
    gate = Gate(
        inner=tools,
        journal=journal,
        safety=safety,
        stance=Stance(mode=SafetyMode.ENFORCE),
        rules={"k8s": rules, "own": replace(rules, is_pinned=False)},
        pins=pins or Recorded(),
    )
    return gate, tools


@requirement("kind:pinned-definition")
async def test_only_what_the_operator_vouched_for_as_harmless_is_compared_with_what_it_was() -> None:
    pins = Recorded()
    gate, _ = open_gate(pins=pins)
    await gate.list_tools()
    assert pins.asked == [["k8s.get", "k8s.find"]]


@requirement("kind:pinned-definition")
async def test_where_nothing_was_vouched_for_nothing_is_compared() -> None:
    pins = Recorded()
    gate, _ = open_gate(ServerRules(), pins=pins)
    await gate.list_tools()
    assert pins.asked == []


@requirement("kind:pinned-definition")
@pytest.mark.parametrize(
    ("name", "is_pinned"),
    [
        ("k8s.get", True),
        ("k8s.find", True),
        ("k8s.set", False),
        ("k8s.odd", False),
        ("own.get", False),
        ("own.set", False),
    ],
)
async def test_a_harmless_call_is_cleared_for_the_definition_that_was_vouched_for(
    name: str,
    is_pinned: bool,  # noqa: FBT001 - a parameter
) -> None:
    gate, tools = open_gate()
    await settle(gate, call(name))
    assert tools.calls[0].clearance.is_pinned is is_pinned


@requirement("approval:whole-call")
@pytest.mark.parametrize("name", ["k8s.set", "own.set"])
async def test_a_call_that_a_person_said_yes_to_is_cleared_for_the_definition_they_were_shown(name: str) -> None:
    gate, tools = open_gate(replace(RULES, level=ControlLevel.CONTROLLED))
    gate.consent = Answers(Granted(approval_id=new_id(), digest=b"d"))
    await settle(gate, call(name))
    assert tools.calls[0].clearance.is_pinned


@requirement("gate:unknown-tool-refused")
async def test_a_gate_knows_the_names_that_were_listed_last() -> None:
    gate, tools = open_gate()
    assert list(gate.list_names()) == []
    await gate.list_tools()
    assert set(gate.list_names()) == {f"{server}.{name}" for server in ("k8s", "own") for name in NAMES}
    tools.tools = tools.tools[:1]
    await gate.list_tools()
    assert list(gate.list_names()) == ["k8s.get"]


@requirement("kind:changed-is-unknown")
def test_nobody_tells_a_gate_what_was_listed_or_has_changed() -> None:
    assert {field.name for field in fields(Gate) if not field.init} == {"changed", "_listed"}
