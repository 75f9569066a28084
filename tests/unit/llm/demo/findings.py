"""Answers of the tools in the shapes they have on a real machine."""

from typing import Any

GB = 1_000_000_000


def disk(mounted_on: str, percent: float, *, total: int = 100 * GB, **more: Any) -> dict[str, Any]:
    used = round(total * percent / 100)
    return {
        "mounted_on": mounted_on,
        "device": "/dev/sda1",
        "file_system": "ext4",
        "total_bytes": total,
        "used_bytes": used,
        "free_bytes": total - used,
        "used_percent": percent,
        "inodes_total": 1000,
        "inodes_used_percent": 3.0,
        "read_only": False,
        **more,
    }


def largest(path: str, sizes: dict[str, int], *, files: dict[str, int] | None = None) -> dict[str, Any]:
    base = path.rstrip("/")
    return {
        "path": path,
        "total_bytes": sum(sizes.values()),
        "entries": [
            {"name": name, "path": f"{base}/{name}", "is_folder": "." not in name, "size_bytes": size}
            for name, size in sizes.items()
        ],
        "largest_files": [
            {"path": name, "size_bytes": size, "modified_at": "2026-01-01T00:00:00Z"}
            for name, size in (files or {}).items()
        ],
        "files_seen": 10,
        "complete": True,
    }


def process(pid: int, name: str, *, cpu: float = 0.0, memory: float = 0.0, **more: Any) -> dict[str, Any]:
    return {
        "pid": pid,
        "parent_pid": 1,
        "name": name,
        "user": "app",
        "cpu_percent": cpu,
        "rss_bytes": round(memory * GB / 10),
        "memory_percent": memory,
        "state": "running",
        "threads": 1,
        "started_at": "2026-01-01T00:00:00Z",
        "command": f"/usr/bin/{name} --serve",
        **more,
    }


def service(name: str, state: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "state": state, "detail": None, "pid": None, "since": None, "exit_code": None, **more}


def services(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"manager": "systemd", "services": list(rows), "total": len(rows), "truncated": False}


def processes(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"processes": list(rows), "total": len(rows), "truncated": False}


def memory(used_percent: float, **more: Any) -> dict[str, Any]:
    total = 10 * GB
    return {
        "total_bytes": total,
        "available_bytes": round(total * (100 - used_percent) / 100),
        "used_bytes": round(total * used_percent / 100),
        "used_percent": used_percent,
        "swap_total_bytes": 0,
        "swap_used_bytes": 0,
        "limit_bytes": None,
        "limit_used_bytes": None,
        "oom_kills": None,
        **more,
    }


def load(one_minute: float, *, processors: int = 4, busy: float = 10.0, iowait: float = 0.0) -> dict[str, Any]:
    return {
        "one_minute": one_minute,
        "five_minutes": one_minute,
        "fifteen_minutes": one_minute,
        "processors": processors,
        "cpu_busy_percent": busy,
        "iowait_percent": iowait,
        "pressure": None,
    }


def overview(**more: Any) -> dict[str, Any]:
    return {
        "hostname": "web-1",
        "processors": 4,
        "load": {"one_minute": 0.2, "five_minutes": 0.2, "fifteen_minutes": 0.2},
        "cpu_busy_percent": 4.0,
        "memory": memory(31.0),
        "fullest_disks": [disk("/", 40.0)],
        "failed_services": [],
        **more,
    }


QUIET: dict[str, Any] = {
    "overview": overview(),
    "load": load(0.2),
    "memory": memory(31.0),
    "processes": processes(process(7, "sleepy", cpu=1.0, memory=2.0)),
    "disks": {"disks": [disk("/", 40.0), disk("/data", 12.0)]},
    "ports": {"ports": [], "total": 0, "truncated": False},
    "services": services(),
    "journal": {"entries": [], "truncated": False},
    "logs": {"roots": ["/var/log"], "files": [], "total": 0, "truncated": False},
    "kernel_messages": {"messages": [], "truncated": False},
    "containers": {"runtime": "docker", "containers": [], "total": 0, "truncated": False},
}
"""A machine on which nothing is wrong."""
