"""Rules: how far the level lets a call go, and how far the operator's rules do."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.domain.safety import ControlLevel, SafetyMode
from midwatch.domain.tools import ToolKind
from midwatch.safety.destinations import is_allowed
from midwatch.safety.judgement import assess_risk, raise_kind
from midwatch.safety.kinds import KindVerdict
from midwatch.safety.policy import Stance
from midwatch.safety.refusals import Code
from midwatch.safety.rules import Action, Allow, Ask, Decision, Policy, Refuse, Rule
from midwatch.safety.shell.verdict import Finding, Intent, Phase, Risk, Verdict
from tests.safety.requirements import requirement

READ_ONLY, CONTROLLED, AUTONOMOUS = ControlLevel.READ_ONLY, ControlLevel.CONTROLLED, ControlLevel.AUTONOMOUS
ENFORCE = Stance(mode=SafetyMode.ENFORCE)
OBSERVE = Stance(mode=SafetyMode.OBSERVE)
UNASKED = Stance(mode=SafetyMode.OBSERVE, refuse_proven_writes=True)


def action(
    kind: ToolKind = ToolKind.WRITE,
    *,
    tool: str = "k8s.scale",
    targets: tuple[str, ...] = ("deployment:prod:web",),
    proven: bool = True,
    risk: Risk | None = None,
    intent: Intent | None = None,
    secrets: tuple[str, ...] = (),
    egress: tuple[str, ...] = (),
) -> Action:
    return Action(
        tool=tool,
        targets=targets,
        kind=kind,
        proven=proven,
        rule="operator:x",
        risk=risk,
        intent=intent,
        secrets=secrets,
        egress=egress,
    )


def policy(
    level: ControlLevel = AUTONOMOUS, *rules: Rule, stance: Stance = ENFORCE, egress: Sequence[str] = ()
) -> Policy:
    return Policy(level=level, stance=stance, rules=rules, egress_allow=tuple(egress))


def rule(
    decision: Decision,
    *,
    place: int = 0,
    tools: tuple[str, ...] = (),
    targets: tuple[str, ...] = (),
    kinds: tuple[ToolKind, ...] = (),
    risks: tuple[str, ...] = (),
    reason: str = "",
) -> Rule:
    return Rule(place=place, decision=decision, tools=tools, targets=targets, kinds=kinds, risks=risks, reason=reason)


def told(decision: Allow | Ask | Refuse) -> tuple[str, str, str | None]:
    match decision:
        case Allow():
            return "allow", decision.rule, decision.observed
        case Ask():
            return "ask", decision.rule, decision.code
        case Refuse():
            return "refuse", decision.rule, decision.refusal.code


@requirement("rules:level-is-ceiling", "rules:names-its-rule")
@pytest.mark.parametrize("kind", [ToolKind.WRITE, ToolKind.ASK])
@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (READ_ONLY, ("refuse", "level:read_only", "READ_ONLY_VIOLATION")),
        (CONTROLLED, ("ask", "level:controlled", "APPROVAL_REQUIRED")),
        (AUTONOMOUS, ("allow", "level:autonomous", None)),
    ],
)
def test_without_rules_the_level_decides_on_changes(
    level: ControlLevel, expected: tuple[str, str, str | None], kind: ToolKind
) -> None:
    assert told(policy(level).decide(action(kind))) == expected


@requirement("rules:level-is-ceiling")
def test_the_level_says_what_it_means() -> None:
    asked, refused = (policy(level).decide(action()) for level in (CONTROLLED, READ_ONLY))
    assert isinstance(asked, Ask)
    assert asked.reason == "a person must approve every change"
    assert isinstance(refused, Refuse)
    assert refused.refusal.reason.startswith("changes are switched off")


@requirement("rules:names-its-rule")
@pytest.mark.parametrize("level", ControlLevel)
@pytest.mark.parametrize("kind", [ToolKind.READ, ToolKind.RESOLVE])
def test_looking_is_allowed_by_what_decided_its_kind(level: ControlLevel, kind: ToolKind) -> None:
    assert told(policy(level).decide(action(kind))) == ("allow", "operator:x", None)


@requirement("rules:conditional")
@pytest.mark.parametrize("level", ControlLevel)
def test_a_command_that_was_shown_to_read_may_run_at_every_level(level: ControlLevel) -> None:
    conditional = action(ToolKind.READ, intent=Intent.CONDITIONAL)
    assert told(policy(level).decide(conditional)) == ("allow", f"level:{level}:conditional", None)


@requirement("rules:first-match", "rules:names-its-rule")
def test_the_first_rule_that_matches_decides_and_gives_its_reason() -> None:
    rules = (
        rule(Decision.REFUSE, place=0, tools=("db.*",)),
        rule(Decision.ASK, place=1, targets=("deployment:prod:*",), reason="production is a person's matter"),
        rule(Decision.ALLOW, place=2),
    )
    asked = policy(AUTONOMOUS, *rules).decide(action())
    assert asked == Ask(rule="rules[1]", code=Code.APPROVAL_REQUIRED, reason="production is a person's matter")
    assert told(policy(AUTONOMOUS, *rules).decide(action(tool="db.drop"))) == ("refuse", "rules[0]", "POLICY_BLOCKED")
    dev = action(targets=("deployment:dev:web",))
    assert told(policy(AUTONOMOUS, *rules).decide(dev)) == ("allow", "rules[2]", None)


@requirement("rules:permission-to-the-letter")
def test_each_target_may_fit_another_of_the_globs_that_allow() -> None:
    allows = rule(Decision.ALLOW, targets=("pod:dev:*", "node:dev"))
    both = action(targets=("pod:dev:web", "node:dev"))
    assert told(policy(AUTONOMOUS, allows).decide(both)) == ("allow", "rules[0]", None)


@requirement("rules:first-match")
def test_of_several_that_ask_the_operators_own_reason_is_told() -> None:
    asks = rule(Decision.ASK, place=0, reason="pumps are expensive")
    assert policy(CONTROLLED, asks).decide(action()) == Ask(
        rule="rules[0]", code=Code.APPROVAL_REQUIRED, reason="pumps are expensive"
    )
    silent = policy(CONTROLLED, rule(Decision.ASK)).decide(action())
    assert silent == Ask(rule="rules[0]", code=Code.APPROVAL_REQUIRED, reason="the operator's rules say ask")


@requirement("rules:first-match")
def test_rules_narrow_reads_as_well_and_by_kind() -> None:
    rules = (rule(Decision.REFUSE, kinds=(ToolKind.READ,), reason="not today"), rule(Decision.ALLOW, place=1))
    refused = policy(AUTONOMOUS, *rules).decide(action(ToolKind.READ))
    assert isinstance(refused, Refuse)
    assert (refused.refusal.code, refused.refusal.reason) == ("POLICY_BLOCKED", "not today")
    assert refused.refusal.details == {"rule": "rules[0]"}
    assert told(policy(AUTONOMOUS, *rules).decide(action(ToolKind.RESOLVE))) == ("allow", "rules[1]", None)
    assert told(policy(AUTONOMOUS, *rules).decide(action())) == ("allow", "rules[1]", None)


@requirement("rules:no-match-refuses")
def test_where_there_are_rules_a_change_that_none_speaks_of_is_refused() -> None:
    rules = (rule(Decision.ALLOW, tools=("db.*",)),)
    assert told(policy(AUTONOMOUS, *rules).decide(action())) == ("refuse", "rules:no-match", "POLICY_BLOCKED")
    assert told(policy(AUTONOMOUS, *rules).decide(action(ToolKind.READ))) == ("allow", "operator:x", None)
    secret = action(ToolKind.READ, secrets=("/etc/shadow",))
    assert told(policy(AUTONOMOUS, *rules).decide(secret)) == ("refuse", "rules:no-match", "SENSITIVE_COMMAND")


@requirement("rules:permission-to-the-letter")
@pytest.mark.parametrize(
    ("decision", "targets", "matches"),
    [
        (Decision.ALLOW, ("vm:dev:1", "vm:dev:2"), True),
        (Decision.ALLOW, ("vm:dev:1", "vm:prod:2"), False),
        (Decision.ALLOW, ("vm:DEV:1",), False),
        (Decision.ALLOW, (), False),
        (Decision.ASK, ("vm:dev:1", "vm:prod:2"), True),
        (Decision.REFUSE, ("vm:DEV:1",), True),
        (Decision.REFUSE, ("vm:prod:1",), False),
    ],
)
def test_a_permission_must_fit_all_and_caution_about_one_is_enough(
    decision: Decision,
    targets: tuple[str, ...],
    matches: bool,  # noqa: FBT001 - a parameter
) -> None:
    assert rule(decision, targets=("vm:dev:*",)).matches(action(targets=targets)) is matches


@requirement("rules:unknown-risk-is-high")
@pytest.mark.parametrize(
    ("risk", "counted"),
    [(None, "high"), (Risk.READ_ONLY, "high"), (Risk.LOW, "low"), (Risk.MEDIUM, "medium"), (Risk.HIGH, "high")],
)
def test_a_risk_that_nobody_has_judged_is_high(risk: Risk | None, counted: str) -> None:
    assert action(risk=risk).counted_risk == counted
    rules = (rule(Decision.ALLOW, risks=("low",)),)
    decided = told(policy(AUTONOMOUS, *rules).decide(action(risk=risk)))[0]
    assert decided == ("allow" if counted == "low" else "refuse")


@requirement("rules:unknown-risk-is-high")
@pytest.mark.parametrize("kind", [ToolKind.READ, ToolKind.RESOLVE])
@pytest.mark.parametrize("risk", [None, *Risk])
def test_a_look_counts_as_reading_whatever_risk_its_call_has(kind: ToolKind, risk: Risk | None) -> None:
    assert action(kind, risk=risk).counted_risk is Risk.READ_ONLY


@requirement("rules:unknown-risk-is-high")
def test_a_rule_about_risk_does_not_speak_of_looks() -> None:
    assert not rule(Decision.REFUSE, risks=("low", "medium", "high")).matches(action(ToolKind.READ))


@requirement("rules:secrets")
@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (READ_ONLY, ("refuse", "sensitive:read_only", "SENSITIVE_COMMAND")),
        (CONTROLLED, ("ask", "sensitive:controlled", "SENSITIVE_COMMAND")),
        (AUTONOMOUS, ("ask", "sensitive:autonomous", "SENSITIVE_COMMAND")),
    ],
)
def test_what_shows_secrets_asks_or_is_refused(level: ControlLevel, expected: tuple[str, str, str]) -> None:
    secret = action(ToolKind.READ, secrets=("/etc/shadow",))
    assert told(policy(level).decide(secret)) == expected


@requirement("rules:secrets")
def test_a_rule_that_speaks_of_it_decides_on_secrets() -> None:
    secret = action(ToolKind.READ, tool="vault.get", secrets=("token",))
    rules = (rule(Decision.ALLOW, tools=("vault.*",), kinds=(ToolKind.READ,)),)
    assert told(policy(READ_ONLY, *rules).decide(secret)) == ("allow", "rules[0]", None)


@requirement("rules:egress")
@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (READ_ONLY, ("refuse", "egress:read_only", "EGRESS_BLOCKED")),
        (CONTROLLED, ("ask", "egress:controlled", "EGRESS_BLOCKED")),
        (AUTONOMOUS, ("ask", "egress:autonomous", "EGRESS_BLOCKED")),
    ],
)
def test_what_reaches_out_asks_or_is_refused(level: ControlLevel, expected: tuple[str, str, str]) -> None:
    reaching = action(ToolKind.READ, egress=("api.example.com", "evil.test"))
    anything = rule(Decision.ALLOW)
    assert told(policy(level, anything, egress=["*.example.com"]).decide(reaching)) == expected
    assert told(policy(level, egress=["*.example.com", "evil.test"]).decide(reaching)) == ("allow", "operator:x", None)


@requirement("rules:egress")
def test_the_refusal_says_where_it_would_have_gone() -> None:
    reaching = action(ToolKind.READ, egress=("evil.test", "good.test"))
    refused = policy(READ_ONLY, egress=["good.test"]).decide(reaching)
    assert isinstance(refused, Refuse)
    assert refused.refusal.reason == "it would reach evil.test, which is not among the allowed destinations"
    assert refused.refusal.details == {"rule": "egress:read_only", "destinations": ["evil.test", "good.test"]}


@requirement("rules:egress")
@pytest.mark.parametrize(
    ("destination", "allowed", "expected"),
    [
        ("api.example.com", ["api.example.com"], True),
        ("API.example.com.", ["api.EXAMPLE.com"], True),
        ("api.example.com:443", ["api.example.com"], True),
        ("api.example.com", ["*.example.com"], True),
        ("a.b.example.com", ["*.example.com"], True),
        ("a.example.com", ["*.example.com"], True),
        ("example.com", ["*.example.com"], False),
        (".example.com", ["*.example.com"], False),
        ("evilexample.com", ["*.example.com"], False),
        ("10.1.2.3", ["10.0.0.0/8"], True),
        ("10.1.2.3:9090", ["10.0.0.0/8"], True),
        ("11.1.2.3", ["10.0.0.0/8", "example.com"], False),
        ("10.1.2.3", ["10.1.2.3"], True),
        ("[fd00::1]:80", ["fd00::/8"], True),
        ("fd00::1", ["fd00::/8"], True),
        ("::ffff:10.1.2.3", ["10.0.0.0/8"], True),
        ("2130706433", ["127.0.0.0/8"], False),
        ("", [""], False),
        ("api.example.com", [], False),
    ],
)
def test_destinations_are_hosts_and_networks(destination: str, allowed: list[str], expected: bool) -> None:  # noqa: FBT001
    assert is_allowed(destination, allowed) is expected


@requirement("rules:observe")
def test_observe_lets_pass_and_records_what_enforce_would_have_said() -> None:
    for level, code in ((READ_ONLY, "READ_ONLY_VIOLATION"), (CONTROLLED, "APPROVAL_REQUIRED")):
        assert told(policy(level, stance=OBSERVE).decide(action())) == ("allow", f"level:{level}", code)
    secret = action(ToolKind.READ, secrets=("x",))
    assert told(policy(READ_ONLY, stance=UNASKED).decide(secret))[2] == "SENSITIVE_COMMAND"


@requirement("rules:observe")
@pytest.mark.parametrize(
    ("proven", "risk", "expected"),
    [
        (True, None, ("refuse", "observe:unasked", "POLICY_BLOCKED")),
        (True, Risk.MEDIUM, ("refuse", "observe:unasked", "POLICY_BLOCKED")),
        (True, Risk.HIGH, ("refuse", "observe:unasked", "POLICY_BLOCKED")),
        (True, Risk.LOW, ("allow", "level:read_only", "READ_ONLY_VIOLATION")),
        (False, Risk.HIGH, ("allow", "level:read_only", "READ_ONLY_VIOLATION")),
    ],
)
def test_observe_that_nobody_wrote_out_still_refuses_grave_changes(
    proven: bool,  # noqa: FBT001 - a parameter
    risk: Risk | None,
    expected: tuple[str, str, str],
) -> None:
    assert told(policy(READ_ONLY, stance=UNASKED).decide(action(proven=proven, risk=risk))) == expected


RULES = st.lists(
    st.builds(
        Rule,
        place=st.integers(0, 9),
        decision=st.sampled_from(Decision),
        tools=st.sampled_from([(), ("k8s.*",), ("db.*",)]),
        kinds=st.sampled_from([(), (ToolKind.WRITE,), (ToolKind.READ,)]),
        risks=st.sampled_from([(), ("low",), ("high", "medium")]),
    ),
    max_size=4,
).map(tuple)
ACTIONS = st.builds(
    action,
    st.sampled_from(ToolKind),
    risk=st.sampled_from([None, *Risk]),
    secrets=st.sampled_from([(), ("s",)]),
    egress=st.sampled_from([(), ("evil.test",)]),
)
STRICTNESS = ("allow", "ask", "refuse")


@requirement("rules:level-is-ceiling")
@given(ACTIONS, RULES, st.sampled_from(ControlLevel))
def test_no_rules_allow_a_change_more_than_its_level_does(
    made: Action, rules: tuple[Rule, ...], level: ControlLevel
) -> None:
    decided = told(policy(level, *rules).decide(made))
    assert decided[1]
    if made.is_change:
        alone = told(policy(level).decide(made))[0]
        floor = STRICTNESS.index({READ_ONLY: "refuse", CONTROLLED: "ask", AUTONOMOUS: "allow"}[level])
        assert STRICTNESS.index(decided[0]) >= floor
        assert STRICTNESS.index(alone) >= floor


@requirement("rules:level-is-ceiling")
@given(ACTIONS, RULES)
def test_a_stricter_level_never_allows_more(made: Action, rules: tuple[Rule, ...]) -> None:
    decided = [
        STRICTNESS.index(told(policy(level, *rules).decide(made))[0]) for level in (READ_ONLY, CONTROLLED, AUTONOMOUS)
    ]
    assert decided == sorted(decided, reverse=True)


def verdict(intent: Intent, *findings: Finding, risk: Risk = Risk.READ_ONLY) -> Verdict:
    return Verdict(command="x", intent=intent, risk=risk, rule="rm", findings=findings)


READING = KindVerdict(kind=ToolKind.READ, proven=True, rule="operator:read:*")
KNOWN = Finding(Intent.WRITE, "rm", Phase.WRITE, Risk.HIGH)
STRANGE = Finding(Intent.WRITE, "unknown", Phase.UNKNOWN, Risk.MEDIUM)


@requirement("rules:witnesses-only-raise")
def test_a_command_that_changes_things_makes_a_change_of_a_reading_tool() -> None:
    raised = raise_kind(READING, verdict(Intent.WRITE, KNOWN, STRANGE, risk=Risk.HIGH))
    assert raised == KindVerdict(kind=ToolKind.WRITE, proven=True, rule="shell:rm")
    assert not raise_kind(READING, verdict(Intent.WRITE, STRANGE)).proven


@requirement("rules:witnesses-only-raise")
def test_a_command_that_reads_makes_nothing_lighter() -> None:
    writing = KindVerdict(kind=ToolKind.WRITE, proven=False, rule="unknown")
    assert raise_kind(writing, verdict(Intent.CERTAIN)) == writing
    assert raise_kind(writing, verdict(Intent.WRITE, KNOWN)) == writing
    assert raise_kind(READING, verdict(Intent.CONDITIONAL)) == READING
    assert raise_kind(READING, None) == READING


@requirement("rules:witnesses-only-raise")
@pytest.mark.parametrize(
    ("kind", "annotations", "command", "risk"),
    [
        (ToolKind.READ, {"destructiveHint": True}, None, Risk.READ_ONLY),
        (ToolKind.WRITE, {}, None, None),
        (ToolKind.WRITE, {"destructiveHint": False}, None, None),
        (ToolKind.WRITE, {"destructiveHint": True}, None, Risk.HIGH),
        (ToolKind.WRITE, {"destructiveHint": "true"}, None, None),
        (ToolKind.WRITE, {}, verdict(Intent.WRITE, risk=Risk.LOW), Risk.LOW),
        (ToolKind.WRITE, {"destructiveHint": True}, verdict(Intent.WRITE, risk=Risk.LOW), Risk.HIGH),
        (ToolKind.WRITE, {}, verdict(Intent.CERTAIN), None),
    ],
)
def test_annotations_only_raise_a_risk(
    kind: ToolKind, annotations: dict[str, object], command: Verdict | None, risk: Risk | None
) -> None:
    assert assess_risk(kind, annotations=annotations, command=command) == risk
