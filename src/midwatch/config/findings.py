"""What is wrong, or merely odd, in the files of one folder: gathered first, told all at once."""

from dataclasses import dataclass, field
from typing import NamedTuple

from midwatch.domain.errors import Misconfigured


class Place(NamedTuple):
    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


@dataclass(slots=True)
class Findings:
    _problems: list[tuple[Place, str]] = field(default_factory=list[tuple[Place, str]])
    _warnings: list[tuple[Place, str]] = field(default_factory=list[tuple[Place, str]])

    def problem(self, place: Place, message: str) -> None:
        self._problems.append((place, message))

    def warn(self, place: Place, message: str) -> None:
        self._warnings.append((place, message))

    @property
    def problems(self) -> tuple[str, ...]:
        return _told_in_order(self._problems)

    @property
    def warnings(self) -> tuple[str, ...]:
        return _told_in_order(self._warnings)

    def raise_problems(self) -> None:
        if self._problems:
            raise Misconfigured(self.problems)


def _told_in_order(findings: list[tuple[Place, str]]) -> tuple[str, ...]:
    once = dict.fromkeys(findings)
    return tuple(f"{place}: {message}" for place, message in sorted(once, key=_reading_order))


def _reading_order(finding: tuple[Place, str]) -> tuple[str, int]:
    place, _ = finding
    return place.file, place.line or 0
