"""What the rules may want to know, and by which names and words a tool that tells it is recognised."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Need(StrEnum):
    """The value is the name of the tool in the server that comes with Midwatch."""

    OVERVIEW = "overview"
    LOAD = "load"
    MEMORY = "memory"
    PROCESSES = "processes"
    PROCESS = "process"
    DISKS = "disks"
    LARGEST = "largest"
    DELETED_FILES = "deleted_files"
    PORTS = "ports"
    SERVICES = "services"
    JOURNAL = "journal"
    LOGS = "logs"
    READ_LOG = "read_log"
    KERNEL_MESSAGES = "kernel_messages"
    CONTAINERS = "containers"
    CONTAINER_LOGS = "container_logs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    title: str
    aliases: frozenset[str] = frozenset()
    phrases: tuple[str, ...] = ()
    """Any of them in the first sentence of a description will do."""
    essential: frozenset[str] = field(default_factory=frozenset[str])
    """Arguments without which the answer would be about something else."""


PROFILES: Mapping[Need, Profile] = {
    Need.OVERVIEW: Profile(
        title="the machine as a whole",
        aliases=frozenset({"system_overview", "system_info", "get_system_info", "host_overview", "host_info"}),
        phrases=(
            "overview of the machine",
            "overview of this machine",
            "overview of the host",
            "overview of the system",
        ),
    ),
    Need.LOAD: Profile(
        title="the load and how busy the processors are",
        aliases=frozenset({"load_average", "get_load", "cpu", "cpu_load", "cpu_usage", "get_cpu_usage"}),
        phrases=("load average", "cpu usage", "cpu load"),
    ),
    Need.MEMORY: Profile(
        title="memory and swap",
        aliases=frozenset({"memory_usage", "get_memory", "get_memory_usage", "mem", "free"}),
        phrases=("memory usage", "memory and swap", "how much memory"),
    ),
    Need.PROCESSES: Profile(
        title="the running processes",
        aliases=frozenset({"list_processes", "process_list", "top_processes", "get_processes", "ps", "top"}),
        phrases=("processes",),
    ),
    Need.PROCESS: Profile(
        title="a process more closely",
        aliases=frozenset({"get_process", "process_info", "process_details", "inspect_process"}),
        phrases=("one process", "a single process", "a process"),
        essential=frozenset({"pid"}),
    ),
    Need.DISKS: Profile(
        title="how full the file systems are",
        aliases=frozenset({"disk_usage", "get_disk_usage", "list_disks", "filesystems", "file_systems", "df"}),
        phrases=("file systems", "filesystems", "disk usage", "disk space"),
    ),
    Need.LARGEST: Profile(
        title="what fills a folder",
        aliases=frozenset({"largest_files", "biggest_files", "folder_sizes", "directory_sizes", "du"}),
        phrases=("what fills a folder", "largest files", "biggest files", "folder sizes", "directory sizes"),
        essential=frozenset({"path"}),
    ),
    Need.DELETED_FILES: Profile(
        title="deleted files that are still open",
        aliases=frozenset({"deleted_open_files", "open_deleted_files"}),
        phrases=("deleted but still open", "deleted files"),
    ),
    Need.PORTS: Profile(
        title="who listens on which port",
        aliases=frozenset({"list_ports", "listening_ports", "open_ports", "get_ports", "ss", "netstat"}),
        phrases=("listening sockets", "listening ports", "open ports"),
    ),
    Need.SERVICES: Profile(
        title="the services and their states",
        aliases=frozenset({"list_services", "service_status", "get_services", "systemd_units", "list_units"}),
        phrases=("services", "systemd units"),
    ),
    Need.JOURNAL: Profile(
        title="the journal",
        aliases=frozenset({"read_journal", "journal_entries", "journalctl", "get_journal"}),
        phrases=("systemd journal", "the journal"),
    ),
    Need.LOGS: Profile(
        title="which log files there are",
        aliases=frozenset({"list_logs", "log_files", "list_log_files"}),
        phrases=("log files",),
    ),
    Need.READ_LOG: Profile(
        title="the end of a log file",
        aliases=frozenset({"tail_log", "read_log_file", "tail_log_file", "log_tail"}),
        phrases=("lines of a log", "tail of a log", "end of a log"),
        essential=frozenset({"path"}),
    ),
    Need.KERNEL_MESSAGES: Profile(
        title="messages of the kernel",
        aliases=frozenset({"dmesg", "kernel_log", "get_kernel_messages", "read_dmesg"}),
        phrases=("kernel messages", "kernel log", "messages of the kernel", "kernel ring buffer"),
    ),
    Need.CONTAINERS: Profile(
        title="the containers",
        aliases=frozenset({"list_containers", "container_list", "get_containers", "docker_ps"}),
        phrases=("containers",),
    ),
    Need.CONTAINER_LOGS: Profile(
        title="the log of a container",
        aliases=frozenset({"get_container_logs", "read_container_logs", "docker_logs"}),
        phrases=("logs of a container", "log of a container", "container logs", "lines of a container"),
        essential=frozenset({"name"}),
    ),
}

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "sort": ("sort", "sort_by", "order_by", "order"),
    "limit": ("limit", "count", "max_results", "top", "n"),
    "lines": ("lines", "tail", "line_count", "limit", "n"),
    "path": ("path", "directory", "dir", "folder", "file", "filename"),
    "pid": ("pid", "process_id"),
    "port": ("port", "port_number"),
    "name_contains": ("name_contains", "name", "filter", "pattern", "query"),
    "contains": ("contains", "filter", "grep", "pattern", "query", "search"),
    "unit": ("unit", "unit_name", "service", "name"),
    "state": ("state", "status"),
    "all": ("all", "include_stopped"),
    "name": ("name", "container", "container_name", "container_id", "id"),
    "priority": ("priority", "level", "severity"),
    "since_minutes": ("since_minutes", "minutes"),
}
"""How others may call an argument, the likeliest first."""
