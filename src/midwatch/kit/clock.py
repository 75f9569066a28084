"""Clocks. Everything that measures a lease or a deadline uses `boottime`, which counts sleep and SIGSTOP."""

import time
from collections.abc import Callable

Clock = Callable[[], float]


def boottime() -> float:
    """Seconds since boot, including the time this machine or process was suspended."""
    return time.clock_gettime(_CLOCK)


# macOS has no CLOCK_BOOTTIME; its CLOCK_MONOTONIC already counts sleep.
_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
