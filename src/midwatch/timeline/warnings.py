"""What is wrong with this replica now, for people to see. In memory: a warning lasts as long as its cause is in sight.

Here, and not in `telemetry`, because it is part of what happens and is shown; rooms above raise and clear.
"""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import UUID

from midwatch.kit.ids import new_id


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemWarning:
    id: UUID
    category: str
    message: str
    details: str
    server_id: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Warnings:
    _standing: dict[tuple[str, str | None], SystemWarning] = field(
        default_factory=dict[tuple[str, str | None], SystemWarning]
    )

    def put_up(self, category: str, message: str, *, details: str = "", server_id: str | None = None) -> None:
        """One of a category and server at most: it stays the same warning when it is said again, in new words."""
        standing = self._standing.get((category, server_id))
        self._standing[category, server_id] = (
            replace(standing, message=message, details=details)
            if standing
            else SystemWarning(
                id=new_id(),
                category=category,
                message=message,
                details=details,
                server_id=server_id,
                created_at=datetime.now(UTC),
            )
        )

    def take_down(self, category: str, *, server_id: str | None = None) -> None:
        self._standing.pop((category, server_id), None)

    def show(self) -> list[SystemWarning]:
        """In the order in which they came up."""
        return list(self._standing.values())
