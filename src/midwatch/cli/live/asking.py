"""Asking whoever sits at the terminal: a yes or a no, typed out, or neither."""

import asyncio
import os
import sys
import termios
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from midwatch.cli.live.requests import read_seconds_left, render_request
from midwatch.cli.live.screen import Screen
from midwatch.cli.live.server import Body, Secret, Server, ServerUnreachable
from midwatch.cli.live.watch import Stop
from midwatch.cli.terminal import clean
from midwatch.domain.errors import Invalid

_YES = frozenset({"y", "yes"})
_LONGEST_LINE = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Only for a real terminal: nothing but keys may say yes here."""

    server: Server
    screen: Screen
    secret: Secret

    async def consult(self, event: dict[str, Any], stop: Stop) -> None:
        """Of an event that tells of a question. Whatever goes wrong, the question stays open for others."""
        with suppress(Invalid, ServerUnreachable):
            approval = await self.server.show_approval(str(event.get("approval_id")))
            if approval.get("state") == "waiting":
                with self.screen.silent():
                    await self._ask(approval, stop)

    async def _ask(self, approval: Body, stop: Stop) -> None:
        self.screen.show("", *render_request(approval, marks=self.screen.marks))
        seconds = read_seconds_left(approval)
        answer = await self._read("  Approve? [y/N] ", stop, seconds=seconds)
        if answer is None:
            return
        is_approved = answer.strip().lower() in _YES
        reason = await self._read("  Reason, or Enter for none: ", stop, seconds=read_seconds_left(approval))
        if reason is not None:
            await self._decide(str(approval["approval_id"]), is_approved=is_approved, reason=reason.strip())

    async def _decide(self, approval_id: str, *, is_approved: bool, reason: str) -> None:
        try:
            await self.server.decide(approval_id, is_approved=is_approved, reason=reason, secret=self.secret)
        except Invalid as problem:
            self.screen.show_exactly(f"  {problem}")

    async def _read(self, prompt: str, stop: Stop, *, seconds: float) -> str | None:
        """None when nobody answered in time, or wants to stop."""
        self.screen.prompt(prompt)
        line = await read_line(sys.stdin.fileno(), until=stop.asked, seconds=seconds)
        if line is None:
            self.screen.show("")
        return None if line is None else clean(line)


async def read_line(descriptor: int, *, until: asyncio.Event, seconds: float) -> str | None:
    """A line that is typed from now on; what was typed before the question is no answer to it."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[bytes] = loop.create_future()

    def take() -> None:
        if not typed.done():
            typed.set_result(os.read(descriptor, _LONGEST_LINE))

    with suppress(termios.error):
        termios.tcflush(descriptor, termios.TCIFLUSH)
    loop.add_reader(descriptor, take)
    try:
        async with asyncio.timeout(seconds), asyncio.TaskGroup() as group:
            stopping = group.create_task(_give_up(typed, until), name="stop-asking")
            line = await typed
            stopping.cancel()
    except TimeoutError:
        return None
    finally:
        loop.remove_reader(descriptor)
    return line.decode("utf-8", "replace").rstrip("\n") if line.endswith(b"\n") else None


async def _give_up(typed: asyncio.Future[bytes], until: asyncio.Event) -> None:
    await until.wait()
    if not typed.done():
        typed.set_result(b"")
