"""What may run: the kind of a call against the control level, in enforce or observe mode."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import assert_never

from midwatch.domain.safety import ControlLevel, SafetyMode
from midwatch.domain.tools import Refusal, ToolKind
from midwatch.safety.kinds import KindVerdict
from midwatch.safety.refusals import Code, build_refusal

_LONGEST_NAME = 128
_MOST_CANDIDATES = 5
_MOST_AVAILABLE = 20
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
    """With the tools there are, those with a like name first: enough to choose from, and never all of a long list."""
    # The model wrote the name, and comparing very long ones is slow.
    short = name[:_LONGEST_NAME]
    names = list(known)
    candidates = get_close_matches(short, names, n=_MOST_CANDIDATES, cutoff=_LEAST_LIKENESS)
    servers = sorted({known_name.partition(".")[0] for known_name in names})
    server = short.partition(".")[0]
    return Refusal(
        code="TOOL_NOT_FOUND",
        reason=f"there is no tool named {short}" if server in servers else f"there is no tool server named {server}",
        hint="Call one of the tools you were given, by its exact name.",
        details={
            "candidates": candidates,
            "available": _list_available(names, close=candidates, server=server),
            "servers": servers[:_MOST_AVAILABLE],
        },
    )


def _list_available(names: Sequence[str], *, close: Sequence[str], server: str) -> list[str]:
    own = [name for name in names if name.startswith(f"{server}.")]
    return list(dict.fromkeys([*close, *own, *names]))[:_MOST_AVAILABLE]


def refuse_arguments(problem: str) -> Refusal:
    return Refusal(
        code="INVALID_INPUT",
        reason=f"the arguments are {problem}",
        hint="Send the arguments as one JSON object, as the tool's schema describes.",
    )


def refuse_masked_values(places: Sequence[str]) -> Refusal:
    """`places` are where in the arguments the placeholders stand."""
    return build_refusal(
        Code.MASKED_VALUE_IN_WRITE,
        "the arguments hold a placeholder for a hidden value, which would be written in place of the value",
        details={"places": [place[:_LONGEST_NAME] for place in places][:_MOST_AVAILABLE]},
    )


def refuse_mistakes(mistakes: Sequence[tuple[str, str]], *, names: Iterable[str]) -> Refusal:
    """Pairs of where something is wrong in the arguments and what; `names` are those the tool takes."""
    path, problem = mistakes[0]
    return Refusal(
        code="INVALID_INPUT",
        reason=f"the arguments do not fit the tool's schema: {f'{path}: ' if path else ''}{problem}",
        hint="Nothing was sent. Correct the arguments and call the tool again.",
        details={
            "mistakes": [{"path": path, "problem": problem} for path, problem in mistakes],
            "arguments": [name[:_LONGEST_NAME] for name in names][:_MOST_AVAILABLE],
        },
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
