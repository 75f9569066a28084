"""Word that a person has decided, for runs of this replica that have something else to do meanwhile.

It may be lost or come for nothing: whoever hears it looks at the journal, and looks now and then without it.
"""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Decisions:
    _listening: dict[UUID, list[asyncio.Event]] = field(default_factory=dict[UUID, list[asyncio.Event]])

    def hear(self, session_id: UUID) -> None:
        for heard in self._listening.get(session_id, ()):
            heard.set()

    def hear_all(self) -> None:
        """Something may have been missed."""
        for session_id in self._listening:
            self.hear(session_id)

    @contextmanager
    def listen(self, session_id: UUID) -> Generator[asyncio.Event]:
        heard = asyncio.Event()
        listening = self._listening.setdefault(session_id, [])
        listening.append(heard)
        try:
            yield heard
        finally:
            listening.remove(heard)
            if not listening:
                self._listening.pop(session_id, None)
