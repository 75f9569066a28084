"""The MCP server that tells about the machine it runs on. It only reads."""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("midwatch-host")
_READS = ToolAnnotations(read_only_hint=True)
_REAL_FILE_SYSTEMS = frozenset({"ext2", "ext3", "ext4", "xfs", "btrfs", "zfs", "f2fs", "overlay", "vfat", "apfs"})


class Load(BaseModel):
    one_minute: float
    five_minutes: float
    fifteen_minutes: float
    processors: int


class Disk(BaseModel):
    mounted_on: str
    total_bytes: int
    used_bytes: int
    free_bytes: int
    used_percent: float


class Disks(BaseModel):
    disks: list[Disk]


@server.tool(annotations=_READS)
def load() -> Load:
    """The load averages of this machine and how many processors share the load."""
    one, five, fifteen = os.getloadavg()
    return Load(one_minute=one, five_minutes=five, fifteen_minutes=fifteen, processors=os.cpu_count() or 1)


@server.tool(annotations=_READS)
def disks() -> Disks:
    """How full each file system on a disk is, in the eyes of a plain user: what is reserved for root is not free."""
    return Disks(disks=list(_measure(_mounts())))


def _measure(folders: list[Path]) -> Iterator[Disk]:
    for folder in folders:
        try:
            usage = shutil.disk_usage(folder)
        except OSError:
            continue  # unmounted meanwhile, or not ours to look at; the others still count
        usable = usage.used + usage.free
        yield Disk(
            mounted_on=str(folder),
            total_bytes=usage.total,
            used_bytes=usage.used,
            free_bytes=usage.free,
            used_percent=round(100 * usage.used / usable, 1) if usable else 0.0,
        )


def _mounts() -> list[Path]:
    """Each device once, where it was mounted first."""
    table = Path("/proc/mounts")
    if not table.exists():
        return [Path("/")]
    seen: dict[str, Path] = {}
    for line in table.read_text(encoding="utf-8", errors="replace").splitlines():
        device, folder, kind = line.split()[:3]
        if kind in _REAL_FILE_SYSTEMS:
            seen.setdefault(device, Path(_unescape(folder)))
    return list(seen.values()) or [Path("/")]


def _unescape(folder: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), folder)


if __name__ == "__main__":
    server.run("stdio")
