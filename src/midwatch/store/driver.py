"""The database driver behind types of our own: asyncpg ships none."""

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from typing import Any, Protocol

import asyncpg  # pyright: ignore[reportMissingTypeStubs] -- this module is where that ends

from midwatch.domain.errors import Misconfigured, StoreUnavailable

_asyncpg: Any = asyncpg

UniqueViolation: type[Exception] = _asyncpg.UniqueViolationError

Row = Any
"""A record: columns by name."""


class Tx(Protocol):
    """An open transaction, or a connection in autocommit. Functions in `store` take one and never commit it."""

    async def execute(self, query: str, *args: object) -> str: ...
    async def fetch(self, query: str, *args: object) -> Sequence[Row]: ...
    async def fetchrow(self, query: str, *args: object) -> Row | None: ...
    async def fetchval(self, query: str, *args: object) -> Any: ...


class Connection(Tx, Protocol):
    def transaction(self) -> AbstractAsyncContextManager[object]: ...
    async def add_listener(self, channel: str, callback: Callable[[object, int, str, str], None]) -> None: ...
    def add_termination_listener(self, callback: Callable[[object], None]) -> None: ...
    def is_in_transaction(self) -> bool: ...
    def is_closed(self) -> bool: ...
    async def close(self) -> None: ...
    def terminate(self) -> None: ...


class Pool(Protocol):
    def acquire(self, *, timeout: float | None = None) -> AbstractAsyncContextManager[Connection]: ...
    def terminate(self) -> None: ...


# Everything that can make another process wait is bounded well under a lease: a process frozen inside a transaction
# is thrown out by the server, and nobody waits for it.
SESSION_SETTINGS = {
    "application_name": "midwatch",
    "idle_in_transaction_session_timeout": "5s",
    "lock_timeout": "8s",
    "statement_timeout": "10s",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "2",
    "tcp_keepalives_count": "3",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
}
COMMAND_TIMEOUT = 12.0
_OLDEST_SERVER = 15
_CONNECT_TIMEOUT = 5.0

# What a restart, a cut network, a fail-over or an overload look like. Anything else is a bug and stays itself.
_UNAVAILABLE: tuple[type[Exception], ...] = (
    OSError,
    TimeoutError,
    _asyncpg.PostgresConnectionError,
    _asyncpg.InterfaceError,
    _asyncpg.InternalClientError,
    _asyncpg.CannotConnectNowError,
    _asyncpg.AdminShutdownError,
    _asyncpg.CrashShutdownError,
    _asyncpg.IdleInTransactionSessionTimeoutError,
    _asyncpg.LockNotAvailableError,
    _asyncpg.QueryCanceledError,
    _asyncpg.TooManyConnectionsError,
    _asyncpg.DeadlockDetectedError,
    _asyncpg.SerializationError,
    _asyncpg.ReadOnlySQLTransactionError,
)

_TO_BE_CORRECTED: tuple[type[Exception], ...] = (
    _asyncpg.InvalidAuthorizationSpecificationError,
    _asyncpg.InvalidCatalogNameError,
    _asyncpg.InsufficientPrivilegeError,
)


@contextmanager
def unavailable_as_such() -> Generator[None]:
    try:
        yield
    except _UNAVAILABLE as error:
        raise StoreUnavailable(f"the database did not answer: {type(error).__name__}") from error


async def connect(dsn: str, **settings: Any) -> Connection:
    settings.pop("loop", None)
    return await _asyncpg.connect(
        dsn,
        timeout=_CONNECT_TIMEOUT,
        command_timeout=COMMAND_TIMEOUT,
        server_settings=SESSION_SETTINGS,
        **settings,
    )


async def connect_first(dsn: str) -> Connection:
    """Without limits that a change of the schema could meet, and with errors that tell the operator what to do."""
    try:
        connection = await _asyncpg.connect(dsn, timeout=_CONNECT_TIMEOUT)
    except (OSError, TimeoutError, _asyncpg.PostgresError) as error:
        raise _explain(error) from error
    except (ValueError, _asyncpg.InterfaceError):
        # These quote pieces of the URL, which may be pieces of the password.
        raise Misconfigured(["DATABASE_URL: expected postgresql://user:password@host:5432/name"]) from None
    _check_version(connection)
    return connection


def _check_version(connection: Any) -> None:
    major = connection.get_server_version().major
    if major >= _OLDEST_SERVER:
        return
    connection.terminate()
    problem = f"DATABASE_URL leads to PostgreSQL {major}, and Midwatch needs {_OLDEST_SERVER} or newer"
    raise Misconfigured([f"{problem}: upgrade that server"])


def _explain(error: Exception) -> Misconfigured | StoreUnavailable:
    """In the words of the server or the kernel; those that name the address, as it was read from the URL, are left."""
    match error:
        case ConnectionError(errno=None):
            return Misconfigured(["DATABASE_URL leads to a server that is not PostgreSQL, or that does not take TLS"])
        case _ if isinstance(error, _TO_BE_CORRECTED):
            return Misconfigured([f"DATABASE_URL is refused: {error}; correct the user, the password or the name"])
        case ConnectionRefusedError():
            reason = "connection refused"
        case TimeoutError():
            reason = "it did not answer in time"
        case OSError():
            reason = str(error.strerror or "nobody answers there").partition(" (")[0]
        case _:
            reason = str(error)
    return StoreUnavailable(f"cannot open the database: {reason}; start PostgreSQL or correct DATABASE_URL")


async def create_pool(open_connection: Callable[..., Awaitable[Connection]], *, min_size: int, max_size: int) -> Pool:
    return await _asyncpg.create_pool(
        min_size=min_size,
        max_size=max_size,
        max_inactive_connection_lifetime=60,
        connect=open_connection,
        reset=_check_idle,
    )


async def _check_idle(connection: Connection) -> None:
    """In place of asyncpg's reset, which costs a round trip: we set nothing that would need one."""
    if connection.is_in_transaction():
        raise _asyncpg.InterfaceError("a transaction was left open")
