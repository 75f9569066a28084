"""One child process that exchanges lines with us over its pipes: started alone in its group, and never left behind."""

import asyncio
import os
import signal
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from subprocess import DEVNULL, PIPE
from typing import cast

from midwatch.kit.process import die_with_parent, hold_descendants, kill_held
from midwatch.kit.users import User
from midwatch.tools.mcp.messages import MAX_MESSAGE_BYTES, TOO_LARGE

_GRACE_SECONDS = 2.0


class ChildGone(Exception):
    """The child takes no more input; nothing of this line was written."""


class Child(asyncio.SubprocessProtocol):
    def __init__(self) -> None:
        self.failure: str | None = None
        """Why we stopped listening, when the child did not simply end."""
        self._lines: deque[bytearray] = deque()
        self._partial = bytearray()
        self._no_more_lines = False
        self._reader: asyncio.Future[None] | None = None
        self._writable = asyncio.Event()
        self._exited = asyncio.Event()

    async def read_line(self) -> bytearray | None:
        """The next line without its end, or None when there will be no more. For one reader at a time."""
        while not self._lines:
            if self._no_more_lines:
                return None
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        line = self._lines.popleft()
        if len(line) > MAX_MESSAGE_BYTES:
            self._give_up(TOO_LARGE)
            return None
        return line

    async def wait_writable(self) -> None:
        """Returns when all earlier bytes have left this process, so that the next ones leave at once."""
        while not self._writable.is_set():
            await self._writable.wait()
        if self._stdin.is_closing():
            self._end()
            raise ChildGone

    def write(self, data: bytes) -> None:
        if self._stdin.is_closing():
            self._end()
            raise ChildGone
        self._stdin.write(data)

    async def stop(self) -> None:
        """Asks politely, then less so. Bounded; a cancellation shortens the wait and never leaves the child alive."""
        # Those that have left the child's group would not hear what the group is told.
        started = self._hold_started()
        try:
            self._close_stdin()
            if not await self._exits_within(_GRACE_SECONDS):
                self._signal_group(signal.SIGTERM)
                await self._exits_within(_GRACE_SECONDS)
        finally:
            started += self._hold_started()
            # Sent even when the child went by itself: it reaches whatever the child had started.
            self._signal_group(signal.SIGKILL)
            kill_held(started)
            try:
                await self._exits_within(_GRACE_SECONDS)
            finally:
                self._process.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._process = cast("asyncio.SubprocessTransport", transport)
        self.pid = self._process.get_pid()
        self._stdin = cast("asyncio.WriteTransport", self._process.get_pipe_transport(0))
        # Any byte still in our buffer counts as "not writable": see wait_writable.
        self._stdin.set_write_buffer_limits(high=0)
        self._writable.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002 - only one pipe is read
        if self._no_more_lines:
            return
        self._partial += data
        if b"\n" in data:
            *lines, self._partial = self._partial.split(b"\n")
            self._lines.extend(lines)
            self._wake_reader()
        if len(self._partial) > MAX_MESSAGE_BYTES:
            self._give_up(TOO_LARGE)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002 - how it broke is no matter
        if fd == 1:
            self._end()
        else:
            self._writable.set()

    def process_exited(self) -> None:
        self._exited.set()

    def _give_up(self, reason: str) -> None:
        self.failure = reason
        self._end()

    def _end(self) -> None:
        self._no_more_lines = True
        self._partial = bytearray()
        self._wake_reader()

    def _wake_reader(self) -> None:
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    def _close_stdin(self) -> None:
        # A plain close would first flush what the child has not taken, and a call whose time is over would reach it.
        if self._stdin.get_write_buffer_size() > 0:
            self._stdin.abort()
        else:
            self._stdin.close()

    def _signal_group(self, signum: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signum)

    def _hold_started(self) -> list[int]:
        # The number of one that has ended may be another's by now.
        return [] if self._exited.is_set() else hold_descendants(self.pid)

    async def _exits_within(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._exited.wait()
        return self._exited.is_set()


async def start_child(command: Sequence[str], *, environment: Mapping[str, str], user: User | None = None) -> Child:
    """Raises OSError when the program cannot be started, and ValueError when its command line is impossible.

    `user` is whom the child runs as, in that user's own group and no other; None: as we do.
    """
    _, child = await asyncio.get_running_loop().subprocess_exec(
        Child,
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env=dict(environment),
        start_new_session=True,
        # Without it a `kill -9` of this process would leave its tool servers running for ever.
        preexec_fn=die_with_parent(signal.SIGTERM),
        user=None if user is None else user.uid,
        group=None if user is None else user.gid,
        extra_groups=None if user is None else (),
    )
    return child
