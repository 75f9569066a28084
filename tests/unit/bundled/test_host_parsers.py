"""What the server makes of the words of the kernel, systemd, the journal and container runtimes."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.bundled.host.container_facts import name_runtime, parse_container, parse_restarts
from midwatch.bundled.host.container_output import split_output
from midwatch.bundled.host.disks import choose_disks
from midwatch.bundled.host.journal import parse_entries
from midwatch.bundled.host.kernel import parse_record
from midwatch.bundled.host.load import parse_pressure
from midwatch.bundled.host.memory import find_limited_group
from midwatch.bundled.host.mounts import Mount, parse_mounts
from midwatch.bundled.host.process import parse_file_limit, parse_group
from midwatch.bundled.host.procfs import parse_counters
from midwatch.bundled.host.systemd import parse_services
from tests.fakes.container_runtime import frame

SERVICES = """\
Id=nginx.service
Description=A web server
LoadState=loaded
ActiveState=active
SubState=running
Result=success
MainPID=812
ExecMainCode=0
ExecMainStatus=0
NRestarts=0
StateChangeTimestamp=Fri 2025-11-14 08:54:10 UTC
FragmentPath=/lib/systemd/system/nginx.service

Id=payments.service
Description=Payments = money
LoadState=loaded
ActiveState=failed
SubState=failed
Result=exit-code
MainPID=0
ExecMainCode=1
ExecMainStatus=3
NRestarts=5
StateChangeTimestamp=Fri 2025-11-14 09:00:00 UTC
FragmentPath=/etc/systemd/system/payments.service

Id=worker.service
LoadState=loaded
ActiveState=activating
SubState=auto-restart
Result=oom-kill
MainPID=0
ExecMainCode=2
ExecMainStatus=9
NRestarts=41
StateChangeTimestamp=

Id=setup.service
LoadState=loaded
ActiveState=active
SubState=exited

