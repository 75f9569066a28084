"""What may run: the control level says how far anything may go, the operator's rules how far this call may.

The stricter of them wins, so a rule can narrow what the level gives and never widen it. Every decision names its rule.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from midwatch.domain.safety import ControlLevel, SafetyMode
from midwatch.domain.tools import Refusal, ToolKind
from midwatch.safety.destinations import is_allowed
from midwatch.safety.policy import Stance
from midwatch.safety.refusals import Code, build_refusal
from midwatch.safety.resources import fold_name
from midwatch.safety.shell.verdict import Intent, Risk

_LOOKS: Final = (ToolKind.READ, ToolKind.RESOLVE)


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    REFUSE = "refuse"


_STRICTNESS: Final = (Decision.ALLOW, Decision.ASK, Decision.REFUSE)
_CHANGES: Final = {
    ControlLevel.READ_ONLY: Decision.REFUSE,
    ControlLevel.CONTROLLED: Decision.ASK,
    ControlLevel.AUTONOMOUS: Decision.ALLOW,
}
_DELICATE: Final = {
    ControlLevel.READ_ONLY: Decision.REFUSE,
    ControlLevel.CONTROLLED: Decision.ASK,
    ControlLevel.AUTONOMOUS: Decision.ASK,
}
"""What shows secrets or reaches out is a person's matter even where changes are not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """A call, as far as rules look at it."""

    tool: str
    """`server.tool`"""
    targets: tuple[str, ...]
    kind: ToolKind
    proven: bool
    """Our code or the operator vouches for the kind."""
    rule: str
    """What decided the kind."""
    intent: Intent | None = None
    """Of its command, when it has one."""
    risk: Risk | None = None
    """Of a change; one that nobody has judged counts as high."""
    secrets: tuple[str, ...] = ()
    """What it would show that nobody should see."""
    egress: tuple[str, ...] = ()
    """Where it would connect to."""

    @property
    def is_change(self) -> bool:
        return self.kind not in _LOOKS

    @property
    def counted_risk(self) -> Risk:
        if not self.is_change:
            return Risk.READ_ONLY
        return Risk.HIGH if self.risk in (None, Risk.READ_ONLY) else self.risk


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One of `safety.rules`. What is empty matches everything."""

    place: int
    decision: Decision
    tools: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    kinds: tuple[ToolKind, ...] = ()
    risks: tuple[str, ...] = ()
    reason: str = ""

    @property
    def name(self) -> str:
        return f"rules[{self.place}]"

    def matches(self, action: Action) -> bool:
        """Permission must fit all targets, to the letter; caution is enough for one, however it is written."""
        return (
            self._fits(self.tools, (action.tool,))
            and self._fits(self.targets, action.targets)
            and (not self.kinds or action.kind in self.kinds)
            and (not self.risks or action.counted_risk in self.risks)
        )

    def _fits(self, globs: Sequence[str], names: Collection[str]) -> bool:
        if not globs:
            return True
        if self.decision is Decision.ALLOW:
            return bool(names) and all(any(fnmatchcase(name, glob) for glob in globs) for name in names)
        return any(fnmatchcase(fold_name(name), fold_name(glob)) for name in names for glob in globs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allow:
    rule: str
    observed: str | None = None
    """The code of what observe mode let pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A person decides."""

    rule: str
    code: Code
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    rule: str
    refusal: Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opinion:
    decision: Decision
    rule: str
    code: Code
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the operator decided, for one server."""

    level: ControlLevel
    stance: Stance
    rules: tuple[Rule, ...] = ()
    egress_allow: tuple[str, ...] = ()

    def decide(self, action: Action) -> Allow | Ask | Refuse:
        opinions = list(self._opinions(action))
        opinion = _choose(opinions)
        if opinion is None or opinion.decision is Decision.ALLOW:
            return Allow(rule=self._name_permission(action, opinions))
        if self.stance.mode is SafetyMode.OBSERVE:
            return self._observe(action, opinion)
        if opinion.decision is Decision.ASK:
            return Ask(rule=opinion.rule, code=opinion.code, reason=opinion.reason)
        return _refuse(opinion, action)

    def _opinions(self, action: Action) -> Iterator[_Opinion]:
        """The level first, then the rules: a no is named after the first, everything else after the last that spoke."""
        if action.is_change:
            yield self._level_opinion(_CHANGES[self.level])
        matched = next((rule for rule in self.rules if rule.matches(action)), None)
        if matched is not None:
            yield _rule_opinion(matched)
        elif action.is_change and self.rules:
            yield _Opinion(decision=Decision.REFUSE, rule="rules:no-match", code=Code.POLICY_BLOCKED, reason=_NO_MATCH)
        if action.secrets and matched is None:
            yield self._secrets_opinion(action)
        closed = [destination for destination in action.egress if not is_allowed(destination, self.egress_allow)]
        if closed:
            yield _Opinion(
                decision=_DELICATE[self.level],
                rule=f"egress:{self.level}",
                code=Code.EGRESS_BLOCKED,
                reason=f"it would reach {', '.join(closed)}, which is not among the allowed destinations",
            )

    def _level_opinion(self, decision: Decision) -> _Opinion:
        refuses = decision is Decision.REFUSE
        return _Opinion(
            decision=decision,
            rule=f"level:{self.level}",
            code=Code.READ_ONLY_VIOLATION if refuses else Code.APPROVAL_REQUIRED,
            reason=_SWITCHED_OFF if refuses else "a person must approve every change",
        )

    def _secrets_opinion(self, action: Action) -> _Opinion:
        shown = f"it would show {', '.join(action.secrets)}"
        return _Opinion(
            decision=Decision.REFUSE if self.rules else _DELICATE[self.level],
            rule="rules:no-match" if self.rules else f"sensitive:{self.level}",
            code=Code.SENSITIVE_COMMAND,
            reason=shown,
        )

    def _name_permission(self, action: Action, opinions: Sequence[_Opinion]) -> str:
        if opinions:
            return opinions[-1].rule
        return f"level:{self.level}:conditional" if action.intent is Intent.CONDITIONAL else action.rule

    def _observe(self, action: Action, opinion: _Opinion) -> Allow | Refuse:
        is_grave = action.is_change and action.proven and action.counted_risk is not Risk.LOW
        if self.stance.refuse_proven_writes and is_grave:
            return _refuse(_UNASKED, action)
        return Allow(rule=opinion.rule, observed=opinion.code)


