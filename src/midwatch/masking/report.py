"""What a mask hides, rule by rule and line by line. Nothing of what it hides is in the report."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from midwatch.masking.edits import Found
from midwatch.masking.mask import RuleMask


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
    masked = mask.rewrite(text, observe=ledger.note)
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

    def note(self, data: bytes, found: Sequence[Found]) -> None:
        line, at = 0, 0
        for start, _, rule, _ in found:
            line += data.count(b"\n", at, start)
            at = start
            self.seen[self.lines[line], rule.name, rule.placeholder] += 1
        self.lines = _move_lines(self.lines, data, found)


def _move_lines(lines: list[int], data: bytes, found: Sequence[Found]) -> list[int]:
    """Where each line began, once the edits are made: they may join lines, and an operator's may part them."""
    moved: list[int] = []
    line, taken, at = 0, 0, 0
    for start, stop, _, replacement in found:
        line += data.count(b"\n", at, start)
        moved += [*lines[taken : line + 1], *[lines[line]] * replacement.count(b"\n")]
        line += data.count(b"\n", start, stop)
        taken, at = line + 1, stop
    return [*moved, *lines[taken:]]
