"""What the Claude models can do, by version: whether and how they think, and how long an answer may become."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Version = tuple[int, int]

_SEPARATOR = re.compile(r"[^a-z0-9]+")
# More digits than two are the date of a release.
_NUMBER = re.compile(r"\d{1,2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ability:
    max_tokens: int
    """For thinking and answer together."""
    thinking: Mapping[str, Any] | None = None
    is_budgeted: bool = False
    """Thinks within a budget, and insists that the thinking before its calls is sent back."""
    beta: str | None = None


# From the fourth generation on, thinking goes on between calls; before 4.6 that has to be asked for.
_INTERLEAVED = "interleaved-thinking-2025-05-14"
_ADAPTIVE = Ability(max_tokens=32_000, thinking={"type": "adaptive", "display": "summarized"})
_BUDGET = {"type": "enabled", "budget_tokens": 16_000}

_SINCE: tuple[tuple[Version, Ability], ...] = (
    ((4, 6), _ADAPTIVE),
    ((4, 0), Ability(max_tokens=32_000, thinking=_BUDGET, is_budgeted=True, beta=_INTERLEAVED)),
    ((3, 7), Ability(max_tokens=32_000, thinking=_BUDGET, is_budgeted=True)),
    ((3, 5), Ability(max_tokens=8_192)),
    ((0, 0), Ability(max_tokens=4_096)),
)
_NOT_CLAUDE = Ability(max_tokens=8_192)


def find_ability(model: str) -> Ability:
    """A Claude without a number is taken for a new one; a model by somebody else is asked for nothing special."""
    words = [word for word in _SEPARATOR.split(model.lower()) if word]
    if "claude" not in words:
        return _NOT_CLAUDE
    version = _read_version(words[words.index("claude") + 1 :])
    if version is None:
        return _ADAPTIVE
    return next(ability for since, ability in _SINCE if version >= since)


def _read_version(words: list[str]) -> Version | None:
    """`claude-3-7-sonnet-20250219` and `claude-opus-4-6` alike: the first number, and the one right after it."""
    for index, word in enumerate(words):
        if _NUMBER.fullmatch(word):
            following = words[index + 1] if index + 1 < len(words) else ""
            return int(word), int(following) if _NUMBER.fullmatch(following) else 0
    return None
