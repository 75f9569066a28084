"""How an agent's run can end."""

from dataclasses import dataclass
from uuid import UUID

from midwatch.safety.claims.findings import Inspection


@dataclass(frozen=True, slots=True, kw_only=True)
class Concluded:
    text: str
    iterations: int
    used_up: str | None = None
    """What had come to its end, so that the agent was made to conclude; None: it concluded by itself."""
    claims: Inspection | None = None
    """What was found in its words that nothing on record bears out, when there is something: `text` is without it."""
    was_corrected: bool = False
    """An earlier conclusion was taken back for such words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOut:
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """It cannot go on before a person decides. Nothing has ended: whoever comes back takes it up from the journal."""

    approvals: tuple[UUID, ...]


Outcome = Concluded | Failed | TimedOut | Parked
