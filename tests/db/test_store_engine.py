"""The pool and its transactions: all or nothing, and what goes wrong with a database is known by one name."""

import asyncio
import socket

import pytest

from midwatch.domain.errors import StoreUnavailable
from midwatch.kit.ids import new_id
from midwatch.store.driver import SESSION_SETTINGS, Tx
from midwatch.store.engine import Store, open_store

LIMIT = 10
_STOP = "INSERT INTO emergency_stops (stop_id, reason) VALUES ($1, 'test')"


async def count_stops(store: Store) -> int:
    async with store.connect() as tx:
        return await tx.fetchval("SELECT count(*) FROM emergency_stops")


async def stop_and(store: Store, *statements: str) -> None:
    """One transaction: a row, then these."""
    async with store.begin() as tx:
        await tx.execute(_STOP, new_id())
        for statement in statements:
            await tx.execute(statement)


async def stop_and_raise(store: Store, error: type[BaseException]) -> None:
    async with store.begin() as tx:
        await tx.execute(_STOP, new_id())
        raise error


async def stop_and_idle(store: Store) -> None:
    thrown_out = asyncio.Event()
    async with store.connect() as connection, connection.transaction():
        connection.add_termination_listener(lambda _: thrown_out.set())
        await connection.execute(_STOP, new_id())
        await connection.execute("SET idle_in_transaction_session_timeout = '20ms'")
        async with asyncio.timeout(LIMIT):
            await thrown_out.wait()
        await connection.execute("SELECT 1")


async def test_a_transaction_commits_when_it_is_left(clean_store: Store) -> None:
    async with clean_store.begin() as tx:
        await tx.execute(_STOP, new_id())
        assert await count_stops(clean_store) == 0
    assert await count_stops(clean_store) == 1


@pytest.mark.parametrize("error", [ValueError, asyncio.CancelledError])
async def test_a_transaction_that_fails_leaves_nothing(error: type[BaseException], clean_store: Store) -> None:
    with pytest.raises(error):
        await stop_and_raise(clean_store, error)
    assert await count_stops(clean_store) == 0


async def test_a_statement_outside_a_transaction_commits_by_itself(clean_store: Store) -> None:
    async with clean_store.connect() as tx:
        await tx.execute(_STOP, new_id())
        assert await count_stops(clean_store) == 1


async def test_every_connection_is_bounded(clean_store: Store) -> None:
    """A process that is frozen anywhere must not make others wait for long."""
    async with clean_store.connect() as tx:
        shown = {name: await tx.fetchval(f"SHOW {name}") for name in SESSION_SETTINGS}
    assert shown == SESSION_SETTINGS


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


async def test_a_server_that_is_not_there_is_unavailable(clean_store: Store) -> None:
    nowhere = f"postgresql://nobody@127.0.0.1:{free_port()}/nothing"
    with pytest.raises(StoreUnavailable):
        async with open_store(lambda: nowhere):
            pass
    absent = Store(clean_store.pool, lambda: nowhere)
    with pytest.raises(StoreUnavailable):
        await absent.dedicated()


async def test_whoever_can_start_the_server_again_is_told_of_a_refused_connection() -> None:
    told = asyncio.Event()
    nowhere = f"postgresql://nobody@127.0.0.1:{free_port()}/nothing"
    with pytest.raises(StoreUnavailable):
        async with open_store(lambda: nowhere, on_failure=told.set):
            pass
    assert told.is_set()


async def test_the_address_is_asked_for_at_every_new_connection(shared_dsn: str) -> None:
    addresses = [shared_dsn]
    asked: list[str] = []

    def read_dsn() -> str:
        asked.append(addresses[-1])
        return addresses[-1]

    async with open_store(read_dsn, min_size=0, max_size=1) as store:
        async with store.connect() as tx:
            await break_connection(tx)
        addresses.append(f"postgresql://nobody@127.0.0.1:{free_port()}/nothing")
        with pytest.raises(StoreUnavailable):
            async with store.connect():
                pass
        addresses.append(shared_dsn)
        assert await count_stops(store) >= 0
    assert asked == addresses


async def break_connection(tx: Tx) -> None:
    with pytest.raises(Exception, match="terminating connection"):
        await tx.execute("SELECT pg_terminate_backend(pg_backend_pid())")


async def test_the_pool_survives_the_loss_of_all_its_connections(shared_dsn: str, clean_store: Store) -> None:
    async with open_store(lambda: shared_dsn, min_size=3, max_size=3) as store:
        async with store.connect() as a, store.connect() as b, store.connect() as c:
            pids = [await tx.fetchval("SELECT pg_backend_pid()") for tx in (a, b, c)]
        async with clean_store.connect() as tx:
            await tx.execute("SELECT pg_terminate_backend(pid) FROM unnest($1::int[]) AS pid", pids)
        async with asyncio.timeout(LIMIT):
            while True:
                try:
                    async with store.begin() as tx:
                        await tx.execute(_STOP, new_id())
                except StoreUnavailable:
                    continue
                break
    assert await count_stops(clean_store) == 1


async def test_a_connection_that_dies_within_a_transaction_is_unavailable_and_leaves_nothing(
    clean_store: Store,
) -> None:
    with pytest.raises(StoreUnavailable):
        await stop_and(clean_store, "SELECT pg_terminate_backend(pg_backend_pid())")
    assert await count_stops(clean_store) == 0


async def test_a_transaction_that_is_left_idle_is_thrown_out(clean_store: Store) -> None:
    with pytest.raises(StoreUnavailable):
        await stop_and_idle(clean_store)
    assert await count_stops(clean_store) == 0


@pytest.mark.parametrize("limit", ["statement_timeout", "lock_timeout"])
async def test_a_statement_that_takes_too_long_is_unavailable(limit: str, clean_store: Store) -> None:
    async with clean_store.begin() as holder:
        await holder.execute("LOCK TABLE outbox")
        with pytest.raises(StoreUnavailable):
            await stop_and(clean_store, f"SET LOCAL {limit} = '20ms'", "LOCK TABLE outbox")
    assert await count_stops(clean_store) == 0


async def test_a_mistake_of_ours_keeps_its_own_name(clean_store: Store) -> None:
    with pytest.raises(Exception, match="does not exist") as mistake:
        async with clean_store.connect() as tx:
            await tx.execute("SELECT nonsense")
    assert not isinstance(mistake.value, StoreUnavailable)
