"""A program in a terminal: what a person sees on the screen, and keys pressed."""

import asyncio
import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pyte

from tests.waiting import eventually

CTRL_C = b"\x03"
_ROWS = 300
"""So many that nothing scrolls away."""


@dataclass(slots=True, kw_only=True)
class Terminal:
    process: subprocess.Popen[bytes]
    master: int
    screen: pyte.Screen
    stream: pyte.ByteStream
    raw: bytearray = field(default_factory=bytearray)
    """Everything that was written, as it was written."""
    is_closed: bool = False

    @property
    def shown(self) -> str:
        lines = [line.rstrip() for line in self.screen.display]
        return "\n".join(lines).rstrip("\n")

    def read(self) -> None:
        try:
            data = os.read(self.master, 65536)
        except OSError:  # how Linux says that nobody holds the other end
            data = b""
        if not data:
            self.is_closed = True
            asyncio.get_running_loop().remove_reader(self.master)
        self.raw += data
        self.stream.feed(data)

    def press(self, keys: bytes) -> None:
        os.write(self.master, keys)

    async def see(self, words: str | Callable[[str], object], *, within: float = 60) -> str:
        """The screen, as soon as these words stand on it."""

        def look() -> str | None:
            shown = self.shown
            found = words in shown if isinstance(words, str) else words(shown)
            assert found or not self.is_closed, shown
            return shown if found else None

        return await eventually(look, within=within)

    async def end(self, *, within: float = 60) -> int:
        """The exit status, once everything it wrote was read."""
        await eventually(lambda: self.process.poll() is not None and self.is_closed, within=within)
        return self.process.returncode

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)


@asynccontextmanager
async def open_terminal(
    *command: str | Path, environ: Mapping[str, str], columns: int = 80
) -> AsyncGenerator[Terminal]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))
    process = subprocess.Popen(  # noqa: ASYNC220 -- returns at once, and its terminal is ours to prepare
        command,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={"TERM": "xterm-256color", **environ},
        start_new_session=True,
        # So that Ctrl-C is a signal.
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 -- one system call, no locks
    )
    os.close(slave)
    screen = pyte.Screen(columns, _ROWS)
    terminal = Terminal(process=process, master=master, screen=screen, stream=pyte.ByteStream(screen))
    asyncio.get_running_loop().add_reader(master, terminal.read)
    try:
        yield terminal
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        asyncio.get_running_loop().remove_reader(master)
        os.close(master)
