"""Log files below the allowed folders: which there are, and their last lines."""

import os
import stat
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from midwatch.bundled.host.answers import Line, Listing, PathText, Shape, Tail, Unanswerable, Word, tell_time
from midwatch.bundled.host.arguments import Text
from midwatch.bundled.host.files import OpenFile, OutOfBounds, open_below
from midwatch.bundled.host.tail import read_last_lines

DEFAULT_ROOTS = ("/var/log",)
_MAX_SHOWN = 50
_MAX_SEEN = 50_000
_SECONDS = 3.0
_SEARCHED_BYTES = 32 * 1024 * 1024
_READ_BYTES = 8 * 1024 * 1024
_PROBED_BYTES = 512
_COMPRESSED = (".gz", ".xz", ".bz2", ".zst", ".lz4", ".zip", ".lzma", ".br")
_MAGIC = (b"\x1f\x8b", b"\xfd7zXZ", b"BZh", b"\x28\xb5\x2f\xfd", b"PK\x03\x04")


class LogFile(Shape):
    path: PathText
    size_bytes: int
    modified_at: Word
    compressed: bool = Field(description="`read_log` does not unpack it")


class Logs(Listing):
    roots: list[PathText]
    files: list[LogFile]


class LogLines(Tail):
    path: PathText
    lines: list[Line] = Field(description="Oldest first")
    size_bytes: int
    modified_at: Word


@dataclass(frozen=True, slots=True, kw_only=True)
class LogShelf:
    """The log files below `roots`, and no others."""

    roots: Sequence[str] = DEFAULT_ROOTS

    def logs(self, *, contains: Annotated[Text, Field(description="Only paths with this in them")] = "") -> Logs:
        """Log files below the allowed folders, those written last first.

        Use it to find the file for `read_log`. Takes up to three seconds on a very large tree. What services write to
        the systemd journal is not in files: see `journal`; output of containers: see `container_logs`.
        """
        search = _Search(contains.casefold())
        found = sorted(search.walk(self.roots), key=lambda file: file[1].st_mtime, reverse=True)
        return Logs(
            roots=list(self.roots),
            files=[_describe(path, state) for path, state in found[:_MAX_SHOWN]],
            total=len(found),
            truncated=len(found) > _MAX_SHOWN,
            notes=search.tell(self.roots),
        )

    def read_log(
        self,
        *,
        path: Annotated[str, Field(min_length=1, max_length=4096, description="As `logs` tells it")],
        lines: Annotated[int, Field(ge=1, le=400, description="How many lines from the end")] = 50,
        contains: Annotated[Text, Field(description="Only lines with this in them, in any case")] = "",
    ) -> LogLines:
        """The last lines of one log file, oldest first; with `contains` the last ones that hold the text.

        Costs little; a search looks through the last 32 MB. Only regular files below the allowed folders, and long
        lines are clipped. Compressed and binary files are not shown.
        """
        try:
            with open_below(path, self.roots) as file:
                return _read(file, count=lines, contains=contains)
        except (OutOfBounds, ValueError) as error:
            allowed = ", ".join(self.roots)
            raise Unanswerable(
                f"only regular files below {allowed} can be read ({error}); `logs` lists them"
            ) from error
        except OSError as error:
            raise Unanswerable(f"{path!r} cannot be read: {error.strerror}; `logs` lists what there is") from error


class _Search:
    def __init__(self, part: str) -> None:
        self._part = part
        self._deadline = time.monotonic() + _SECONDS
        self._closed = 0
        self._seen = 0
        self._stopped = False

    def walk(self, roots: Sequence[str]) -> Iterator[tuple[str, os.stat_result]]:
        waiting = list(dict.fromkeys(os.path.realpath(root) for root in roots))
        while waiting and not self._stopped:
            for path, state in self._list(waiting.pop()):
                if stat.S_ISDIR(state.st_mode):
                    waiting.append(path)
                elif stat.S_ISREG(state.st_mode) and self._part in path.casefold():
                    yield path, state

    def tell(self, roots: Sequence[str]) -> list[str]:
        notes = [f"{root} does not exist" for root in roots if not Path(root).is_dir()]
        if self._closed:
            notes.append(f"{self._closed} folders or files could not be read (no permission, or gone meanwhile)")
        if self._stopped:
            notes.append(f"stopped after {self._seen} entries: there may be more files")
        return notes

    def _list(self, folder: str) -> Iterator[tuple[str, os.stat_result]]:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    self._seen += 1
                    self._stopped = self._seen >= _MAX_SEEN or time.monotonic() > self._deadline
                    if self._stopped:
                        return
                    yield entry.path, entry.stat(follow_symlinks=False)
        except OSError:
            self._closed += 1


def _describe(path: str, state: os.stat_result) -> LogFile:
    return LogFile(
        path=path,
        size_bytes=state.st_size,
        modified_at=tell_time(state.st_mtime),
        compressed=path.casefold().endswith(_COMPRESSED),
    )


def _read(file: OpenFile, *, count: int, contains: str) -> LogLines:
    size, unfit = file.state.st_size, _find_unfit(file)
    reach = _SEARCHED_BYTES if contains else _READ_BYTES
    if unfit is None:
        found = read_last_lines(file.descriptor, size=size, count=count, contains=contains, max_bytes=reach)
        lines, reached_start = found.lines, found.reached_start
    else:
        lines, reached_start = [], True
    notes = [unfit] if unfit else []
    if not reached_start and len(lines) < count:
        notes.append(f"only the last {reach} of {size} bytes were looked through")
    return LogLines(
        path=file.path,
        lines=lines,
        size_bytes=size,
        modified_at=tell_time(file.state.st_mtime),
        truncated=not reached_start,
        notes=notes,
    )


def _find_unfit(file: OpenFile) -> str | None:
    """The end decides what is binary: a log that was cut while its writer went on begins with NULs."""
    head = os.pread(file.descriptor, _PROBED_BYTES, 0)
    end = os.pread(file.descriptor, _PROBED_BYTES, max(file.state.st_size - _PROBED_BYTES, 0))
    if file.path.casefold().endswith(_COMPRESSED) or head.startswith(_MAGIC):
        return "the file is compressed and is not unpacked here; newer lines are in the file it was rotated from"
    if b"\x00" in end:
        return "the file is binary; for *.journal use `journal`"
    return None
