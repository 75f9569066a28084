"""Starting and stopping the server. Whoever starts it holds the lock of the cluster."""

import asyncio
import socket
from asyncio.subprocess import DEVNULL, Process
from contextlib import closing, suppress
from dataclasses import replace
from signal import SIGINT, SIGKILL, SIGQUIT
from typing import Any

import asyncpg  # pyright: ignore[reportMissingTypeStubs] -- only for the classes of its errors

from midwatch.domain.errors import Misconfigured, StoreUnavailable
from midwatch.store import driver
from midwatch.store.driver import unavailable_as_such
from midwatch.store.postgres.child import Setup, spawn
from midwatch.store.postgres.cluster import DATABASE, Access, open_log, read_log_end, write_access

_asyncpg: Any = asyncpg
_WrongPassword: type[Exception] = _asyncpg.InvalidPasswordError
_Refused: type[Exception] = _asyncpg.PostgresError

_STOP_LIMIT = 10.0
# Backends of a killed server hold its memory for a moment, and a port may be taken between our look and the server's.
_EARLY_EXIT_PATIENCE = 3.0

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "fsync": "on",
    "timezone": "UTC",
    # Failed statements are the client's to report: they may hold what must not be written down.
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_min_messages": "log",
    "log_checkpoints": "off",
}


async def start_server(setup: Setup, access: Access) -> tuple[Process, Access]:
    """The running server, answering, with the database in it; and the access to it, for the port may be another now."""
    loop = asyncio.get_running_loop()
    patience = loop.time() + _EARLY_EXIT_PATIENCE
    while True:
        access = replace(access, port=_choose_port(access.port))
        try:
            return await _start_once(setup, access), access
        except StoreUnavailable:
            if loop.time() > patience:
                raise
        await asyncio.sleep(0.1)


async def stop_server(server: Process) -> None:
    """Fast shutdown first: it ends the clients' transactions and writes a checkpoint."""
    for signal in (SIGINT, SIGQUIT, SIGKILL):
        if server.returncode is not None:
            return
        with suppress(ProcessLookupError):
            server.send_signal(signal)
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_LIMIT):
                await server.wait()


async def is_answering(access: Access) -> bool:
    try:
        with unavailable_as_such():
            connection = await driver.connect(access.dsn)
            await connection.close()
    except (StoreUnavailable, _Refused):  # refused: the port belongs to a stranger now
        return False
    return True


async def _start_once(setup: Setup, access: Access) -> Process:
    with open_log(setup.cluster) as log:
        since = log.tell()
        settings = [f"--{name}={value}" for name, value in (_SETTINGS | {"port": str(access.port)}).items()]
        command = ["postgres", "-D", str(setup.cluster.data), *settings]
        server = await spawn(setup, command, signal=SIGINT, stdin=DEVNULL, stdout=log)
    try:
        await _wait_until_ready(server, access)
        write_access(setup.cluster, access)
    except BaseException as error:
        await stop_server(server)
        if isinstance(error, StoreUnavailable):
            end = read_log_end(setup.cluster, since=since)
            raise StoreUnavailable(f"{error}; its log ends with:\n{end}") from error
        raise
    return server


async def _wait_until_ready(server: Process, access: Access) -> None:
    while server.returncode is None:
        try:
            with unavailable_as_such():
                return await _ensure_database(access)
        except StoreUnavailable:
            await asyncio.sleep(0.02)
        except _WrongPassword:
            await _check_alive(server)
    raise StoreUnavailable(f"the embedded PostgreSQL ended at its start with status {server.returncode}")


async def _check_alive(server: Process) -> None:
    """Refused the password: by our server, or by a stranger who took the port, in which case ours is about to end."""
    try:
        async with asyncio.timeout(1):
            await server.wait()
    except TimeoutError:
        raise Misconfigured(
            ["the embedded PostgreSQL has another password than its dsn file: remove that file to set a new one"]
        ) from None


async def _ensure_database(access: Access) -> None:
    connection = await driver.connect(access.dsn, database="postgres")
    try:
        if not await connection.fetchval("select true from pg_database where datname = $1", DATABASE):
            await connection.execute(f'create database "{DATABASE}"')
    finally:
        await connection.close()


def _choose_port(former: int) -> int:
    with closing(socket.socket()) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", former))
        except OSError:
            listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
