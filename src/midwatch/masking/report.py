"""What a mask hides, rule by rule and line by line. Nothing of what it hides is in the report."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from midwatch.masking.mask import RuleMask
from midwatch.masking.rule import Edit, Rule, apply_edits


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    line: int
    """Of the text as it was given, counted from one."""
    rule: str
    placeholder: str
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MaskReport:
    text: str
    """Masked."""
    findings: tuple[Finding, ...]
    """From the first line to the last."""


def report_masking(mask: RuleMask, text: str) -> MaskReport:
    ledger = _Ledger(lines=list(range(1, text.count("\n") + 2)))
    masked = mask.rewrite(text, ledger.apply)
    findings = [
        Finding(line=line, rule=rule, placeholder=placeholder, count=count)
        for (line, rule, placeholder), count in sorted(ledger.seen.items())
    ]
    return MaskReport(text=masked, findings=tuple(findings))


@dataclass(slots=True, kw_only=True)
class _Ledger:
    lines: list[int]
    """For each line of the text as it is now, where it began in the text as it was given."""
    seen: Counter[tuple[int, str, str]] = field(default_factory=Counter[tuple[int, str, str]])

    def apply(self, rule: Rule, data: bytes) -> bytes:
        if rule.find is None:
            return self._compare(rule, data)
        edits = list(rule.find(data))
        line, at = 0, 0
        for (start, _), _ in edits:
            line += data.count(b"\n", at, start)
            at = start
            self._note(rule, line)
        self.lines = _move_lines(self.lines, data, edits)
        return apply_edits(data, edits)

    def _compare(self, rule: Rule, data: bytes) -> bytes:
        after = rule.apply(data)
        placeholder = rule.placeholder.encode()
        old, new = data.split(b"\n"), after.split(b"\n")
        origins = _align(old, new, placeholder=placeholder)
        for origin, line in zip(origins, new, strict=True):
            self._note(rule, origin, count=line.count(placeholder) - old[origin].count(placeholder))
        self.lines = [self.lines[origin] for origin in origins]
        return after

    def _note(self, rule: Rule, line: int, *, count: int = 1) -> None:
        if count > 0:
            self.seen[self.lines[line], rule.name, rule.placeholder] += count


def _move_lines(lines: list[int], data: bytes, edits: Sequence[Edit]) -> list[int]:
    """Where each line began, once the edits are made: they may join lines, and an operator's may part them."""
    moved: list[int] = []
    line, taken, at = 0, 0, 0
    for (start, stop), replacement in edits:
        line += data.count(b"\n", at, start)
        moved += [*lines[taken : line + 1], *[lines[line]] * replacement.count(b"\n")]
        line += data.count(b"\n", start, stop)
        taken, at = line + 1, stop
    return [*moved, *lines[taken:]]


def _align(old: Sequence[bytes], new: Sequence[bytes], *, placeholder: bytes) -> list[int]:
    """For each new line the old one it came from: it is the same, or the same up to the placeholder."""
    origins: list[int] = []
    at = 0
    for line in new:
        start, hidden, _ = line.partition(placeholder)
        candidates = range(at, len(old))
        came_from = (n for n in candidates if (old[n].startswith(start.rstrip()) if hidden else old[n] == line))
        origin = next(came_from, min(at, len(old) - 1))
        origins.append(origin)
        at = origin + 1
    return origins
