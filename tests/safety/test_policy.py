"""Policy without rules: kind against level, in enforce and in observe; and what is refused whatever the policy."""

import json

import pytest

from midwatch.domain.safety import ControlLevel, SafetyMode
from midwatch.domain.tools import Refusal, ToolKind
from midwatch.safety.policy import (
    Stance,
    refuse_arguments,
    refuse_masked_values,
    refuse_mistakes,
    refuse_unknown_tool,
)
from midwatch.safety.refusals import render_refusal
from midwatch.safety.rules import Action, Allow, Ask, Policy, Refuse
from tests.safety.requirements import requirement

ENFORCE = Stance(mode=SafetyMode.ENFORCE)
OBSERVE = Stance(mode=SafetyMode.OBSERVE)
UNASKED = Stance(mode=SafetyMode.OBSERVE, refuse_proven_writes=True)


def decide(
    kind: ToolKind = ToolKind.WRITE, *, level: ControlLevel, stance: Stance = ENFORCE, proven: bool = True
) -> Allow | Ask | Refuse:
    action = Action(tool="k8s.set", targets=("mcp:k8s",), kind=kind, proven=proven, rule="r")
    return Policy(level=level, stance=stance).decide(action)


def code_of(decision: Allow | Ask | Refuse) -> str | None:
    match decision:
        case Refuse(refusal=refusal):
            return refusal.code
        case Ask(code=code):
            return code
        case Allow():
            return None


@requirement("policy:read-allowed")
@pytest.mark.parametrize("level", ControlLevel)
@pytest.mark.parametrize("stance", [ENFORCE, OBSERVE, UNASKED])
@pytest.mark.parametrize("kind", [ToolKind.READ, ToolKind.RESOLVE])
@pytest.mark.parametrize("proven", [True, False])
def test_looking_is_always_allowed(level: ControlLevel, stance: Stance, kind: ToolKind, proven: bool) -> None:  # noqa: FBT001 - a parameter
    assert decide(kind, level=level, stance=stance, proven=proven) == Allow(rule="r")


@requirement("policy:read-only-refuses-writes")
@pytest.mark.parametrize("proven", [True, False])
def test_read_only_refuses_every_write_and_says_what_to_do_instead(proven: bool) -> None:  # noqa: FBT001 - a parameter
    decision = decide(level=ControlLevel.READ_ONLY, proven=proven)
    assert isinstance(decision, Refuse)
    assert decision.refusal.code == "READ_ONLY_VIOLATION"
    assert "Propose the change" in decision.refusal.hint


@requirement("policy:controlled-asks")
@pytest.mark.parametrize("proven", [True, False])
def test_controlled_asks_a_person_about_every_write(proven: bool) -> None:  # noqa: FBT001 - a parameter
    decision = decide(level=ControlLevel.CONTROLLED, proven=proven)
    assert isinstance(decision, Ask)
    assert (decision.code, decision.rule) == ("APPROVAL_REQUIRED", "level:controlled")


@requirement("policy:autonomous-allows-writes")
@pytest.mark.parametrize("stance", [ENFORCE, OBSERVE, UNASKED])
def test_autonomous_allows_writes(stance: Stance) -> None:
    assert decide(level=ControlLevel.AUTONOMOUS, stance=stance) == Allow(rule="level:autonomous")


@requirement("policy:read-only-refuses-writes")
def test_a_kind_that_neither_reads_nor_resolves_is_treated_as_a_write() -> None:
    assert code_of(decide(ToolKind.ASK, level=ControlLevel.READ_ONLY)) == "READ_ONLY_VIOLATION"


@requirement("policy:observe-records")
@pytest.mark.parametrize(
    ("level", "code"),
    [(ControlLevel.READ_ONLY, "READ_ONLY_VIOLATION"), (ControlLevel.CONTROLLED, "APPROVAL_REQUIRED")],
)
def test_observe_lets_writes_pass_and_says_what_enforce_would_have_said(level: ControlLevel, code: str) -> None:
    for proven in (True, False):
        assert code_of(decide(level=level, proven=proven)) == code
        observed = decide(level=level, stance=OBSERVE, proven=proven)
        assert observed == Allow(rule=f"level:{level}", observed=code)


@requirement("policy:observe-unasked-refuses-proven-writes")
@pytest.mark.parametrize("level", [ControlLevel.READ_ONLY, ControlLevel.CONTROLLED])
def test_observe_that_nobody_wrote_out_still_refuses_proven_writes(level: ControlLevel) -> None:
    assert code_of(decide(level=level, stance=UNASKED)) == "POLICY_BLOCKED"
    guess = decide(level=level, stance=UNASKED, proven=False)
    assert isinstance(guess, Allow)
    assert guess.observed


@requirement("gate:unknown-tool-refused")
def test_an_unknown_tool_is_answered_with_close_names() -> None:
    refusal = refuse_unknown_tool("k8s.get_pod", known=["k8s.get_pods", "k8s.get_nodes", "files.write"])
    assert refusal.code == "TOOL_NOT_FOUND"
    assert refusal.details["candidates"][0] == "k8s.get_pods"
    assert "files.write" not in refusal.details["candidates"]


@requirement("gate:unknown-tool-refused")
def test_an_absurdly_long_name_is_not_repeated_whole() -> None:
    assert len(render_refusal(refuse_unknown_tool("x" * 1_000_000, known=["a.b"]))) < 1000


@requirement("gate:unknown-tool-refused")
def test_a_few_close_names_are_offered_and_then_those_of_the_same_server() -> None:
    close = [f"k8s.get_pod{letter}" for letter in "abcdefgh"]
    assert len(refuse_unknown_tool("k8s.get_pod", known=close).details["candidates"]) == 5
    unlike = refuse_unknown_tool("k8s.qqqqqqqqqqqqqqqqqqqq", known=["aft.read", "k8s.get"])
    assert unlike.details["candidates"] == []
    assert unlike.details["available"] == ["k8s.get", "aft.read"]


@requirement("gate:unknown-tool-refused", "gate:arguments-fit-schema", "mask:no-placeholder-in-writes")
def test_what_others_have_named_is_repeated_up_to_a_length_and_a_number() -> None:
    long = "k8s." + "x" * 200
    assert refuse_unknown_tool(long, known=["k8s.get"]).reason == f"there is no tool named {long[:128]}"
    assert refuse_masked_values([long] * 30).details["places"] == [long[:128]] * 20
    assert refuse_mistakes([("a", "b")], names=[long] * 30).details["arguments"] == [long[:128]] * 20


@requirement("gate:arguments-fit-schema")
@pytest.mark.parametrize(("path", "told"), [("spec.name", "spec.name: is missing"), ("", "is missing")])
def test_a_mistake_is_told_with_its_place_where_it_has_one(path: str, told: str) -> None:
    refusal = refuse_mistakes([(path, "is missing"), ("other", "is odd")], names=["spec"])
    assert refusal.reason == f"the arguments do not fit the tool's schema: {told}"
    assert refusal.details["mistakes"] == [
        {"path": path, "problem": "is missing"},
        {"path": "other", "problem": "is odd"},
    ]


def test_a_refusal_reads_as_compact_json_with_its_details_below_the_code() -> None:
    refusal = Refusal(code="C", reason="r", hint="h", details={"candidates": ["a"], "code": "forged"})
    told = '{"ok":false,"error":{"code":"C","message":"r","blocked":true,"hint":"h","details":{'
    assert render_refusal(refusal) == told + '"candidates":["a"],"code":"forged"}}}'
    assert json.loads(render_refusal(refuse_arguments("not JSON")))["error"]["code"] == "INVALID_INPUT"
