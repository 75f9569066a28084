"""How an agent's run can end."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Concluded:
    text: str
    iterations: int
    used_up: str | None = None
    """What had come to its end, so that the agent was made to conclude; None: it concluded by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOut:
    error: str


Outcome = Concluded | Failed | TimedOut
