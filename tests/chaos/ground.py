"""What the runs of one job stand on: a PostgreSQL of their own, which they may restart, and wires to it."""

import asyncio
import shutil
import signal
import socket
import tempfile
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import asyncpg  # pyright: ignore[reportMissingTypeStubs] -- only for the class of its errors

from midwatch.store import driver
from midwatch.store.driver import Connection
from midwatch.store.migrate import upgrade_schema
from midwatch.store.postgres.child import Setup, prepare_setup, spawn
from midwatch.store.postgres.cluster import make_cluster, open_log, read_log_end
from midwatch.store.postgres.data import prepare_data
from midwatch.store.postgres.postmaster import stop_server
from tests.chaos.nursery import Nursery, open_nursery
from tests.chaos.wires import LOOPBACK, Wires, open_wires
from tests.databases import create_database, with_database
from tests.waiting import eventually

_asyncpg: Any = asyncpg
_TEMPLATE = "chaos_template"
SLOTS = ("a", "b")


@final
@dataclass(slots=True, kw_only=True)
class Database:
    """A server that is restarted at will and comes back where it was."""

    setup: Setup
    password: str = field(repr=False)
    addresses: str
    port: int
    server: Process | None = field(default=None, repr=False)

    @property
    def dsn(self) -> str:
        return f"postgresql://midwatch:{self.password}@{LOOPBACK}:{self.port}/postgres"

    async def start(self) -> None:
        settings = {
            "listen_addresses": self.addresses,
            "port": str(self.port),
            "unix_socket_directories": "",
            "max_connections": "200",
            "shared_buffers": "64MB",
            # What is killed here are processes; the machine that holds their files goes on.
            "fsync": "off",
            "timezone": "UTC",
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        command = ["postgres", "-D", str(self.setup.cluster.data), *options]
        with open_log(self.setup.cluster) as log:
            self.server = await spawn(self.setup, command, signal=signal.SIGINT, stdin=DEVNULL, stdout=log)
        await eventually(self._is_answering)

    async def stop(self, how: signal.Signals) -> None:
        if self.server is not None:
            self.server.send_signal(how)
            await self.server.wait()

    async def ensure_running(self) -> None:
        """A run that broke off in the middle of a restart leaves the next one nothing to stand on."""
        if self.server is None or self.server.returncode is not None:
            await self.start()
        await eventually(self._is_answering)

    async def close(self) -> None:
        if self.server is not None:
            await stop_server(self.server)

    async def connect(self, dsn: str) -> Connection:
        """Once it answers."""
        return await eventually(lambda: self._try_connecting(dsn))

    async def _try_connecting(self, dsn: str) -> Connection | None:
        try:
            return await driver.connect(dsn)
        except (OSError, TimeoutError, _asyncpg.PostgresError):
            return None

    async def _is_answering(self) -> bool:
        assert self.server is not None
        assert self.server.returncode is None, read_log_end(self.setup.cluster)
        connection = await self._try_connecting(self.dsn)
        if connection is None:
            return False
        await connection.close()
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    database: Database
    wires: Wires
    nursery: Nursery

    @asynccontextmanager
    async def own_database(self, name: str) -> AsyncGenerator[str]:
        """The database of one run, and afterwards none."""
        await self.database.ensure_running()
        try:
            yield await create_database(self.database.dsn, name, template=_TEMPLATE)
        finally:
            await self.database.ensure_running()
            await self._drop(name)

    async def _drop(self, name: str) -> None:
        connection = await driver.connect(self.database.dsn)
        try:
            await connection.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
            for row in await connection.fetch("SELECT rolname FROM pg_roles WHERE starts_with(rolname, $1)", name):
                await connection.execute(f'DROP ROLE "{row["rolname"]}"')
        finally:
            await connection.close()


@asynccontextmanager
async def open_ground() -> AsyncGenerator[Ground]:
    # Not below a folder of root's own: the server runs as another user, who must get in.
    home = Path(tempfile.mkdtemp(prefix="midwatch-chaos-"))
    home.chmod(0o755)
    try:
        async with open_wires(*SLOTS) as wires, open_nursery() as nursery:
            database = await _prepare(home, wires)
            try:
                await database.start()
                await create_database(database.dsn, _TEMPLATE)
                await upgrade_schema(with_database(database.dsn, _TEMPLATE))
                yield Ground(database=database, wires=wires, nursery=nursery)
            finally:
                await database.close()
    finally:
        await asyncio.to_thread(shutil.rmtree, home, ignore_errors=True)


async def _prepare(home: Path, wires: Wires) -> Database:
    setup = await prepare_setup(make_cluster(home))
    access = await prepare_data(setup)
    hosts = {LOOPBACK, *(wire.database_host for wire in wires.wires.values())}
    if wires.are_real:
        with (setup.cluster.data / "pg_hba.conf").open("a") as rules:
            rules.write("host all all samenet scram-sha-256\n")
    return Database(setup=setup, password=access.password, addresses=",".join(sorted(hosts)), port=_find_free_port())


def _find_free_port() -> int:
    with socket.create_server((LOOPBACK, 0)) as listener:
        return listener.getsockname()[1]
