"""Small reads from /proc and /sys, and what this process is not allowed to see there."""

import os
from pathlib import Path

_MAX_BYTES = 1024 * 1024
_FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""The kernel gives the machine's own namespace this fixed number; every container has another."""


def read_text(path: str | Path, *, limit: int = _MAX_BYTES) -> str | None:
    """None when there is no such file or it is not ours to read. Broken UTF-8 stays usable as a path."""
    try:
        with Path(path).open("rb") as file:
            return os.fsdecode(file.read(limit))
    except OSError:
        return None


def parse_counters(text: str) -> dict[str, int]:
    """Lines of a name and a number, such as /proc/vmstat; others are left out."""
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdecimal()}  # noqa: PLR2004 - a pair


def note_hidden_processes() -> list[str]:
    """What is missing from any list of processes, as notes."""
    notes: list[str] = []
    if _has_own_pid_namespace():
        notes.append("this server runs in a container or the like: processes outside of it are not visible")
    if os.geteuid() != 0 and "hidepid=" in (read_text("/proc/self/mounts") or ""):
        notes.append("/proc may hide the processes of other users (mounted with hidepid)")
    return notes


def note_other_users(missing: str) -> list[str]:
    """What is `missing` because only root may look into the processes of other users."""
    return [] if os.geteuid() == 0 else [f"not run as root: {missing}"]


def _has_own_pid_namespace() -> bool:
    try:
        return Path("/proc/self/ns/pid").readlink() != Path(_FIRST_PID_NAMESPACE)
    except OSError:
        return False
