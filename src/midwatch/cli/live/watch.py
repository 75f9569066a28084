"""Watching one session to its end, and what a signal does meanwhile."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Protocol

from midwatch.cli.ending import DONE, FAILED
from midwatch.cli.live.follow import Ended, Event, Follower, Item, Told
from midwatch.cli.live.server import Body, Server, ServerUnreachable
from midwatch.domain.errors import Invalid
from midwatch.domain.session import SessionStatus
from midwatch.domain.timeline import EventType

_SIGNALLED = 128


class View(Protocol):
    def take(self, item: Item) -> None: ...
    def note(self, text: str) -> None:
        """Something the command itself has to say."""
        ...


@dataclass(slots=True, kw_only=True)
class Stop:
    """The first signal asks the session to stop, once there is one of our own; any other ends everything at once."""

    whole: asyncio.Task[None]
    is_gentle: bool = False
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    number: signal.Signals | None = None

    def __call__(self, number: signal.Signals) -> None:
        self.number = number
        if self.is_gentle and not self.asked.is_set():
            self.asked.set()
        else:
            self.whole.cancel()

    @property
    def status(self) -> int:
        """As shells count it."""
        return FAILED if self.number is None else _SIGNALLED + self.number


Consult = Callable[[Event, Stop], Awaitable[None]]
"""Somebody at the terminal is asked what the event tells of."""


async def watch(server: Server, session_id: str, *, view: View, stop: Stop, consult: Consult | None = None) -> Body:
    """The session as it ended. Raises as Follower does."""
    async with asyncio.TaskGroup() as group:
        stopping = group.create_task(_stop_when_asked(server, session_id, view=view, stop=stop), name="stop")
        ended: Body = {}
        async with aclosing(Follower(server=server, session_id=session_id).follow()) as items:
            async for item in items:
                view.take(item)
                if consult is not None and (question := _find_question(item)):
                    await consult(question, stop)
                if isinstance(item, Ended):
                    ended = item.session
        stopping.cancel()
    return ended


def _find_question(item: Item) -> Event | None:
    is_question = isinstance(item, Told) and item.event.get("type") == EventType.APPROVAL_REQUESTED
    return item.event if isinstance(item, Told) and is_question else None


async def _stop_when_asked(server: Server, session_id: str, *, view: View, stop: Stop) -> None:
    await stop.asked.wait()
    view.note("stopping: the investigation is being cancelled; Ctrl-C again ends at once")
    # It may have ended in this moment; whatever else is wrong, whoever follows it sees as well.
    with suppress(Invalid, ServerUnreachable):
        await server.cancel(session_id)


def judge(session: Body, stop: Stop) -> int:
    """The exit status of a command whose session ended so."""
    if session.get("status") == SessionStatus.COMPLETED:
        return DONE
    return FAILED if stop.number is None else stop.status
