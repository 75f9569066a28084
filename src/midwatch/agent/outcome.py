"""How an agent's run can end."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Concluded:
    text: str
    forced: bool
    """It had to conclude because its iterations were used up."""
    iterations: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOut:
    error: str


Outcome = Concluded | Failed | TimedOut
