"""Which processes run, and what they use."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Literal

import psutil
from pydantic import Field

from midwatch.bundled.host.answers import Command, Listing, Name, Percent, Shape, Word, tell_time
from midwatch.bundled.host.arguments import Text
from midwatch.bundled.host.bounds import SAMPLE_SECONDS, percent
from midwatch.bundled.host.procfs import note_hidden_processes

Order = Literal["cpu", "memory", "started"]


class ProcessFacts(Shape):
    pid: int
    parent_pid: int | None
    name: Name
    user: Name | None
    cpu_percent: float = Field(description="During half a second; 100 is one processor")
    rss_bytes: int
    memory_percent: Percent
    state: Word
    threads: int
    started_at: Word
    command: Command


class Processes(Listing):
    processes: list[ProcessFacts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Watched:
    """A process that was there during the whole sample."""

    process: psutil.Process
    cpu_percent: float
    cpu_seconds: float
    rss_bytes: int


def processes(
    *,
    sort: Annotated[Order, Field(description="What comes first: the busiest, the biggest, or the newest")] = "cpu",
    limit: Annotated[int, Field(ge=1, le=50, description="How many to show")] = 15,
    name_contains: Annotated[Text, Field(description="Only those with this in their name or command line")] = "",
    user: Annotated[Text, Field(description="Only those of this user")] = "",
) -> Processes:
    """Processes with what each uses of processor and memory, the busiest first.

    Use it to find what makes the machine slow or eats its memory, or whether a program runs at all. Takes about a
    second. Does not show open files, ports or children: ask `process` with a pid for those. A process that lived for
    less than half a second is missed.
    """
    matching = [each for each in find_processes() if _matches(each, name_contains.casefold(), user)]
    watched = sorted(watch(matching), key=_KEYS[sort], reverse=True)
    facts = _take(watched, limit)
    return Processes(
        processes=facts, total=len(watched), truncated=len(watched) > len(facts), notes=note_hidden_processes()
    )


def find_processes() -> list[psutil.Process]:
    found: list[psutil.Process] = []
    for pid in psutil.pids():
        try:
            found.append(psutil.Process(pid))
        except psutil.NoSuchProcess:
            continue
    return found


def watch(found: Iterable[psutil.Process]) -> list[Watched]:
    """Blocks for the length of a sample. Those that end meanwhile are left out."""
    before = [(process, _read_cpu_seconds(process), time.monotonic()) for process in found]
    time.sleep(SAMPLE_SECONDS)
    watched: list[Watched] = []
    for process, earlier, since in before:
        now, rss = _read_cpu_seconds(process), _read_rss(process)
        if earlier is None or now is None or rss is None:
            continue
        busy = max(now - earlier, 0.0)
        share = percent(busy, time.monotonic() - since)
        watched.append(Watched(process=process, cpu_percent=share, cpu_seconds=now, rss_bytes=rss))
    return watched


def describe(watched: Watched) -> ProcessFacts | None:
    """None when the process has ended."""
    process = watched.process
    try:
        with process.oneshot():
            return ProcessFacts(
                pid=process.pid,
                parent_pid=process.ppid() or None,
                name=process.name(),
                user=_read_user(process),
                cpu_percent=watched.cpu_percent,
                rss_bytes=watched.rss_bytes,
                memory_percent=percent(watched.rss_bytes, psutil.virtual_memory().total),
                state=process.status(),
                threads=process.num_threads(),
                started_at=tell_time(process.create_time()),
                command=_read_command(process),
            )
    except psutil.Error:
        return None


def name_process(pid: int | None) -> str | None:
    try:
        return None if pid is None else psutil.Process(pid).name()
    except psutil.Error:
        return None


def name_owner(pid: int | None) -> str | None:
    try:
        return None if pid is None else _read_user(psutil.Process(pid))
    except psutil.Error:
        return None


def _take(watched: Iterable[Watched], limit: int) -> list[ProcessFacts]:
    facts: list[ProcessFacts] = []
    for each in watched:
        if len(facts) == limit:
            break
        described = describe(each)
        if described is not None:
            facts.append(described)
    return facts


def _matches(process: psutil.Process, part: str, user: str) -> bool:
    try:
        if user and _read_user(process) != user:
            return False
        return not part or part in process.name().casefold() or part in _read_command(process).casefold()
    except psutil.Error:
        return False


def _read_cpu_seconds(process: psutil.Process) -> float | None:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return None
    return times.user + times.system


def _read_rss(process: psutil.Process) -> int | None:
    try:
        return process.memory_info().rss
    except psutil.Error:
        return None


def _read_user(process: psutil.Process) -> str | None:
    try:
        return process.username()
    except psutil.AccessDenied:
        return None


def _read_command(process: psutil.Process) -> str:
    """Kernel threads and zombies have none; they are written in brackets, as ps does."""
    try:
        return " ".join(process.cmdline()) or f"[{process.name()}]"
    except (psutil.ZombieProcess, psutil.AccessDenied):
        return f"[{process.name()}]"


def _started(watched: Watched) -> tuple[float, float]:
    return watched.process.create_time(), watched.cpu_percent


_KEYS: dict[Order, Callable[[Watched], tuple[float, float]]] = {
    "cpu": lambda watched: (watched.cpu_percent, watched.cpu_seconds),
    "memory": lambda watched: (watched.rss_bytes, watched.cpu_percent),
    "started": _started,
}
