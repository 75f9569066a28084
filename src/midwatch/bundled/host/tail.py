"""The last lines of a file, found from its end."""

import os
from collections.abc import Iterator
from dataclasses import dataclass

_BLOCK = 256 * 1024
_LINE_BYTES = 8 * 1024
"""More of a line is not kept: it would be clipped before it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    lines: list[str]
    """Oldest first."""
    reached_start: bool
    """Nothing further up was left unread."""


def read_last_lines(descriptor: int, *, size: int, count: int, contains: str, max_bytes: int) -> Lines:
    """At most `count` lines that hold `contains`, in any case. Reads no more than `max_bytes` back from `size`."""
    wanted = contains.casefold()
    found: list[str] = []
    floor = max(size - max_bytes, 0)
    for line in _walk_back(descriptor, size=size, floor=floor):
        text = line.decode(errors="replace").rstrip("\r")
        if wanted in text.casefold():
            if len(found) == count:
                return Lines(lines=found[::-1], reached_start=False)
            found.append(text)
    return Lines(lines=found[::-1], reached_start=floor == 0)


def _walk_back(descriptor: int, *, size: int, floor: int) -> Iterator[bytes]:
    """Lines from the last to the first. Of one that is very long only the beginning is kept."""
    position, rest, is_end = size, b"", True
    while position > floor:
        start = max(position - _BLOCK, floor)
        block = os.pread(descriptor, position - start, start)
        position = start
        first, *lines = block.split(b"\n")
        if not lines:
            rest = (first + rest)[:_LINE_BYTES]
            continue
        lines[-1] = (lines[-1] + rest)[:_LINE_BYTES]
        if is_end and not lines[-1]:
            lines.pop()
        is_end = False
        yield from (line[:_LINE_BYTES] for line in reversed(lines))
        rest = first[:_LINE_BYTES]
    if size > floor and (floor == 0) and (rest or not is_end):
        yield rest
