"""What was measured, beside what is allowed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    what: str
    measured: float
    target: float
    unit: str = ""
    at_least: bool = False
    """More is better."""

    @property
    def is_met(self) -> bool:
        return self.measured >= self.target if self.at_least else self.measured <= self.target


def render_report(checks: Sequence[Check], notes: Iterable[str]) -> str:
    width = max(len(check.what) for check in checks)
    lines = [_render_check(check, width) for check in checks]
    return "\n".join([*lines, "", "For information:", *(f"  {note}" for note in notes)])


def _render_check(check: Check, width: int) -> str:
    verdict = "ok" if check.is_met else "MISSED"
    limit = f"{'at least' if check.at_least else 'at most':<8} {_show(check.target, check):>7}"
    return f"{check.what:<{width}}  {_show(check.measured, check):>8}  {limit}  {verdict}"


def _show(value: float, check: Check) -> str:
    return f"{value:.0f} {check.unit}" if check.unit else f"{value:.2f}"
