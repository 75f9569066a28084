"""The cradle as its user sees it: replicas are born, get signals, and end with a status."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from midwatch.kit import json

_CRADLE = Path(__file__).with_name("cradle.py")


@dataclass(slots=True, kw_only=True)
class Life:
    """As much of a process as tests ask of one."""

    pid: int
    returncode: int | None = None
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    async def wait(self) -> int:
        await self._over.wait()
        assert self.returncode is not None
        return self.returncode

    def end(self, status: int) -> None:
        self.returncode = status
        self._over.set()


@dataclass(slots=True, kw_only=True)
class Nursery:
    cradle: Process
    lives: dict[int, Life] = field(default_factory=dict[int, Life])
    _births: asyncio.Queue[Life] = field(default_factory=asyncio.Queue[Life])
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def bear(self, command: Sequence[str], *, environ: Mapping[str, str], log: Path, space: str | None) -> Life:
        wanted = {"command": list(command), "environ": dict(environ), "log": str(log), "space": space}
        assert self.cradle.stdin is not None
        async with self._one_at_a_time:
            self.cradle.stdin.write(json.encode(wanted) + b"\n")
            return await self._births.get()

    async def listen(self) -> None:
        assert self.cradle.stdout is not None
        async for line in self.cradle.stdout:
            news = json.decode(line)
            if "born" in news:
                life = self.lives[news["born"]] = Life(pid=news["born"])
                self._births.put_nowait(life)
            else:
                self.lives.pop(news["died"]).end(news["status"])

    async def see_ready(self) -> None:
        await self._births.get()


@asynccontextmanager
async def open_nursery() -> AsyncGenerator[Nursery]:
    cradle = await asyncio.create_subprocess_exec(sys.executable, str(_CRADLE), stdin=PIPE, stdout=PIPE)
    try:
        async with asyncio.TaskGroup() as group:
            nursery = Nursery(cradle=cradle)
            listening = group.create_task(nursery.listen(), name="nursery")
            await nursery.see_ready()
            yield nursery
            listening.cancel()
    finally:
        cradle.kill()
        await cradle.wait()
        cradle._transport.close()  # pyright: ignore - asyncio has no public way to close its pipes
