"""Programs come from a table, get no shell, little time and little room."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import get_args

import pytest

from midwatch.bundled.host.programs import OPTIONS, TABLE, Command, Programs

Install = Callable[[str, str], Path]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    def install(name: str, script: str) -> Path:
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return tmp_path

    return install


def test_a_program_runs_with_its_fixed_arguments_and_the_allowed_options(install: Install) -> None:
    folder = install("journalctl", 'for word in "$@"; do echo "$word"; done; echo trouble >&2')
    output = Programs(folders=str(folder)).run("read_journal", {"--unit": "a b; reboot $(id)"})
    assert output is not None
    assert output.text.splitlines() == [*TABLE["read_journal"][1:], "--unit=a b; reboot $(id)"]
    assert (output.complaint, output.succeeded, output.complete) == ("trouble", True, True)


def test_an_option_that_the_table_does_not_have_is_refused(install: Install) -> None:
    folder = install("journalctl", "echo ran")
    with pytest.raises(ValueError, match="--vacuum-size"):
        Programs(folders=str(folder)).run("read_journal", {"--vacuum-size": "1"})


def test_every_command_is_known_by_a_verb_that_reads() -> None:
    assert set(TABLE) == set(OPTIONS) == set(get_args(Command))
    assert {arguments[0] for arguments in TABLE.values()} == {"systemctl", "journalctl"}
    assert TABLE["list_services"][1] == "show"
    assert all(argument.startswith("--") for argument in TABLE["read_journal"][1:])
    assert OPTIONS["read_journal"] == {"--lines", "--since", "--unit", "--priority"}


def test_a_program_that_is_not_installed_is_no_error(tmp_path: Path) -> None:
    assert Programs(folders=str(tmp_path)).run("list_services") is None


def test_a_program_that_fails_is_told_by_its_words(install: Install) -> None:
    folder = install("systemctl", "echo 'Failed to connect to bus' >&2; exit 1")
    output = Programs(folders=str(folder)).run("list_services")
    assert output is not None
    assert (output.succeeded, output.complete, output.complaint) == (False, True, "Failed to connect to bus")


def test_a_program_that_does_not_end_is_ended(install: Install, tmp_path: Path) -> None:
    folder = install("systemctl", f"echo $$ > {tmp_path}/pid; echo early; exec sleep 600")
    output = Programs(folders=str(folder), seconds=1.0).run("list_services")
    assert output is not None
    assert (output.text, output.succeeded, output.complete) == ("early\n", False, False)
    assert not Path(f"/proc/{(tmp_path / 'pid').read_text().strip()}").exists()


def test_a_program_that_closes_its_output_and_stays_is_ended_too(install: Install) -> None:
    folder = install("systemctl", "exec sleep 600 >&- 2>&-")
    output = Programs(folders=str(folder), seconds=0.5).run("list_services")
    assert output is not None
    assert not output.succeeded


def test_endless_output_is_cut(install: Install) -> None:
    folder = install("systemctl", "exec yes")
    output = Programs(folders=str(folder), seconds=60.0).run("list_services")
    assert output is not None
    assert not output.complete
    assert 8 * 1024 * 1024 < len(output.text) < 9 * 1024 * 1024


def test_a_program_inherits_nothing_of_our_environment(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MIDWATCH_TEST_KEY", "hunter2")
    folder = install("systemctl", "env")
    output = Programs(folders=str(folder)).run("list_services")
    assert output is not None
    assert "LC_ALL=C" in output.text.splitlines()
    assert "hunter2" not in output.text
    assert os.environ["MIDWATCH_TEST_KEY"] == "hunter2"
