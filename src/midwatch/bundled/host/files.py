"""Opening a file that must be a regular one below a given folder, whoever moves things about meanwhile."""

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_PATH_ONLY: int = getattr(os, "O_PATH", os.O_RDONLY | os.O_NONBLOCK)
"""Names a file without opening it, so that a device or a FIFO is not touched. Only Linux has it."""


class OutOfBounds(OSError):
    """Not below an allowed folder, or not a regular file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFile:
    descriptor: int
    path: str
    """The real one."""
    state: os.stat_result


@contextmanager
def open_below(path: str, roots: Sequence[str]) -> Generator[OpenFile]:
    """Opens for reading. Raises OutOfBounds, or OSError when there is no such file or it is not ours to read."""
    real_path = os.path.realpath(path)
    if not is_below(real_path, roots):
        raise OutOfBounds(f"{path!r} does not lie there")
    handle = os.open(real_path, _PATH_ONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        state = os.fstat(handle)
        # What was opened decides, not the name: a folder on the way may have become a link since we looked.
        found_at = _read_path(handle, real_path)
        if not is_below(found_at, roots):
            raise OutOfBounds(f"{path!r} does not lie there")
        if not stat.S_ISREG(state.st_mode):
            raise OutOfBounds(f"{path!r} is not a regular file")
        descriptor = open_again(handle, real_path)
    finally:
        os.close(handle)
    try:
        yield OpenFile(descriptor=descriptor, path=found_at, state=state)
    finally:
        os.close(descriptor)


def is_below(path: str, roots: Sequence[str]) -> bool:
    """Whether a real path lies below one of `roots`, which may be links themselves."""
    return any(path.startswith(os.path.realpath(root).rstrip("/") + "/") for root in roots)


def open_again(handle: int, path: str) -> int:
    """For reading: the very file of `handle`, not whatever bears its name by now. Elsewhere than on Linux, by name."""
    again = Path(f"/proc/self/fd/{handle}")
    return os.open(again if again.exists() else path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def _read_path(handle: int, fallback: str) -> str:
    try:
        return str(Path(f"/proc/self/fd/{handle}").readlink())
    except OSError:
        return os.path.realpath(fallback)
