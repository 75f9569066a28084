"""Bytes told in terms of the bytes before them: what both share is named, what is new is spelt out.

Made for a text that grows at its end, or before a fixed end, and may lose a few bytes in between.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field

_BLOCK = 65_536
_ANCHOR = 64
"""So many equal bytes are no coincidence."""
_REACH = 256
"""How far behind a difference it may go on as before."""
_MOST_HEADS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    heads: tuple[tuple[int, int], ...]
    """From where to where in the old bytes, for everything before the new ones."""
    literal: bytes = field(repr=False)
    tail: int
    """How many of the last old bytes follow."""

    @property
    def shared_start(self) -> int:
        """How many bytes at the very beginning are the same."""
        return self.heads[0][1] if self.heads and self.heads[0][0] == 0 else 0


def make_delta(old: bytes, new: bytes) -> Delta:
    heads = tuple(_find_heads(old, new))
    at = heads[-1][1] if heads else 0
    done = sum(end - start for start, end in heads)
    tail = _count_equal_at_end(old, new, most=min(len(old) - at, len(new) - done))
    return Delta(heads=heads, literal=new[done : len(new) - tail], tail=tail)


def apply_delta(old: bytes, delta: Delta) -> bytes:
    heads = (old[start:end] for start, end in delta.heads)
    return b"".join((*heads, delta.literal, old[len(old) - delta.tail :]))


class RunningDigest:
    """SHA-256 of bytes that begin as those before did; what has been hashed is not hashed again."""

    def __init__(self) -> None:
        self._start = hashlib.sha256()
        self._length = 0

    def digest(self, data: bytes, *, shared: int) -> bytes:
        """`shared` is how many bytes at the beginning are those of the last time."""
        if self._length > shared:
            self._start, self._length = hashlib.sha256(), 0
        view = memoryview(data)
        self._start.update(view[self._length : shared])
        self._length = shared
        whole = self._start.copy()
        whole.update(view[shared:])
        return whole.digest()


def _find_heads(old: bytes, new: bytes) -> Iterator[tuple[int, int]]:
    at = done = 0
    for _ in range(_MOST_HEADS):
        equal = _count_equal(old, new, at=at, done=done)
        if equal:
            yield at, at + equal
            at, done = at + equal, done + equal
        anchor = new[done : done + _ANCHOR]
        at = old.find(anchor, at, at + _REACH) if len(anchor) == _ANCHOR else -1
        if at < 0:
            return


def _count_equal(old: bytes, new: bytes, *, at: int, done: int) -> int:
    most = min(len(old) - at, len(new) - done)
    count = 0
    while count < most:
        size = min(_BLOCK, most - count)
        left, right = old[at + count : at + count + size], new[done + count : done + count + size]
        if left != right:
            return count + _bisect(left, right)
        count += size
    return count


def _count_equal_at_end(old: bytes, new: bytes, *, most: int) -> int:
    count = 0
    while count < most:
        size = min(_BLOCK, most - count)
        left = old[len(old) - count - size : len(old) - count]
        right = new[len(new) - count - size : len(new) - count]
        if left != right:
            return count + _bisect(left[::-1], right[::-1])
        count += size
    return count


def _bisect(left: bytes, right: bytes) -> int:
    """Where two texts of one length differ first; they do."""
    low, high = 0, len(left)
    while high - low > 1:
        middle = (low + high) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle
    return low