Id=gone.service
LoadState=not-found
ActiveState=inactive
SubState=dead
"""


def test_services_are_read_from_what_systemctl_shows() -> None:
    running, failed, looping, finished = parse_services(SERVICES)
    assert running.model_dump() == {
        "name": "nginx.service",
        "state": "running",
        "detail": "active (running), A web server",
        "pid": 812,
        "since": "2025-11-14T08:54:10Z",
        "exit_code": None,
        "source": "/lib/systemd/system/nginx.service",
    }
    assert (failed.state, failed.exit_code, failed.pid) == ("failed", 3, None)
    assert failed.detail == "failed (failed), result exit-code, 5 restarts, Payments = money"
    assert (looping.state, looping.exit_code, looping.since, looping.source) == ("failed", None, None, "systemd")
    assert looping.detail == "activating (auto-restart), result oom-kill, ended by signal 9, 41 restarts"
    assert (finished.state, finished.detail) == ("stopped", "active (exited)")


@pytest.mark.parametrize(
    ("text", "names"),
    [("", []), ("\n\n\n", []), ("nonsense", []), ("=\n=", []), ("MainPID=x\nId=a", ["a"])],
)
def test_odd_output_of_systemctl_breaks_nothing(text: str, names: list[str]) -> None:
    services = list(parse_services(text))
    assert [found.name for found in services] == names
    assert all(found.pid is None for found in services)


def entry(**fields: Any) -> str:
    return json.dumps({"__REALTIME_TIMESTAMP": "1763110450123456", "MESSAGE": "ready", **fields})


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (entry(PRIORITY="3", _SYSTEMD_UNIT="a.service"), ("a.service", "err", "ready")),
        (entry(SYSLOG_IDENTIFIER="cron", PRIORITY="4"), ("cron", "warning", "ready")),
        (entry(_SYSTEMD_UNIT="init.scope", UNIT="a.service"), ("init.scope", "info", "ready")),
        (entry(MESSAGE=[104, 255, 105]), (None, "info", "h\ufffdi")),
        (entry(MESSAGE=["first", "second"]), (None, "info", "second")),
        (entry(MESSAGE=None), (None, "info", "(empty, or too long for journalctl to tell)")),
        (entry(MESSAGE="\x1b[31mred\x1b[0m\x07"), (None, "info", "red\ufffd")),
    ],
)
def test_an_entry_of_the_journal_is_read(line: str, expected: tuple[str | None, str, str]) -> None:
    (read,) = parse_entries(line)
    assert (read.unit, read.priority, read.message) == expected
    assert read.time == "2025-11-14T08:54:10Z"


def test_lines_that_are_no_entries_are_left_out() -> None:
    cut = entry()[:20]
    text = "\n".join(["-- No entries --", "[]", "3", '{"MESSAGE": "no time"}', entry(PRIORITY="x"), entry(), cut])
    assert len(list(parse_entries(text))) == 1


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ("6,339,5140900,-;NET: Registered\n SUBSYSTEM=acpi\n", ("info", "NET: Registered", "1970-01-01T00:16:45Z")),
        ("3,1,0,-;I/O error; sector 7\n", ("err", "I/O error; sector 7", "1970-01-01T00:16:40Z")),
        ("30,2,0,c,caller=T1;from user\\x09space\n", ("info", "from user\tspace", "1970-01-01T00:16:40Z")),
        ("", None),
        ("no separator", None),
        ("x,y,z,-;text", None),
    ],
)
def test_a_record_of_the_kernel_is_read(record: str, expected: tuple[str, str, str] | None) -> None:
    message = parse_record(record, started=1000.0)
    assert (message and (message.level, message.text, message.time)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("some avg10=2.36 avg60=1.00 avg300=1.65 total=2054\nfull avg10=9.00 avg60=0 avg300=0 total=0\n", 2.4),
        ("full avg10=9.00 avg60=0 avg300=0 total=0\n", None),
        ("", None),
        ("\n", None),
    ],
)
def test_pressure_is_the_share_in_which_some_waited(text: str, expected: float | None) -> None:
    assert parse_pressure(text) == expected


def test_mounts_are_read_in_their_order_with_odd_names() -> None:
    table = (
        "/dev/sda1 / ext4 rw,relatime 0 0\n//nas/my\\040share /mnt/a\\040b\\134c cifs ro,user=x 0 0\n\nbroken line\n"
    )
    assert parse_mounts(table) == [
        Mount(device="/dev/sda1", folder="/", kind="ext4", options="rw,relatime"),
        Mount(device="//nas/my share", folder="/mnt/a b\\c", kind="cifs", options="ro,user=x"),
    ]


def test_each_disk_is_measured_once_and_images_never() -> None:
    table = """\
