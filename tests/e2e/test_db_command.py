"""`midwatch db`: says which database it is and what is in it, and brings it up to date."""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest

from midwatch.kit import json
from midwatch.store import driver
from midwatch.store.embedded import EmbeddedPostgres
from tests.commands import run_midwatch
from tests.databases import create_database, drop_database, with_database


@pytest.fixture
async def empty_dsn(postgres: EmbeddedPostgres) -> AsyncGenerator[str]:
    dsn = await create_database(postgres.read_dsn(), f"test_{secrets.token_hex(6)}")
    yield dsn
    await drop_database(postgres.read_dsn(), dsn)


@pytest.fixture
def home() -> Generator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="midwatch-tests-"))
    folder.chmod(0o755)
    try:
        yield folder / "home"
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def execute(dsn: str, statement: str) -> None:
    connection = await driver.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def test_an_empty_database_is_brought_up_to_date_once(empty_dsn: str) -> None:
    before = run_midwatch("db", "status", DATABASE_URL=empty_dsn)
    assert (before.returncode, before.stderr) == (1, "")
    assert "schema    not made yet; this Midwatch makes " in before.stdout
    assert before.stdout.endswith("next      midwatch db upgrade\n")
    first = run_midwatch("db", "upgrade", DATABASE_URL=empty_dsn)
    assert (first.returncode, first.stderr) == (0, "")
    place, made = first.stdout.splitlines()
    assert place == "database  the one of DATABASE_URL"
    assert made.startswith("schema    0")
    assert made.endswith(", made")
    second = run_midwatch("db", "upgrade", DATABASE_URL=empty_dsn)
    assert (second.returncode, second.stderr) == (0, "")
    assert second.stdout.endswith(", up to date already\n")


async def test_a_database_that_is_up_to_date_is_said_to_be(dsn: str) -> None:
    shown = run_midwatch("db", "status", DATABASE_URL=dsn)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "server    PostgreSQL 18." in shown.stdout
    assert shown.stdout.endswith(", up to date\n")
    told = json.decode(run_midwatch("db", "status", "--json", DATABASE_URL=dsn).stdout)
    assert (told["kind"], told["up_to_date"]) == ("external", True)
    assert told["schema"] == told["newest_schema"]
    assert str(urlsplit(dsn).password) not in shown.stdout + str(told)


async def test_an_older_schema_is_said_to_be_older(dsn: str) -> None:
    await execute(dsn, "UPDATE alembic_version SET version_num = '0001'")
    shown = run_midwatch("db", "status", DATABASE_URL=dsn)
    assert shown.returncode == 1
    assert "schema    0001; this Midwatch makes 0" in shown.stdout
    assert shown.stdout.endswith("next      midwatch db upgrade\n")


@pytest.mark.parametrize("command", ["status", "upgrade"])
async def test_a_schema_of_a_newer_midwatch_is_refused_with_what_to_do(dsn: str, command: str) -> None:
    await execute(dsn, "UPDATE alembic_version SET version_num = '9999'")
    result = run_midwatch("db", command, DATABASE_URL=dsn)
    assert result.returncode == 2
    assert result.stderr.startswith("error: a newer Midwatch made this schema (9999; this one knows ")
    assert result.stderr.endswith("): install that version or a later one here too\n")
    assert result.stderr.count("\n") == 1


def test_our_own_database_is_made_when_asked_and_not_before(home: Path) -> None:
    before = run_midwatch("db", "status", MIDWATCH_HOME=str(home))
    assert before.returncode == 1
    assert before.stdout.splitlines()[1:3] == ["server    not started", "schema    not made yet"]
    assert not home.exists()
    made = run_midwatch("db", "upgrade", MIDWATCH_HOME=str(home))
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout.startswith(f"database  our own, in {home}\n")
    assert run_midwatch("db", "status", MIDWATCH_HOME=str(home)).returncode == 0
    assert not [server for server in psutil.process_iter(["cmdline"]) if str(home) in str(server.info["cmdline"])]


async def test_the_folder_of_the_configuration_may_name_the_database(dsn: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"DATABASE_URL={dsn}\n")
    shown = run_midwatch("db", "status", "--config-dir", tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")


async def test_what_is_wrong_with_the_database_is_one_sentence(postgres: EmbeddedPostgres) -> None:
    missing = with_database(postgres.read_dsn(), "nowhere")
    result = run_midwatch("db", "upgrade", DATABASE_URL=missing)
    assert result.returncode == 2
    assert result.stderr == (
        'error: DATABASE_URL is refused: database "nowhere" does not exist; '
        "correct the user, the password or the name\n"
    )


def test_a_data_folder_that_is_none_is_one_sentence(home: Path) -> None:
    home.write_text("not a folder")
    result = run_midwatch("db", "upgrade", MIDWATCH_HOME=str(home))
    assert result.returncode == 2
    assert result.stderr == (
        f"error: MIDWATCH_HOME {home} cannot be used: Not a directory ({home / 'postgres'}); "
        "choose a folder that you may write to\n"
    )


AS_A_PLAIN_USER = """
import os, sys
from midwatch.cli import group, db, ending, flags, surroundings
import asyncpg, sqlalchemy.ext.asyncio, midwatch.store.migrate, midwatch.telemetry.logs
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
group.group(["db", sys.argv[1]])
"""


@pytest.mark.parametrize("command", ["status", "upgrade"])
def test_a_data_folder_that_may_not_be_entered_is_one_sentence(home: Path, command: str) -> None:
    """Root may enter everything, and nobody may enter where root keeps Python: so rights are given up on the way."""
    home.mkdir()
    home.chmod(0)
    environ = {"MIDWATCH_HOME": str(home), "PATH": os.environ["PATH"]}
    arguments = [sys.executable, "-c", AS_A_PLAIN_USER, command]
    result = subprocess.run(arguments, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert result.returncode == 2, result.stderr
    assert result.stderr.startswith(f"error: MIDWATCH_HOME {home} cannot be used: Permission denied (")
    assert result.stderr.endswith("; choose a folder that you may write to\n")
    assert result.stderr.count("\n") == 1
