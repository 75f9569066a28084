"""A store for tests that only write rows: making a database costs more than most of them take."""

from collections.abc import AsyncGenerator

import pytest

from midwatch.store import driver
from midwatch.store.embedded import EmbeddedPostgres
from midwatch.store.engine import Store, open_store
from tests.databases import copy_template, drop_database


@pytest.fixture(scope="session")
async def shared_dsn(postgres: EmbeddedPostgres, template: str) -> AsyncGenerator[str]:
    dsn = await copy_template(postgres.read_dsn(), template)
    yield dsn
    await drop_database(postgres.read_dsn(), dsn)


@pytest.fixture
async def clean_store(shared_dsn: str) -> AsyncGenerator[Store]:
    """A store whose tables are empty, on a database that tests use one after another."""
    await _empty(shared_dsn)
    async with open_store(lambda: shared_dsn) as store:
        yield store


async def _empty(dsn: str) -> None:
    connection = await driver.connect(dsn)
    try:
        rows = await connection.fetch(
            "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
        )
        # What is only ever added to has a trigger that says so.
        await connection.execute("SET session_replication_role = replica")
        await connection.execute(";".join(f"DELETE FROM {row['tablename']}" for row in rows))
    finally:
        await connection.close()
