"""How refusals are meant, and the refusals that no policy decides: of what cannot be called, read or written."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from midwatch.domain.safety import SafetyMode
from midwatch.domain.tools import Refusal
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
