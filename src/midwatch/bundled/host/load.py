"""How busy the processors are."""

import os
import time
from dataclasses import dataclass

import psutil
from pydantic import Field

from midwatch.bundled.host.answers import Answer, Percent, Shape
from midwatch.bundled.host.bounds import SAMPLE_SECONDS, percent
from midwatch.bundled.host.procfs import read_text


class LoadAverages(Shape):
    one_minute: float
    five_minutes: float
    fifteen_minutes: float


class Pressure(Shape):
    """Share of the last ten seconds in which some work waited for the resource."""

    cpu_some_avg10: Percent | None
    memory_some_avg10: Percent | None
    io_some_avg10: Percent | None


class Load(Answer, LoadAverages):
    processors: int
    cpu_busy_percent: Percent = Field(description="Of all processors together, during half a second")
    iowait_percent: Percent | None = Field(description="Time in which processors had nothing to do but wait for disks")
    pressure: Pressure | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Busyness:
    busy_percent: float
    iowait_percent: float | None


def load() -> Load:
    """How busy the machine is: load averages, how many processors share the load, and what work is waiting for.

    Use it first when something is slow. Takes half a second. A load average well above the number of processors means
    that work queues up; high `iowait_percent` or `io_some_avg10` says for disks. `processes` says who causes it.
    """
    busyness = sample_busyness()
    pressure = read_pressure()
    return Load(
        **read_averages().model_dump(),
        processors=count_processors(),
        cpu_busy_percent=busyness.busy_percent,
        iowait_percent=busyness.iowait_percent,
        pressure=pressure,
        notes=[] if pressure else ["this kernel does not tell pressure (/proc/pressure)"],
    )


def read_averages() -> LoadAverages:
    one, five, fifteen = (round(average, 2) for average in os.getloadavg())
    return LoadAverages(one_minute=one, five_minutes=five, fifteen_minutes=fifteen)


def count_processors() -> int:
    return os.cpu_count() or 1


def sample_busyness() -> Busyness:
    """Blocks for the length of a sample."""
    before = psutil.cpu_times()
    time.sleep(SAMPLE_SECONDS)
    after = psutil.cpu_times()
    spent = {name: max(getattr(after, name) - getattr(before, name), 0.0) for name in _COUNTED if hasattr(after, name)}
    total = sum(spent.values())
    idle = spent["idle"] + spent.get("iowait", 0.0)
    iowait = percent(spent["iowait"], total) if "iowait" in spent else None
    return Busyness(busy_percent=percent(total - idle, total), iowait_percent=iowait)


def read_pressure() -> Pressure | None:
    shares = {kind: parse_pressure(read_text(f"/proc/pressure/{kind}") or "") for kind in ("cpu", "memory", "io")}
    if all(share is None for share in shares.values()):
        return None
    return Pressure(cpu_some_avg10=shares["cpu"], memory_some_avg10=shares["memory"], io_some_avg10=shares["io"])


def parse_pressure(text: str) -> float | None:
    """The ten-second share of the line `some`."""
    for line in text.splitlines():
        kind, *pairs = line.split() or [""]
        share = next((pair for pair in pairs if pair.startswith("avg10=")), None)
        if kind == "some" and share is not None:
            return round(float(share.removeprefix("avg10=")), 1)
    return None


# The time of guests is counted as user time too; adding it would count it twice.
_COUNTED = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
