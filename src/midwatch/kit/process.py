"""What this process asks of the kernel about itself and its children. Off Linux these are no-ops."""

import ctypes
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_PR_SET_DUMPABLE = 4
_MOST_HELD = 200
# Loaded here and not in the child: between fork and exec another thread may have held the loader's lock for ever.
# PyDLL keeps the interpreter lock during the call, one lock less to take in the child.
_libc: ctypes.PyDLL | None = ctypes.PyDLL(None, use_errno=True) if sys.platform == "linux" else None


def forbid_dumping() -> None:
    """Closes /proc/<pid>/environ and memory to other processes of the same user, such as tool servers we start.

    A program that is started later is dumpable again: this does not reach our children.
    """
    if _libc is not None:
        _prctl(_libc, _PR_SET_DUMPABLE, 0)


def die_with_parent(signum: int) -> Callable[[], None]:
    """A `preexec_fn` that has the kernel send `signum` to the child when the thread that starts it ends.

    Make it right before the start, in the process that starts, and start from a thread that lives as long as the
    child should: the kernel watches the thread, not the process.
    """
    libc = _libc
    if libc is None:
        return _do_nothing
    parent = os.getpid()

    def prepare_child() -> None:
        # An inherited Python handler would swallow a signal that comes before exec.
        signal.signal(signum, signal.SIG_DFL)
        _prctl(libc, _PR_SET_PDEATHSIG, signum)
        # The parent may have died before the kernel was told to watch it.
        if os.getppid() != parent:
            os._exit(1)

    return prepare_child


def hold_descendants(pid: int) -> list[int]:
    """Handles of what a running process has started, and of what that has started, in whichever session or group.

    Each must be handed to `kill_held`. Whoever has lost its parent belongs to nobody any more, and is not found.
    """
    held: list[int] = []
    found = deque(_list_children(pid))
    while found and len(held) < _MOST_HELD:
        child = found.popleft()
        with suppress(OSError):
            held.append(os.pidfd_open(child))
        found.extend(_list_children(child))
    return held


def kill_held(handles: Sequence[int]) -> None:
    """A handle means one process for ever, even if another has got its number since."""
    for handle in handles:
        with suppress(OSError):
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        os.close(handle)


def _list_children(pid: int) -> list[int]:
    try:
        with os.scandir(f"/proc/{pid}/task") as tasks:
            lists = [Path(task.path, "children").read_text(encoding="ascii") for task in tasks]
    except OSError:
        # It has ended.
        return []
    return [int(child) for children in lists for child in children.split()]


def _prctl(libc: ctypes.CDLL, option: int, value: int) -> None:
    unused = ctypes.c_ulong(0)
    if libc.prctl(option, ctypes.c_ulong(value), unused, unused, unused) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl({option}, {value}): {os.strerror(number)}")


def _do_nothing() -> None:
    pass
