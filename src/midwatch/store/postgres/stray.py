"""A server whose starter died, and the traces it leaves."""

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from contextlib import suppress
from pathlib import Path
from signal import SIGINT, SIGQUIT

_STOP_LIMIT = 10.0


async def end_stray_server(data: Path) -> None:
    """Under the lock, a server on this data has lost its starter. It may be on its way out already."""
    pid_file = data / "postmaster.pid"
    pid = _read_pid(pid_file)
    if pid is None or not _is_alive(pid):
        return
    if not await _is_server_on(data, pid):
        # The number went to a stranger, whom PostgreSQL would take for a running server for ever.
        pid_file.unlink(missing_ok=True)
        return
    for signal in (SIGINT, SIGQUIT):
        with suppress(ProcessLookupError):
            os.kill(pid, signal)
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_LIMIT):
                await _wait_for_end(data, pid)
                return


def _read_pid(pid_file: Path) -> int | None:
    try:
        # Negative while the server runs without a postmaster.
        return abs(int(pid_file.read_text(encoding="utf-8").splitlines()[0]))
    except (FileNotFoundError, ValueError, IndexError):
        return None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


async def _is_server_on(data: Path, pid: int) -> bool:
    return f"/postgres -D {data} " in await _read_command(pid)


async def _wait_for_end(data: Path, pid: int) -> None:
    while await _is_server_on(data, pid):  # noqa: ASYNC110 -- another process, not a child: nothing would set an event
        await asyncio.sleep(0.05)


async def _read_command(pid: int) -> str:
    if sys.platform == "linux":
        return _read_proc(pid)
    ps = await asyncio.create_subprocess_exec("ps", "-o", "args=", "-p", str(pid), stdout=PIPE)
    output, _ = await ps.communicate()
    return os.fsdecode(output)


def _read_proc(pid: int) -> str:
    try:
        return os.fsdecode(Path(f"/proc/{pid}/cmdline").read_bytes()).replace("\0", " ")
    except OSError:
        return ""
