"""What tests ask about processes."""

import time

import psutil


def is_dead_soon(pid: int, *, seconds: float = 5.0) -> bool:
    """Whether the process ends in time. One that only waits to be reaped, perhaps by a lazy init, is dead."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if _is_dead(pid):
            return True
        time.sleep(0.005)
    return False


def _is_dead(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
