"""How much memory there is, for the machine and for the group of processes this server is in."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import psutil
from pydantic import Field

from midwatch.bundled.host.answers import Answer, Percent
from midwatch.bundled.host.bounds import percent
from midwatch.bundled.host.procfs import parse_counters, read_text

_GROUPS = Path("/sys/fs/cgroup")
_UNLIMITED = 2**60
"""Version 1 of control groups writes no limit as a number near 2^63."""


class Memory(Answer):
    total_bytes: int
    available_bytes: int = Field(description="What programs can still get without swapping")
    used_bytes: int = Field(description="The total without what is available")
    used_percent: Percent
    cached_bytes: int = Field(description="Copies of files; given back when programs need it")
    swap_total_bytes: int
    swap_used_bytes: int
    swap_used_percent: Percent
    limit_bytes: int | None = Field(description="Of the control group this server runs in; null when it has none")
    limit_used_bytes: int | None
    oom_kills: int | None = Field(description="Processes killed for want of memory since the machine started")


def memory() -> Memory:
    """Memory and swap of the machine, and the limit of this server's control group when there is one.

    Use it when programs are killed or slow, then `processes` sorted by memory to see who has it. Costs next to nothing.
    Limits of other containers and services are not shown.
    """
    machine, swap = psutil.virtual_memory(), psutil.swap_memory()
    group = find_limited_group(read_text("/proc/self/cgroup") or "", _GROUPS)
    limit, used = group or (None, None)
    counters = parse_counters(read_text("/proc/vmstat") or "")
    return Memory(
        total_bytes=machine.total,
        available_bytes=machine.available,
        used_bytes=machine.total - machine.available,
        used_percent=percent(machine.total - machine.available, machine.total),
        cached_bytes=getattr(machine, "cached", 0),
        swap_total_bytes=swap.total,
        swap_used_bytes=swap.used,
        swap_used_percent=percent(swap.used, swap.total),
        limit_bytes=limit,
        limit_used_bytes=used,
        oom_kills=counters.get("oom_kill"),
        notes=_tell(limit, machine.total),
    )


def find_limited_group(membership: str, groups: Path) -> tuple[int, int | None] | None:
    """The tightest limit and what is used of it, among the group of `membership` and the groups around it."""
    limits = [
        (limit, _read_number(folder / used_file))
        for folder, limit_file, used_file in _list_places(membership, groups)
        if (limit := _read_number(folder / limit_file)) is not None and limit < _UNLIMITED
    ]
    return min(limits, key=lambda pair: pair[0], default=None)


def _list_places(membership: str, groups: Path) -> Iterator[tuple[Path, str, str]]:
    for line in membership.splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if not controllers:
            folders = [groups / part for part in _climb(path)]
            yield from ((folder, "memory.max", "memory.current") for folder in folders)
        elif "memory" in controllers.split(","):
            folders = [groups / "memory" / part for part in _climb(path)]
            yield from ((folder, "memory.limit_in_bytes", "memory.usage_in_bytes") for folder in folders)


def _climb(path: str) -> list[str]:
    """A group's path and those of the groups around it, relative to the root of all."""
    inner = PurePosixPath(path.lstrip("/"))
    if ".." in inner.parts:
        return ["."]
    return [str(inner), *(str(parent) for parent in inner.parents)]


def _read_number(path: Path) -> int | None:
    text = (read_text(path, limit=64) or "").strip()
    return int(text) if text.isdecimal() else None


def _tell(limit: int | None, total: int) -> list[str]:
    if limit is None or limit >= total:
        return []
    return ["this server's control group may use less than the machine has: see limit_bytes"]
