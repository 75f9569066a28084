"""Hides secrets in text. A result that cannot be masked is withheld whole; an alert loses only the rule that failed."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Protocol

from midwatch.kit.json import clean_text
from midwatch.masking.kubernetes import GATE, PLACEHOLDER, hide_secret_data
from midwatch.masking.patterns import DEFAULT_GROUP, GROUPS, KUBERNETES_SECRET, PATTERNS, UNMISTAKABLE
from midwatch.masking.regex import Regex, RegexSet, explain_refusal
from midwatch.masking.rule import Rule, hiding, replacing

WITHHELD = "[REDACTED: data masking failure, the whole text was withheld]"
"""What is left of a result that could not be masked."""


_MOST_ROUNDS = 5


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


@dataclass(frozen=True, slots=True)
class RuleMask:
    rules: Sequence[Rule]
    occurrence: Occurrence
    """Tells in one pass which rules have something to do."""

    def __call__(self, text: str) -> str:
        return self.rewrite(text, lambda rule, data: rule.apply(data))

    def rewrite(self, text: str, apply: Callable[[Rule, bytes], bytes]) -> str:
        data = _encode(text)
        rules = self._rules_for(data)
        if not rules:
            return text
        for _ in range(_MOST_ROUNDS):
            before = data
            data = _apply_all(rules, data, apply=apply, repeats=True)
            if data == before:
                break
            rules = self._rules_for(data)
        return _apply_all(rules, data, apply=apply, repeats=False).decode()

    def _rules_for(self, data: bytes) -> Sequence[Rule]:
        """The rules that have something to do; all of them when that cannot be told."""
        hits = self.occurrence.hits(data)
        return self.rules if hits is None else [self.rules[index] for index in hits]


def _apply_all(rules: Sequence[Rule], data: bytes, *, apply: Callable[[Rule, bytes], bytes], repeats: bool) -> bytes:
    for rule in rules:
        if rule.repeats is repeats:
            data = apply(rule, data)
    return data


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
    unknown = names - PATTERNS.keys() - {KUBERNETES_SECRET}
    if unknown:
        raise KeyError(min(unknown))
    return _compile(frozenset(names | set(UNMISTAKABLE)), tuple(custom))


@lru_cache(maxsize=64)
def _compile(names: frozenset[str], custom: tuple[CustomRule, ...]) -> RuleMask:
    """Kept, because every execution asks for the same few masks."""
    rules = [*_built_in(names), *_custom(custom)]
    return RuleMask(rules, RegexSet([rule.gate for rule in rules]))


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


def mask_alert(mask: RuleMask, text: str) -> MaskedAlert:
    """Never raises: a rule that fails is skipped and named, the others apply."""
    skipped: dict[str, None] = {}

    def apply_or_skip(rule: Rule, data: bytes) -> bytes:
        try:
            return rule.apply(data).decode().encode()
        except Exception:  # noqa: BLE001  # one bad pattern must not lose the alert
            skipped[rule.name] = None
            return data

    return MaskedAlert(text=mask.rewrite(text, apply_or_skip), skipped=tuple(skipped))


def _built_in(names: Collection[str]) -> Iterable[Rule]:
    if KUBERNETES_SECRET in names:
        yield Rule(name=KUBERNETES_SECRET, gate=GATE, apply=hide_secret_data, placeholder=PLACEHOLDER)
    for name, pattern in PATTERNS.items():
        if name in names:
            yield hiding(name, pattern)


def _custom(rules: Sequence[CustomRule]) -> Iterable[Rule]:
    for rule in rules:
        yield replacing(rule.name, rule.pattern, replacement=rule.replacement)


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        return clean_text(text).encode()
