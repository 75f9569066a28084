"""One thing that was looked at, and how it was found."""

from dataclasses import dataclass
from enum import StrEnum

from midwatch.cli.ending import FAILED, MISCONFIGURED
from midwatch.domain.errors import MidwatchError, Misconfigured


class Grade(StrEnum):
    FINE = "ok"
    DOUBTFUL = "warning"
    WRONG = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    subject: str
    """What was looked at, such as `database` or `model fast`."""
    grade: Grade
    text: str
    status: int = FAILED
    """With which a command ends for it, if it is wrong."""
    remedy: str | None = None
    """The command that helps."""


def fine(subject: str, text: str) -> Finding:
    return Finding(subject=subject, grade=Grade.FINE, text=text)


def doubtful(subject: str, text: str, *, remedy: str | None = None) -> Finding:
    return Finding(subject=subject, grade=Grade.DOUBTFUL, text=text, remedy=remedy)


def wrong(subject: str, error: MidwatchError | str, *, remedy: str | None = None) -> list[Finding]:
    """One for each problem."""
    problems = error.problems if isinstance(error, Misconfigured) else [str(error)]
    status = MISCONFIGURED if isinstance(error, Misconfigured) else FAILED
    return [
        Finding(subject=subject, grade=Grade.WRONG, text=problem, status=status, remedy=remedy) for problem in problems
    ]
