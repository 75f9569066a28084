"""Brings the schema up to date at start. Replicas that start together take turns under an advisory lock."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import NullPool

from midwatch.domain.errors import Misconfigured
from midwatch.store.driver import connect_first

_FOLDER = Path(__file__).parent / "migrations"
_LOCK = 0x6D696477_61746368  # "midwatch"

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    present: str | None
    """The revision in the database; None when it is empty."""
    newest: str
    """The revision that this Midwatch makes."""
    is_newer: bool
    """A later Midwatch made what is there."""

    @property
    def is_current(self) -> bool:
        return self.present == self.newest


@dataclass(frozen=True, slots=True, kw_only=True)
class Database:
    server: str
    """The version of PostgreSQL."""
    schema: Schema


async def upgrade_schema(dsn: str) -> Schema:
    """What was there before. Raises StoreUnavailable and, for what the operator must correct, Misconfigured."""
    async with _connected(dsn) as connection:
        await connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        return await connection.run_sync(_upgrade)


async def inspect_database(dsn: str) -> Database:
    """Changes nothing. Raises as `upgrade_schema` does."""
    async with _connected(dsn) as connection:
        server: str = (await connection.execute(text("SHOW server_version"))).scalar_one()
        schema = await connection.run_sync(lambda sync: _read_schema(sync, _alembic_config()))
    return Database(server=server.partition(" ")[0], schema=schema)


@asynccontextmanager
async def _connected(dsn: str) -> AsyncGenerator[AsyncConnection]:
    engine = create_async_engine("postgresql+asyncpg://", poolclass=NullPool, async_creator=partial(connect_first, dsn))
    try:
        async with engine.begin() as connection:
            yield connection
    finally:
        await engine.dispose()


def _upgrade(connection: Connection) -> Schema:
    config = _alembic_config()
    schema = _read_schema(connection, config)
    refuse_newer(schema)
    if not schema.is_current:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        log.info("schema_upgraded", revision=schema.newest)
    return schema


def refuse_newer(schema: Schema) -> None:
    """Replicas that run already stay usable, since revisions only add; but nobody begins on what he does not know."""
    if schema.is_newer:
        problem = f"a newer Midwatch made this schema ({schema.present}; this one knows {schema.newest})"
        raise Misconfigured([f"{problem}: install that version or a later one here too"])


def _alembic_config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    return config


def _read_schema(connection: Connection, config: Config) -> Schema:
    scripts = ScriptDirectory.from_config(config)
    present = MigrationContext.configure(connection).get_current_revision()
    known = {script.revision for script in scripts.walk_revisions()}
    return Schema(
        present=present,
        newest=scripts.get_current_head() or "",
        is_newer=present is not None and present not in known,
    )
