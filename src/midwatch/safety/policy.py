"""What may run: the kind of a call against the control level, in enforce or observe mode."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import assert_never

from midwatch.domain.safety import ControlLevel, SafetyMode
from midwatch.domain.tools import Refusal, ToolKind
from midwatch.safety.kinds import KindVerdict

_LONGEST_NAME = 128
_MOST_CANDIDATES = 5
_LEAST_LIKENESS = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Stance:
    """How refusals are meant."""

    mode: SafetyMode
    refuse_proven_writes: bool = False
    """Observe mode that nobody asked for: changes that are proven to be changes are refused all the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Allow:
    observed: str | None = None
    """The code of the refusal that observe mode let pass."""


def decide(verdict: KindVerdict, *, level: ControlLevel, stance: Stance) -> Allow | Refusal:
    refusal = _refuse(verdict, level)
    if refusal is None:
        return Allow()
    match stance.mode:
        case SafetyMode.ENFORCE:
            return refusal
        case SafetyMode.OBSERVE if stance.refuse_proven_writes and verdict.proven:
            return _POLICY_BLOCKED
        case SafetyMode.OBSERVE:
            return Allow(observed=refusal.code)
        case _ as never:
            assert_never(never)


def refuse_unknown_tool(name: str, *, known: Iterable[str]) -> Refusal:
    # The model wrote the name, and comparing very long ones is slow.
    short = name[:_LONGEST_NAME]
    candidates = get_close_matches(short, list(known), n=_MOST_CANDIDATES, cutoff=_LEAST_LIKENESS)
    return Refusal(
        code="TOOL_NOT_FOUND",
        reason=f"there is no tool named {short}",
        hint="Call one of the tools you were given, by its exact name.",
        details={"candidates": candidates},
    )


def refuse_arguments(problem: str) -> Refusal:
    return Refusal(
        code="INVALID_INPUT",
        reason=f"the arguments are {problem}",
        hint="Send the arguments as one JSON object, as the tool's schema describes.",
    )


def _refuse(verdict: KindVerdict, level: ControlLevel) -> Refusal | None:
    if verdict.kind in (ToolKind.READ, ToolKind.RESOLVE):
        return None
    match level:
        case ControlLevel.READ_ONLY:
            return _READ_ONLY
        case ControlLevel.CONTROLLED:
            return _NEEDS_APPROVAL
        case ControlLevel.AUTONOMOUS:
            return None
        case _ as never:
            assert_never(never)


_READ_ONLY = Refusal(
    code="READ_ONLY_VIOLATION",
    reason="changes are switched off, and this tool changes things or is not known to only read",
    hint="Go on with tools that read. Propose the change in your analysis, with the exact call and why it would help.",
)
_NEEDS_APPROVAL = Refusal(
    code="APPROVAL_REQUIRED",
    reason="a person must approve every change, and approvals cannot be given here yet",
    hint="Do not try again. Propose the change in your analysis, so that a person can make it.",
)
_POLICY_BLOCKED = Refusal(
    code="POLICY_BLOCKED",
    reason="this tool is known to change things, and nobody has allowed changes",
    hint="Go on with tools that read. Propose the change in your analysis, with the exact call and why it would help.",
)
