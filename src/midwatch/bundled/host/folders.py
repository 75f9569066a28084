"""What fills a folder."""

import heapq
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from midwatch.bundled.host.answers import Listing, Name, PathText, Shape, Unanswerable, Word, tell_time

_SECONDS = 5.0
_MAX_SEEN = 1_000_000
_MAX_LINKS = 200_000
_BLOCK = 512
_CLOCK_EVERY = 256
_MAX_NAMED = 5


class Entry(Shape):
    name: Name
    path: PathText
    is_folder: bool
    size_bytes: int = Field(description="On disk, with everything in it")


class LargeFile(Shape):
    path: PathText
    size_bytes: int = Field(description="On disk; a file with holes takes less than its length")
    modified_at: Word


class Largest(Listing):
    path: PathText
    total_bytes: int
    entries: list[Entry]
    largest_files: list[LargeFile]
    files_seen: int
    complete: bool = Field(description="false: it stopped early, and sizes are at least what is said")


def largest(
    *,
    path: Annotated[
        str, Field(pattern="^/", max_length=4096, description="An absolute path of a folder, such as /var")
    ],
    limit: Annotated[int, Field(ge=1, le=50, description="How many entries, and how many files, to show")] = 15,
) -> Largest:
    """What fills a folder: its entries by size with all they hold, and the largest single files anywhere below.

    Use it on the `mounted_on` of a full disk and work downwards. Stays on the folder's own file system. Takes up to
    five seconds on a large tree and then says `complete: false`. Names and sizes only, never contents. Files that are
    deleted but still open take space that is not seen here: see `deleted_files`.
    """
    folder = os.path.realpath(path)
    walk = _Walk(_stat_folder(folder), limit=limit)
    walk.measure(folder)
    return Largest(
        path=folder,
        total_bytes=walk.total_bytes,
        entries=[
            Entry(name=Path(each.path).name, path=each.path, is_folder=each.is_folder, size_bytes=each.size)
            for each in sorted(walk.entries, reverse=True)
        ],
        largest_files=[
            LargeFile(path=each.path, size_bytes=each.size, modified_at=tell_time(each.modified))
            for each in sorted(walk.files, reverse=True)
        ],
        files_seen=walk.files_seen,
        complete=not walk.stopped,
        total=walk.entries_seen,
        truncated=walk.entries_seen > len(walk.entries),
        notes=walk.tell(),
    )


class _Measured(NamedTuple):
    """Compared by size first: the smallest is what a full heap drops."""

    size: int
    path: str
    modified: float
    is_folder: bool


class _Walk:
    """One walk over a tree, with what it has found so far."""

    def __init__(self, top: os.stat_result, *, limit: int) -> None:
        self._device = top.st_dev
        self._limit = limit
        self._deadline = time.monotonic() + _SECONDS
        self._links: set[int] = set()
        self._seen = 0
        self._closed = 0
        self._other_systems: list[str] = []
        self.total_bytes = top.st_blocks * _BLOCK
        self.entries: list[_Measured] = []
        self.entries_seen = 0
        self.files: list[_Measured] = []
        self.files_seen = 0
        self.stopped = False

    def measure(self, folder: str) -> None:
        for entry, state in self._list(folder):
            is_folder = stat.S_ISDIR(state.st_mode)
            size = self._count(entry.path, state) + (self._measure_below(entry.path) if is_folder else 0)
            self.entries_seen += 1
            self.total_bytes += size
            self._keep(self.entries, _Measured(size, entry.path, state.st_mtime, is_folder))

    def tell(self) -> list[str]:
        notes: list[str] = []
        if self.stopped:
            notes.append(f"stopped after {self.files_seen} files; ask about a folder further down for exact sizes")
        if self._closed:
            notes.append(f"{self._closed} folders or files could not be read (no permission, or gone meanwhile)")
        if self._other_systems:
            named = ", ".join(self._other_systems[:_MAX_NAMED])
            notes.append(f"{len(self._other_systems)} other file systems below were left out: {named}")
        return notes

    def _measure_below(self, folder: str) -> int:
        size, waiting = 0, [folder]
        while waiting:
            for entry, state in self._list(waiting.pop()):
                size += self._count(entry.path, state)
                if stat.S_ISDIR(state.st_mode):
                    waiting.append(entry.path)
        return size

    def _list(self, folder: str) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if self._is_over():
                        return
                    yield from self._look(entry)
        except OSError:
            self._closed += 1

    def _look(self, entry: os.DirEntry[str]) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
        try:
            state = entry.stat(follow_symlinks=False)
        except OSError:
            self._closed += 1
            return
        if state.st_dev == self._device:
            yield entry, state
        else:
            self._other_systems.append(entry.path)

    def _is_over(self) -> bool:
        self._seen += 1
        if self._seen % _CLOCK_EVERY == 0 and (self._seen >= _MAX_SEEN or time.monotonic() > self._deadline):
            self.stopped = True
        return self.stopped

    def _count(self, path: str, state: os.stat_result) -> int:
        """The space it takes; of a file with several names, only once."""
        if not stat.S_ISDIR(state.st_mode):
            self.files_seen += 1
            if state.st_nlink > 1:
                if state.st_ino in self._links:
                    return 0
                if len(self._links) < _MAX_LINKS:
                    self._links.add(state.st_ino)
        size = state.st_blocks * _BLOCK
        if stat.S_ISREG(state.st_mode):
            self._keep(self.files, _Measured(size, path, state.st_mtime, is_folder=False))
        return size

    def _keep(self, heap: list[_Measured], item: _Measured) -> None:
        heapq.heappush(heap, item)
        if len(heap) > self._limit:
            heapq.heappop(heap)


def _stat_folder(folder: str) -> os.stat_result:
    try:
        state = Path(folder).stat()
    except (OSError, ValueError) as error:
        raise Unanswerable(
            f"{folder!r} cannot be looked at: {getattr(error, 'strerror', None) or 'not a path'}"
        ) from error
    if not stat.S_ISDIR(state.st_mode):
        raise Unanswerable(f"{folder!r} is a file of {state.st_size} bytes, not a folder")
    return state
