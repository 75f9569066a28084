"""The machine at a glance."""

import os
import platform
import time
from dataclasses import dataclass

import psutil
from pydantic import Field

from midwatch.bundled.host.answers import Answer, Name, Percent, Shape, Word, tell_time
from midwatch.bundled.host.bounds import percent
from midwatch.bundled.host.disks import Disk, measure_disks
from midwatch.bundled.host.load import LoadAverages, count_processors, read_averages, sample_busyness
from midwatch.bundled.host.mounts import read_mounts
from midwatch.bundled.host.services import ServiceBook

_MAX_DISKS = 5
_MAX_FAILED = 30


class MemorySummary(Shape):
    total_bytes: int
    available_bytes: int
    used_percent: Percent
    swap_total_bytes: int
    swap_used_bytes: int


class Overview(Answer):
    hostname: Name
    os: Name
    kernel: Name
    boot_time: Word
    uptime_seconds: int
    processors: int
    load: LoadAverages
    cpu_busy_percent: Percent = Field(description="Of all processors together, during half a second")
    memory: MemorySummary
    fullest_disks: list[Disk]
    failed_services: list[Name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookout:
    services: ServiceBook

    def overview(self) -> Overview:
        """The machine at a glance: what it is, how busy, how full, and which services have failed.

        Use it first. Takes about a second. Details are told by `load`, `memory`, `disks`, `services` and `processes`.
        """
        busyness = sample_busyness()
        disks, disk_notes = measure_disks(read_mounts())
        _, services, service_notes = self.services.look_up()
        failed = sorted(each.name for each in services if each.state == "failed")
        boot = psutil.boot_time()
        return Overview(
            hostname=platform.node(),
            os=_name_system(),
            kernel=os.uname().release,
            boot_time=tell_time(boot),
            uptime_seconds=int(time.time() - boot),
            processors=count_processors(),
            load=read_averages(),
            cpu_busy_percent=busyness.busy_percent,
            memory=_sum_up_memory(),
            fullest_disks=disks[:_MAX_DISKS],
            failed_services=failed[:_MAX_FAILED],
            truncated=len(failed) > _MAX_FAILED,
            notes=[*disk_notes, *service_notes],
        )


def _name_system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return f"{platform.system()} {platform.release()}"


def _sum_up_memory() -> MemorySummary:
    memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    return MemorySummary(
        total_bytes=memory.total,
        available_bytes=memory.available,
        used_percent=percent(memory.total - memory.available, memory.total),
        swap_total_bytes=swap.total,
        swap_used_bytes=swap.used,
    )