def _choose(opinions: Sequence[_Opinion]) -> _Opinion | None:
    """The strictest. Of several that ask, the last: an operator's own reason tells a person more than the level."""
    strictest = max((_STRICTNESS.index(each.decision) for each in opinions), default=None)
    alike = [each for each in opinions if _STRICTNESS.index(each.decision) == strictest]
    if not alike:
        return None
    return alike[-1] if alike[0].decision is Decision.ASK else alike[0]


def _rule_opinion(rule: Rule) -> _Opinion:
    asks = rule.decision is Decision.ASK
    return _Opinion(
        decision=rule.decision,
        rule=rule.name,
        code=Code.APPROVAL_REQUIRED if asks else Code.POLICY_BLOCKED,
        reason=rule.reason or f"the operator's rules say {rule.decision}",
    )


def _refuse(opinion: _Opinion, action: Action) -> Refuse:
    details = {"rule": opinion.rule} | ({"destinations": list(action.egress)} if action.egress else {})
    return Refuse(rule=opinion.rule, refusal=build_refusal(opinion.code, opinion.reason, details=details))


_NO_MATCH: Final = "none of the operator's rules speaks of this change"
_SWITCHED_OFF: Final = "changes are switched off, and this call changes things or is not known to only read"
_UNASKED: Final = _Opinion(
    decision=Decision.REFUSE,
    rule="observe:unasked",
    code=Code.POLICY_BLOCKED,
    reason="this call is known to change things, and nobody has allowed changes",
)
