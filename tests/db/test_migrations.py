"""Bringing the schema up to date: once, by whoever comes first, and never backwards."""

import asyncio
import secrets
from collections.abc import AsyncGenerator

import pytest
from structlog.testing import capture_logs

from midwatch.domain.errors import Misconfigured
from midwatch.store import driver
from midwatch.store.embedded import EmbeddedPostgres
from midwatch.store.migrate import upgrade_schema
from tests.databases import create_database, drop_database

LIMIT = 20


@pytest.fixture
async def empty_dsn(postgres: EmbeddedPostgres) -> AsyncGenerator[str]:
    dsn = await create_database(postgres.read_dsn(), f"test_{secrets.token_hex(6)}")
    yield dsn
    await drop_database(postgres.read_dsn(), dsn)


async def read_shape(dsn: str) -> tuple[str | None, list[str]]:
    """The revision, and every column there is."""
    connection = await driver.connect(dsn)
    try:
        revision = await connection.fetchval("SELECT version_num FROM alembic_version")
        columns = await connection.fetch(
            "SELECT table_name || '.' || column_name AS name FROM information_schema.columns "
            "WHERE table_schema = 'public' ORDER BY 1"
        )
    finally:
        await connection.close()
    return revision, [row["name"] for row in columns]


async def execute(dsn: str, statement: str) -> None:
    connection = await driver.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def test_two_that_upgrade_an_empty_database_at_once_both_succeed(empty_dsn: str) -> None:
    with capture_logs() as logs:
        async with asyncio.timeout(LIMIT), asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(upgrade_schema(empty_dsn))
    assert [entry["event"] for entry in logs] == ["schema_upgraded"]
    revision, columns = await read_shape(empty_dsn)
    assert revision is not None
    assert "session_feeds.seq" in columns


async def test_a_second_upgrade_changes_nothing(dsn: str) -> None:
    before = await read_shape(dsn)
    with capture_logs() as logs:
        await upgrade_schema(dsn)
    assert logs == []
    assert await read_shape(dsn) == before


async def test_nobody_begins_on_a_schema_of_a_newer_release_and_it_is_left_as_it_is(dsn: str) -> None:
    await execute(dsn, "UPDATE alembic_version SET version_num = '9999'")
    before = await read_shape(dsn)
    with pytest.raises(Misconfigured, match=r"a newer Midwatch made this schema \(9999; this one knows \d{4}\)"):
        await upgrade_schema(dsn)
    assert await read_shape(dsn) == before
