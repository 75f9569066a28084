"""Faults staged for real on this machine. The demo model has to name them, and to find nothing where nothing is."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from midwatch.kit import json
from tests.commands import run_midwatch

CULPRIT = "nightly-export"
MEMORY_GROUPS = Path("/sys/fs/cgroup/memory")
BUSY = """
import os
os.setpgrp()
if os.geteuid() == 0:
    os.nice(-5)  # so that it stands out among whatever else this machine does
print("busy", flush=True)
for _ in range(os.cpu_count() - 1):
    if os.fork() == 0:
        break
while True:
    pass
"""
LISTENING = """
import socket, time
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
time.sleep(600)
"""
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="staging this fault takes root")


@dataclass(frozen=True)
class Bench:
    """A configuration whose host server reads logs and pid files of the test's own, on the demo model."""

    folder: Path
    dsn: str

    @property
    def logs(self) -> Path:
        return self.folder / "log"

    @property
    def run(self) -> Path:
        return self.folder / "run"

    def investigate(self, alert: str) -> str:
        done = run_midwatch(
            *("investigate", "-", "--json", "--type", "host", "--config-dir", self.folder),
            stdin=alert,
            DATABASE_URL=self.dsn,
        )
        assert done.returncode == 0, done.stderr
        result: dict[str, Any] = json.decode(done.stdout.splitlines()[-1])
        assert (result["type"], result["status"]) == ("result", "completed")
        analysis: str = result["final_analysis"]
        assert "demo model" in analysis
        return analysis


@pytest.fixture
def bench(tmp_path: Path, dsn: str) -> Bench:
    made = Bench(tmp_path, dsn)
    made.logs.mkdir()
    made.run.mkdir()
    started = [sys.executable, "-m", "midwatch.bundled.host", "--log-root", made.logs, "--run-root", made.run]
    (tmp_path / "llm-providers.yaml").write_text("llm_providers: {}\n")
    (tmp_path / "midwatch.yaml").write_text(
        json.encode_text(
            {
                "mcp_servers": {
                    "midwatch-host": {
                        "transport": {"type": "stdio", "command": started[0], "args": [*map(str, started[1:])]},
                        "run_as": "self",
                        "kinds": {"default": "read"},
                    }
                },
                "agents": {"HostAgent": {"mcp_servers": ["midwatch-host"]}},
                "agent_chains": {
                    "host": {"alert_types": ["host"], "stages": [{"name": "look", "agents": [{"name": "HostAgent"}]}]}
                },
                "defaults": {"llm_provider": "demo", "alert_type": "host"},
            }
        )
    )
    return made


def copy_program(folder: Path) -> Path:
    """An interpreter under the culprit's name: that is what the kernel and all tools call the process."""
    program = folder / CULPRIT
    shutil.copy(Path(sys._base_executable).resolve(), program)  # pyright: ignore[reportUnknownArgumentType, reportAttributeAccessIssue, reportUnknownMemberType] -- not in the stubs
    return program


@contextmanager
def running(*command: object) -> Generator[subprocess.Popen[bytes]]:
    """Told to be under way by its first line."""
    with subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()
            yield process
        finally:
            process.kill()


def root_cause(analysis: str) -> str:
    return analysis.partition("Root cause")[2].partition("Evidence")[0]


@as_root
def test_a_full_disk_and_what_fills_it_are_named(bench: Bench, tmp_path: Path) -> None:
    disk = tmp_path / "data"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", disk], check=True)
    try:
        (disk / "exports" / "old").mkdir(parents=True)
        (disk / "exports" / "old" / "orders.dump").write_bytes(os.urandom(39 * 2**20))
        (disk / "small.txt").write_text("small")
        analysis = bench.investigate(f'NodeFilesystemSpaceFillingUp severity="critical" mountpoint="{disk}" 97 % used')
    finally:
        subprocess.run(["umount", disk], check=True)
    assert str(disk) in root_cause(analysis)
    assert "orders.dump" in root_cause(analysis)
    assert "midwatch-host.largest" in analysis


@as_root
@pytest.mark.skipif(not (MEMORY_GROUPS / "cgroup.procs").exists(), reason="there is no cgroup for memory to fill up")
def test_a_process_that_was_killed_for_want_of_memory_is_named(bench: Bench, tmp_path: Path) -> None:
    group = MEMORY_GROUPS / f"midwatch-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text("40M")
        greedy = f"echo $$ > {group}/cgroup.procs; exec {copy_program(tmp_path)} -c 'bytearray(300_000_000)'"
        assert subprocess.run(["sh", "-c", greedy], check=False).returncode == -9
        analysis = bench.investigate("HostOutOfMemory: the OOM killer was active in the last 15 minutes")
    finally:
        group.rmdir()
    assert CULPRIT in root_cause(analysis)
    assert "midwatch-host.kernel_messages" in analysis


def test_the_process_that_keeps_the_processors_busy_is_named(bench: Bench, tmp_path: Path) -> None:
    with running(copy_program(tmp_path), "-c", BUSY) as process:
        try:
            analysis = bench.investigate("High CPU utilization (over 90% for 5m), load average is too high")
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    # Among the busiest; the very busiest may be somebody else on a machine that has other things to do.
    assert CULPRIT in analysis
    assert "midwatch-host.processes" in analysis


def test_a_service_that_is_down_is_named_with_its_last_words(bench: Bench) -> None:
    dead = subprocess.run(["sh", "-c", "echo $$"], capture_output=True, check=True).stdout
    (bench.run / "shopd.pid").write_bytes(dead)
    words = "2026-11-15 02:12:44 FATAL cannot open /etc/shopd/tls.key: permission denied"
    (bench.logs / "shopd.log").write_text(f"2026-11-15 02:12:40 info starting shopd 3.1\n{words}\n")
    analysis = bench.investigate("Service shopd is down: the health check has failed 3 times in a row")
    assert "shopd" in root_cause(analysis)
    assert "permission denied" in analysis
    assert "midwatch-host.read_log" in analysis


def test_the_holder_of_a_taken_port_is_named(bench: Bench, tmp_path: Path) -> None:
    with subprocess.Popen([copy_program(tmp_path), "-c", LISTENING], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline())
            alert = f"billing-api does not start: listen tcp 127.0.0.1:{port}: bind: address already in use"
            analysis = bench.investigate(alert)
        finally:
            process.kill()
    assert str(port) in root_cause(analysis)
    assert CULPRIT in root_cause(analysis)
    assert str(process.pid) in analysis


def test_where_nothing_is_wrong_nothing_is_found(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    analysis = bench.investigate(
        f"billing-api does not start: listen tcp 127.0.0.1:{port}: bind: address already in use"
    )
    # Something else may well be the matter with whatever machine this runs on.
    assert any(words in root_cause(analysis) for words in ("No problem found", "no sign of what the alert reports"))
    assert "What I did not check" in analysis
