"""How far an operator lets agents go."""

from enum import StrEnum


class SafetyMode(StrEnum):
    ENFORCE = "enforce"
    OBSERVE = "observe"
    """Record what would have been refused, and let it pass."""


class ControlLevel(StrEnum):
    READ_ONLY = "read_only"
    CONTROLLED = "controlled"
    """Every change needs a person's yes."""
    AUTONOMOUS = "autonomous"


_STRICTNESS = (ControlLevel.READ_ONLY, ControlLevel.CONTROLLED, ControlLevel.AUTONOMOUS)


def strictest(*levels: ControlLevel | None) -> ControlLevel:
    """The strictest of the levels that are set; with none set, read_only."""
    given = [level for level in levels if level is not None]
    return min(given, key=_STRICTNESS.index, default=ControlLevel.READ_ONLY)
