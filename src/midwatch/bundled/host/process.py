"""All about one process."""

from typing import Annotated

import psutil
from pydantic import Field

from midwatch.bundled.host.answers import Answer, Name, PathText, Shape, Unanswerable
from midwatch.bundled.host.processes import ProcessFacts, describe, name_process, watch
from midwatch.bundled.host.procfs import read_text

_MAX_CHILDREN = 30
_MAX_PORTS = 50
_LARGEST_PID = 2**31 - 1


class Child(Shape):
    pid: int
    name: Name


class Process(Answer, ProcessFacts):
    cwd: PathText | None = Field(description="Its working folder")
    open_files: int | None = Field(description="File descriptors in use, sockets and pipes included")
    open_files_limit: int | None = Field(description="At this many it can open nothing more")
    cgroup: PathText | None = Field(description="Names the systemd unit or the container it belongs to")
    children: list[Child]
    listening_ports: list[int]


def process(*, pid: Annotated[int, Field(ge=1, le=_LARGEST_PID, description="Its number")]) -> Process:
    """One process closely: its folder, how many files it has open and may have, its children, the ports it listens on.

    Use it after `processes` or `ports` has named a pid. Takes half a second. Its environment is never shown.
    """
    found = _find(pid)
    facts = next((described for each in watch([found]) if (described := describe(each)) is not None), None)
    if facts is None:
        raise _missing(pid)
    children = _list_children(found)
    details = _Details(found)
    return Process(
        **facts.model_dump(),
        cwd=details.read_folder(),
        open_files=details.count_files(),
        open_files_limit=parse_file_limit(read_text(f"/proc/{pid}/limits") or ""),
        cgroup=parse_group(read_text(f"/proc/{pid}/cgroup") or ""),
        children=children[:_MAX_CHILDREN],
        listening_ports=details.list_ports()[:_MAX_PORTS],
        truncated=len(children) > _MAX_CHILDREN,
        notes=[*details.notes, *([f"it has {len(children)} children"] if len(children) > _MAX_CHILDREN else [])],
    )


class _Details:
    """What only the owner of a process and root may read; what is refused becomes a note."""

    def __init__(self, process: psutil.Process) -> None:
        self._process = process
        self.notes: list[str] = []

    def read_folder(self) -> str | None:
        try:
            return self._process.cwd() or None
        except psutil.Error:
            return self._miss("its working folder")

    def count_files(self) -> int | None:
        try:
            return self._process.num_fds()
        except psutil.Error:
            return self._miss("its open files")

    def list_ports(self) -> list[int]:
        try:
            connections = self._process.net_connections(kind="inet")
        except psutil.Error:
            self._miss("its ports")
            return []
        return sorted({each.laddr.port for each in connections if each.laddr and each.status == psutil.CONN_LISTEN})

    def _miss(self, what: str) -> None:
        self.notes.append(f"{what} could not be read: it belongs to another user, or has just ended")


def parse_file_limit(limits: str) -> int | None:
    """The soft limit in /proc/PID/limits."""
    for line in limits.splitlines():
        if line.startswith("Max open files"):
            soft = line.removeprefix("Max open files").split()[0]
            return int(soft) if soft.isdecimal() else None
    return None


def parse_group(groups: str) -> str | None:
    """The most telling path of /proc/PID/cgroup: the one that goes deepest."""
    paths = [line.split(":", 2)[2] for line in groups.splitlines() if line.count(":") > 1]
    return max((path for path in paths if path != "/"), key=len, default=None)


def _find(pid: int) -> psutil.Process:
    try:
        return psutil.Process(pid)
    except psutil.NoSuchProcess as error:
        raise _missing(pid) from error


def _missing(pid: int) -> Unanswerable:
    return Unanswerable(f"there is no process {pid}, or it has just ended; `processes` lists those that run")


def _list_children(parent: psutil.Process) -> list[Child]:
    try:
        pids = [child.pid for child in parent.children()]
    except psutil.Error:
        return []
    return [Child(pid=pid, name=name) for pid in pids if (name := name_process(pid)) is not None]
