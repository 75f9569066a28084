"""Services by systemd's word, or by their pid files; entries of the journal."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path

import psutil
import pytest

from midwatch.bundled.host.journal import JournalReader
from midwatch.bundled.host.programs import Programs
from midwatch.bundled.host.services import ServiceBook, Services
from tests.unit.bundled.test_host_parsers import SERVICES


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    (tmp_path / "bin").mkdir()
    return tmp_path


@pytest.fixture
def ended_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


@pytest.fixture
def zombie() -> Generator[int]:
    child = subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE)
    try:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        yield child.pid
    finally:
        child.communicate()


def program(folder: Path, name: str, output: str, *, status: int = 0) -> Programs:
    (folder / "output").write_text(output)
    path = folder / "bin" / name
    path.write_text(f'#!/bin/sh\ncat {folder}/output; echo "$@" > {folder}/arguments; exit {status}\n')
    path.chmod(0o755)
    return Programs(folders=f"{folder}/bin")


def by_name(answer: Services) -> dict[str, str]:
    return {service.name: service.state for service in answer.services}


def pid_file(folder: Path, name: str, text: str) -> Path:
    path = folder / "run" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def test_systemd_is_asked_where_it_runs(folder: Path) -> None:
    book = ServiceBook(programs=program(folder, "systemctl", SERVICES), systemd_mark=folder)
    answer = book.services()
    assert answer.manager == "systemd"
    assert [service.name.split(".")[0] for service in answer.services] == ["payments", "worker", "nginx", "setup"]
    assert by_name(book.services(state="failed")) == {"payments.service": "failed", "worker.service": "failed"}
    few = book.services(limit=1, name_contains="SERVICE")
    assert (len(few.services), few.total, few.truncated) == (1, 4, True)
    assert answer.notes == []


def test_when_systemd_does_not_answer_pid_files_are_read_and_it_is_said(folder: Path) -> None:
    answer = ServiceBook(programs=program(folder, "systemctl", "", status=1), systemd_mark=folder).services()
    assert answer.manager == "pidfiles"
    assert answer.notes[0].startswith("systemd could not be asked")


def test_without_systemd_it_is_said(folder: Path) -> None:
    answer = ServiceBook(systemd_mark=folder / "missing").services()
    assert answer.manager == "pidfiles"
    assert "systemd does not run here" in answer.notes[0]


def test_a_pid_file_tells_whether_its_service_lives(folder: Path, ended_pid: int, zombie: int) -> None:
    pid_file(folder, "alive.pid", f"{os.getpid()}\nmore\n")
    pid_file(folder, "crashed.pid", f"{ended_pid}\n")
    pid_file(folder, "undead.pid", str(zombie))
    pid_file(folder, "deep/nested.pid", str(os.getpid()))
    pid_file(folder, "odd.pid", "none")
    pid_file(folder, "huge.pid", "9" * 1000)
    pid_file(folder, "other.txt", str(os.getpid()))
    os.mkfifo(folder / "run" / "pipe.pid")
    (folder / "run" / "link.pid").symlink_to("/proc/1/stat")
    answer = ServiceBook(run_roots=(str(folder / "run"),)).services()
    assert by_name(answer) == {"alive": "running", "crashed": "failed", "undead": "failed", "nested": "running"}
    alive = next(service for service in answer.services if service.name == "alive")
    assert (alive.pid, alive.source) == (os.getpid(), str(folder / "run" / "alive.pid"))
    assert alive.since is not None
    crashed = next(service for service in answer.services if service.name == "crashed")
    assert (crashed.pid, f"process {ended_pid} is gone" in crashed.detail) == (None, True)
    assert "2 pid files could not be read or hold no number" in answer.notes


def test_a_number_that_was_given_to_another_program_does_not_revive_a_service(folder: Path) -> None:
    old = psutil.Process().create_time() - 3600
    for name in ("payments", "python3"):
        os.utime(pid_file(folder, f"{name}.pid", str(os.getpid())), (old, old))
    answer = ServiceBook(run_roots=(str(folder / "run"),)).services()
    assert by_name(answer) == {"payments": "failed", "python3": "running"}
    assert "now belongs to" in answer.services[0].detail


def test_named_run_roots_are_looked_at_even_beside_systemd(folder: Path) -> None:
    book = ServiceBook(
        run_roots=(str(folder / "run"),), programs=program(folder, "systemctl", SERVICES), systemd_mark=folder
    )
    assert book.services().manager == "pidfiles"


def journal(folder: Path, *messages: str) -> JournalReader:
    (folder / "journal" / "machine").mkdir(parents=True)
    (folder / "journal" / "machine" / "system.journal").touch()
    newest_first = [
        json.dumps({"__REALTIME_TIMESTAMP": str(10**15 - number), "MESSAGE": message, "PRIORITY": "3"})
        for number, message in enumerate(messages)
    ]
    programs = program(folder, "journalctl", "\n".join(newest_first))
    return JournalReader(programs=programs, folders=(folder / "journal",))


def test_the_newest_entries_are_told_oldest_first(folder: Path) -> None:
    answer = journal(folder, "newest", "older", "oldest").journal(lines=2)
    assert [entry.message for entry in answer.entries] == ["older", "newest"]
    assert answer.truncated
    assert answer.entries[0].priority == "err"


def test_the_journal_is_asked_for_unit_time_and_priority(folder: Path) -> None:
    before = int(time.time())
    answer = journal(folder, "Out of Memory", "fine").journal(
        unit="a.service", since_minutes=10, priority="err", contains="out OF", lines=5
    )
    assert [entry.message for entry in answer.entries] == ["Out of Memory"]
    asked = (folder / "arguments").read_text().split()
    assert {"--unit=a.service", "--priority=err", "--lines=5000"} <= set(asked)
    (since,) = [int(word.removeprefix("--since=@")) for word in asked if word.startswith("--since=@")]
    assert before - 600 <= since <= time.time() - 600


def test_when_nothing_matches_the_answer_says_where_else_to_look(folder: Path) -> None:
    answer = journal(folder, "fine").journal(contains="missing")
    assert answer.entries == []
    assert "`read_log`" in answer.notes[0]


def test_without_a_journal_the_answer_names_the_tools_for_files(folder: Path) -> None:
    answer = JournalReader(folders=(folder / "missing",)).journal()
    assert answer.entries == []
    assert "`logs`" in answer.notes[0]
    assert "`read_log`" in answer.notes[0]


def test_without_journalctl_it_is_said(folder: Path) -> None:
    reader = journal(folder)
    (folder / "bin" / "journalctl").unlink()
    assert "not installed" in reader.journal().notes[0]