/dev/sda1 / ext4 rw 0 0
/dev/sda1 /srv/again ext4 rw 0 0
proc /proc proc rw 0 0
/dev/loop3 /snap/core/1 squashfs ro 0 0
overlay /var/lib/docker/overlay2/x/merged overlay rw 0 0
tmpfs /run tmpfs rw 0 0
tmpfs /tmp tmpfs rw 0 0
tank/data /data zfs rw 0 0
nas:/export /nas nfs4 rw 0 0
"""
    assert [mount.folder for mount in choose_disks(parse_mounts(table))] == ["/", "/run", "/tmp", "/data", "/nas"]
    inside = parse_mounts("overlay / overlay rw 0 0\nshm /dev/shm tmpfs rw 0 0\n")
    assert [mount.folder for mount in choose_disks(inside)] == ["/", "/dev/shm"]


@pytest.mark.parametrize(
    ("membership", "files", "expected"),
    [
        ("0::/\n", {}, None),
        ("0::/\n", {"memory.max": "1000", "memory.current": "400"}, (1000, 400)),
        ("0::/a/b\n", {"a/memory.max": "500", "a/memory.current": "7", "a/b/memory.max": "900"}, (500, 7)),
        ("0::/a\n", {"a/memory.max": "max", "a/memory.current": "7"}, None),
        ("4:memory:/job\n", {"memory/job/memory.limit_in_bytes": "2000"}, (2000, None)),
        ("4:memory:/job\n", {"memory/job/memory.limit_in_bytes": "9223372036854771712"}, None),
        ("0::/../../up\n", {"memory.max": "30", "memory.current": "1"}, (30, 1)),
        ("nonsense", {}, None),
    ],
)
def test_the_tightest_memory_limit_counts(
    tmp_path: Path, membership: str, files: dict[str, str], expected: tuple[int, int | None] | None
) -> None:
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    assert find_limited_group(membership, tmp_path) == expected


def test_limits_groups_and_counters_of_processes_are_read() -> None:
    limits = "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 4096         files\n"
    assert parse_file_limit(limits) == 1024
    assert parse_file_limit(limits.replace("1024 ", "unlimited ")) is None
    assert parse_file_limit("") is None
    assert parse_group("9:pids:/\n0::/system.slice/nginx.service\n") == "/system.slice/nginx.service"
    assert parse_group("0::/\n") is None
    assert parse_counters("oom_kill 3\nodd line here\nnr_x -1\n") == {"oom_kill": 3}


ROW = {
    "Id": "0123456789abcdef",
    "Names": ["/web"],
    "Image": "nginx:1.27",
    "State": "running",
    "Status": "Up 3 hours (healthy)",
    "Ports": [
        {"IP": "0.0.0.0", "PrivatePort": 80, "PublicPort": 8080, "Type": "tcp"},
        {"IP": "::", "PrivatePort": 80, "PublicPort": 8080, "Type": "tcp"},
        {"PrivatePort": 443, "Type": "tcp"},
    ],
    "Labels": {"unread": "yes"},
}


def test_a_container_is_read_from_the_runtimes_words() -> None:
    assert parse_container(ROW).model_dump() == {
        "id": "0123456789ab",
        "name": "web",
        "image": "nginx:1.27",
        "state": "running",
        "status": "Up 3 hours (healthy)",
        "restarts": None,
        "ports": ["0.0.0.0:8080->80/tcp", "[::]:8080->80/tcp"],
    }
    assert parse_container({"Id": "f" * 64, "Names": None, "Ports": None}).name == "f" * 12


@pytest.mark.parametrize("row", [{}, [], "text", None, {"Id": 3}, {"Id": "x", "Ports": [{"PrivatePort": "no"}]}])
def test_what_is_no_container_is_refused(row: Any) -> None:
    with pytest.raises(ValueError, match="validation error"):
        parse_container(row)


def test_runtimes_and_restarts_are_told_apart() -> None:
    assert name_runtime({"Version": "27.1", "Components": [{"Name": "Engine"}]}) == "docker 27.1"
    assert name_runtime({"Version": "5.2", "Components": [{"Name": "Podman Engine"}]}) == "podman 5.2"
    assert name_runtime([]) == "docker"
    assert parse_restarts({"RestartCount": 4}) == 4
    assert parse_restarts({}) is parse_restarts([]) is parse_restarts({"RestartCount": "x"}) is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (frame(1, "one\n") + frame(2, "two\nth") + frame(1, "ree\n"), ["two", "three"]),
        (b"plain\r\nterminal\r\n", ["plain", "terminal"]),
        (frame(1, "whole\n") + frame(1, "cut off here\n")[:12], ["whole", "cut "]),
        (b"", []),
        (b"\x01\x00", ["\x01\x00"]),
    ],
)
def test_the_output_of_containers_is_taken_out_of_its_frames(body: bytes, expected: list[str]) -> None:
    assert split_output(body, count=2) == expected


@given(st.binary(max_size=200))
def test_no_output_of_a_container_breaks_the_reader(body: bytes) -> None:
    assert len(split_output(body, count=3)) <= 3
