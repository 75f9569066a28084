"""Services as their pid files tell: a file whose process is gone was left behind by one that crashed."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

from midwatch.bundled.host.answers import tell_time
from midwatch.bundled.host.files import open_below
from midwatch.bundled.host.service_facts import ServiceFacts

_MAX_FILES = 500
_MAX_FOLDERS = 2_000
_MAX_DEPTH = 3
_FILE_BYTES = 64
_SLACK_SECONDS = 60.0
_LARGEST_PID = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class PidFile:
    path: str
    pid: int
    written_at: float


def read_pid_files(roots: Sequence[str]) -> tuple[list[ServiceFacts], list[str]]:
    found: list[ServiceFacts] = []
    unreadable = 0
    for path in _find_files(roots):
        file = _read(path, roots)
        if file is None:
            unreadable += 1
        else:
            found.append(_describe(file))
    notes = [f"{unreadable} pid files could not be read or hold no number"] if unreadable else []
    return found, notes


def _find_files(roots: Sequence[str]) -> Iterator[str]:
    """Each root once: /var/run is mostly another name of /run."""
    waiting = [(root, 0) for root in dict.fromkeys(os.path.realpath(root) for root in roots)]
    found = visited = 0
    while waiting and visited < _MAX_FOLDERS:
        folder, depth = waiting.pop()
        visited += 1
        for entry in _list(folder):
            if entry.is_dir(follow_symlinks=False) and depth + 1 < _MAX_DEPTH:
                waiting.append((entry.path, depth + 1))
            elif entry.name.endswith(".pid") and entry.is_file(follow_symlinks=False) and found < _MAX_FILES:
                found += 1
                yield entry.path


def _list(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _read(path: str, roots: Sequence[str]) -> PidFile | None:
    try:
        with open_below(path, roots) as file:
            words = os.fsdecode(os.read(file.descriptor, _FILE_BYTES)).split()
    except OSError:
        return None
    pid = int(words[0]) if words and words[0].isdecimal() else 0
    return PidFile(path=path, pid=pid, written_at=file.state.st_mtime) if 0 < pid <= _LARGEST_PID else None


def _describe(file: PidFile) -> ServiceFacts:
    name = Path(file.path).name.removesuffix(".pid")
    written = f"its pid file was written {tell_time(file.written_at)}"
    try:
        process = psutil.Process(file.pid)
        started, program, status = process.create_time(), process.name(), process.status()
    except psutil.Error:
        return _failed(file, name, f"process {file.pid} is gone, {written}")
    if status == psutil.STATUS_ZOMBIE:
        return _failed(file, name, f"process {file.pid} has ended and waits for its parent to notice (zombie)")
    if started > file.written_at + _SLACK_SECONDS and not _resembles(name, program):
        return _failed(file, name, f"process {file.pid} is gone: the number now belongs to {program}, {written}")
    return ServiceFacts(
        name=name,
        state="running",
        detail=f"process {program} is alive ({status})",
        pid=file.pid,
        since=tell_time(started),
        exit_code=None,
        source=file.path,
    )


def _failed(file: PidFile, name: str, detail: str) -> ServiceFacts:
    return ServiceFacts(
        name=name, state="failed", detail=detail, pid=None, since=None, exit_code=None, source=file.path
    )


def _resembles(service: str, program: str) -> bool:
    first, second = service.casefold().rstrip("d"), program.casefold().rstrip("d")
    return bool(first and second) and (first in second or second in first)
