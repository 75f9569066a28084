"""A text cut into windows that are looked at one by one.

A window ends with a line where it can, and no pattern that needs one line only is torn. A line that is too long is cut
all the same: its windows overlap, and a match may reach beyond its window as far as the line goes.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

SIZE = 1536
"""Bytes: small enough that a hit costs little, large enough that asking is not all there is."""
OVERLAP = 1024
"""More than any secret needs to be known by: the rest of it may be as long as it likes."""
_LONG = 3072


class Window(NamedTuple):
    start: int
    stop: int
    limit: int
    """How far a match that begins in the window may reach."""


def cut_windows(data: bytes) -> Iterator[Window]:
    at, end = 0, len(data)
    while at < end:
        stop = end if end - at <= SIZE else data.rfind(b"\n", at, at + SIZE) + 1
        if stop:
            yield Window(at, stop, stop)
        else:
            stop = data.find(b"\n", at + SIZE) + 1 or end
            yield from cut_line(at, stop)
        at = stop


def cut_line(start: int, stop: int) -> Iterator[Window]:
    return _cut(Window(start, stop, stop))


def cut_around(data: bytes, places: Iterable[tuple[int, int]]) -> Iterator[Window]:
    """The lines at these places, which are in order; of a long line only what is near."""
    last = Window(0, 0, 0)
    for start, stop in places:
        near = _look_around(data, start, stop=stop, known=last.limit)
        if near.start < last.stop:
            last = Window(last.start, max(near.stop, last.stop), near.limit)
        else:
            yield from _cut(last)
            last = near
    yield from _cut(last)


def _look_around(data: bytes, start: int, *, stop: int, known: int) -> Window:
    """`known` is the end of an earlier line: many places in one long line do not look for it each."""
    from_here = max(0, start - _LONG)
    begin = max(from_here, data.rfind(b"\n", from_here, start) + 1)
    limit = known if stop <= known else data.find(b"\n", stop) + 1 or len(data)
    return Window(begin, min(limit, stop + _LONG), limit)


def _cut(whole: Window) -> Iterator[Window]:
    start, stop, limit = whole
    if start == stop:
        return
    if stop - start <= _LONG:
        yield whole
        return
    for at in range(start, stop - OVERLAP, _LONG - OVERLAP):
        yield Window(at, min(at + _LONG, stop), limit)
