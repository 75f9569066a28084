"""Space that no folder shows: files that are deleted but still open somewhere."""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from pydantic import Field

from midwatch.bundled.host.answers import Listing, Name, PathText, Shape
from midwatch.bundled.host.processes import name_process
from midwatch.bundled.host.procfs import note_hidden_processes, note_other_users

_MARK = " (deleted)"
_IN_MEMORY = ("/memfd:", "/SYSV", "/dev/", "/drm ", "/[aio]", "/anon_hugepage", "/i915")
_BLOCK = 512


class DeletedFile(Shape):
    pid: int = Field(description="The process that holds it open; when several do, one of them")
    process: Name | None
    path: PathText = Field(description="Where it was")
    size_bytes: int = Field(description="On disk, until the process closes it or ends")


class DeletedFiles(Listing):
    files: list[DeletedFile]
    total_bytes: int


def deleted_files(*, limit: Annotated[int, Field(ge=1, le=50, description="How many to show")] = 15) -> DeletedFiles:
    """Files that were deleted while a process still has them open, the largest first: their space is not free yet.

    Use it when `disks` shows a file system fuller than `largest` can explain, as after a log was removed but its
    writer not restarted. Looks through the open files of every process, which takes a second or so on a busy machine.
    Files that are only mapped into memory, such as replaced libraries, are not counted.
    """
    found, notes = _find()
    found.sort(key=lambda file: file[0], reverse=True)
    shown = [
        DeletedFile(pid=pid, process=name_process(pid), path=path, size_bytes=size) for size, pid, path in found[:limit]
    ]
    return DeletedFiles(
        files=shown,
        total_bytes=sum(size for size, _, _ in found),
        total=len(found),
        truncated=len(found) > len(shown),
        notes=notes,
    )


def _find() -> tuple[list[tuple[int, int, str]], list[str]]:
    if not Path("/proc/self/fd").is_dir():
        return [], ["this system does not tell which files are open (no /proc)"]
    once = {identity: (size, pid, path) for pid, path, size, identity in _walk_descriptors()}
    return list(once.values()), [
        *note_other_users("files held open by other users' processes are not seen"),
        *note_hidden_processes(),
    ]


def _walk_descriptors() -> Iterator[tuple[int, str, int, tuple[int, int]]]:
    for pid in _list_pids():
        for link in _list_descriptors(pid):
            try:
                target = str(link.readlink())
                if not target.endswith(_MARK) or target.startswith(_IN_MEMORY):
                    continue
                state = link.stat()
            except OSError:
                continue
            if stat.S_ISREG(state.st_mode) and state.st_nlink == 0:
                yield pid, target.removesuffix(_MARK), state.st_blocks * _BLOCK, (state.st_dev, state.st_ino)


def _list_pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _list_descriptors(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return []
