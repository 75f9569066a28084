"""What is mounted where."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import psutil
from pydantic import Field

from midwatch.bundled.host.answers import Command, Listing, PathText, Shape, Word
from midwatch.bundled.host.arguments import Text
from midwatch.bundled.host.procfs import read_text

_MAX_SHOWN = 100
_TABLE_BYTES = 8 * 1024 * 1024
_OCTAL = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    device: str
    folder: str
    kind: str
    options: str


class MountFacts(Shape):
    mounted_on: PathText
    device: PathText
    file_system: Word
    options: Command


class Mounts(Listing):
    mounts: list[MountFacts]


def mounts(
    *, contains: Annotated[Text, Field(description="Only those with this in their folder, device or type")] = ""
) -> Mounts:
    """Every mounted file system with its type and options, also those that are no disk.

    Use it to see whether something is mounted, from where, and read-only or not. Costs next to nothing, and does not
    touch the file systems themselves. How full they are is told by `disks`.
    """
    part = contains.casefold()
    found = [each for each in read_mounts() if part in f"{each.folder} {each.device} {each.kind}".casefold()]
    shown = [
        MountFacts(mounted_on=each.folder, device=each.device, file_system=each.kind, options=each.options)
        for each in sorted(found, key=lambda mount: mount.folder)[:_MAX_SHOWN]
    ]
    return Mounts(mounts=shown, total=len(found), truncated=len(found) > len(shown))


def read_mounts() -> Sequence[Mount]:
    """Of this process: in a container, those of the container."""
    table = read_text("/proc/self/mounts", limit=_TABLE_BYTES)
    if table is not None:
        return parse_mounts(table)
    return [
        Mount(device=each.device, folder=each.mountpoint, kind=each.fstype, options=each.opts)
        for each in psutil.disk_partitions(all=True)
    ]


def parse_mounts(table: str) -> list[Mount]:
    """The lines of /proc/mounts, in their order. Blanks in names are written as octal numbers there."""
    rows = (line.split(" ") for line in table.split("\n"))
    return [
        Mount(device=_unescape(row[0]), folder=_unescape(row[1]), kind=_unescape(row[2]), options=_unescape(row[3]))
        for row in rows
        if len(row) > 3  # noqa: PLR2004 - the columns that are read
    ]


def _unescape(text: str) -> str:
    return _OCTAL.sub(lambda code: chr(int(code[1], 8)), text)
