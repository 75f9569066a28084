"""Hides secrets in text. A result that cannot be masked is withheld whole; an alert loses only the rule that failed.

One pass over small windows tells which rules may have something to do where; only those look, and only there. What
they find is hidden at once, and the changed lines are looked at again: one placeholder may lay bare the next secret.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Protocol

from midwatch.kit.json import clean_text
from midwatch.masking.edits import Found, apply_found, fit_found, merge_found
from midwatch.masking.embedded import EMBEDDED_GATE, find_embedded
from midwatch.masking.patterns import DEFAULT_GROUP, GROUPS, PATTERNS, STRUCTURES, UNMISTAKABLE, build_rule
from midwatch.masking.regex import Regex, RegexSet, explain_refusal
from midwatch.masking.rule import Edit, Rule, replacing
from midwatch.masking.windows import Window, cut_around, cut_windows

WITHHELD = "[REDACTED: data masking failure, the whole text was withheld]"
"""What is left of a result that could not be masked."""


_MOST_ROUNDS = 8
_DEEPEST = 3
"""How many times over a text may be a string of another."""

Look = Callable[[Rule, bytes, Sequence[Window]], Iterable[Edit]]
Observe = Callable[[bytes, Sequence[Found]], None]


class Mask(Protocol):
    def __call__(self, text: str, /) -> str: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CustomRule:
    """An operator's own pattern. The replacement may name groups as `$1` or `${name}`."""

    name: str
    pattern: str
    replacement: str


@dataclass(frozen=True, slots=True)
class NoMask:
    """Masking switched off by the operator."""

    def __call__(self, text: str) -> str:
        return text


class Occurrence(Protocol):
    def hits(self, data: bytes) -> Sequence[int] | None: ...


def _look(rule: Rule, data: bytes, windows: Sequence[Window]) -> Iterable[Edit]:
    return rule.find(data, windows)


def _ignore(data: bytes, found: Sequence[Found]) -> None:
    """Nobody asks what was found."""


@dataclass(frozen=True, slots=True)
class RuleMask:
    rules: Sequence[Rule]
    occurrence: Occurrence
    """Tells in one pass which rules have something to do."""
    last: Sequence[Rule] = ()
    """The operator's: applied once, in order, to what the others have left."""

    def __call__(self, text: str) -> str:
        return self.rewrite(text)

    def rewrite(self, text: str, *, look: Look = _look, observe: Observe = _ignore) -> str:
        data = before = _encode(text)
        windows: Iterable[Window] = cut_windows(data)
        for _ in range(_MOST_ROUNDS):
            found = fit_found(data, merge_found(self._find(data, windows, look=look, depth=_DEEPEST)))
            if not found:
                break
            observe(data, found)
            data, places = apply_found(data, found)
            windows = cut_around(data, places)
        for rule in self.last:
            found = merge_found(_find_with(rule, data, [Window(0, len(data), len(data))], look))
            observe(data, found)
            data, _ = apply_found(data, found)
        return text if data is before else data.decode()

    def _find(self, data: bytes, windows: Iterable[Window], *, look: Look, depth: int) -> Iterator[Found]:
        where = self._find_windows(data, windows)
        embedded = where.pop(len(self.rules), ())
        for index in sorted(where):
            yield from _find_with(self.rules[index], data, where[index], look)
        for text in find_embedded(data, embedded) if depth else ():
            for found in self._find(text.text, cut_windows(text.text), look=look, depth=depth - 1):
                yield text.place(found)

    def _find_windows(self, data: bytes, windows: Iterable[Window]) -> dict[int, list[Window]]:
        """By rule, where it may have something to do; behind the last rule, where whole texts may be embedded."""
        where: dict[int, list[Window]] = {}
        everywhere = range(len(self.rules) + 1)
        for window in windows:
            hits = self.occurrence.hits(data[window.start : window.stop])
            for index in everywhere if hits is None else hits:
                where.setdefault(index, []).append(window)
        return where


def _find_with(rule: Rule, data: bytes, windows: Sequence[Window], look: Look) -> Iterator[Found]:
    return (Found(start, stop, rule, replacement) for (start, stop), replacement in look(rule, data, windows))


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskedAlert:
    text: str
    skipped: tuple[str, ...]
    """Names of the rules that failed and were left out."""


def compile_mask(
    *, groups: Iterable[str] = (), patterns: Iterable[str] = (), custom: Sequence[CustomRule] = ()
) -> RuleMask:
    """The chosen groups and patterns, or the default group when none are; the unmistakable ones always; then custom.

    Raises KeyError for an unknown name and RegexError for a custom pattern that RE2 refuses.
    """
    names = {*chain.from_iterable(GROUPS[group] for group in groups), *patterns} or set(GROUPS[DEFAULT_GROUP])
    unknown = names - PATTERNS.keys() - STRUCTURES.keys()
    if unknown:
        raise KeyError(min(unknown))
    return _compile(frozenset(names | set(UNMISTAKABLE)), tuple(custom))


@lru_cache(maxsize=64)
def _compile(names: frozenset[str], custom: tuple[CustomRule, ...]) -> RuleMask:
    """Kept, because every execution asks for the same few masks."""
    rules = [build_rule(name) for name in (*STRUCTURES, *PATTERNS) if name in names]
    last = [replacing(rule.name, rule.pattern, replacement=rule.replacement) for rule in custom]
    return RuleMask(rules, RegexSet([*(rule.gate for rule in rules), EMBEDDED_GATE]), last)


def check_pattern(pattern: str) -> str | None:
    """Why an operator's pattern cannot be used, or None when it can."""
    if reason := explain_refusal(pattern):
        return reason
    return "matches the empty text" if any(Regex(pattern).find(b"")) else None


def mask_result(mask: Mask, text: str) -> str:
    """Never raises: what cannot be masked is withheld."""
    try:
        return mask(text)
    except Exception:  # noqa: BLE001  # whatever went wrong, the text may still hold secrets
        return WITHHELD


def mask_shown(text: str) -> str:
    """What a model wrote, for whoever reads along: names and addresses stay. Never raises."""
    return mask_result(compile_mask(groups=("secrets",)), text)


def mask_alert(mask: RuleMask, text: str) -> MaskedAlert:
    """Never raises: a rule that fails is skipped and named, the others apply."""
    skipped: dict[str, None] = {}

    def look_or_skip(rule: Rule, data: bytes, windows: Sequence[Window]) -> Sequence[Edit]:
        try:
            edits = list(rule.find(data, windows))
            _check_whole(data, edits)
        except Exception:  # noqa: BLE001  # one bad pattern must not lose the alert
            skipped[rule.name] = None
            return ()
        return edits

    return MaskedAlert(text=mask.rewrite(text, look=look_or_skip), skipped=tuple(skipped))


def _check_whole(data: bytes, edits: Iterable[Edit]) -> None:
    """Raises UnicodeDecodeError when an edit would tear a character apart."""
    for (start, stop), replacement in edits:
        data[start:stop].decode()
        replacement.decode()


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return clean_text(text).encode()
