"""Brings the schema up to date at start. Replicas that start together take turns under an advisory lock."""

from functools import partial
from pathlib import Path

import structlog
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from midwatch.store.driver import connect_first

_FOLDER = Path(__file__).parent / "migrations"
_LOCK = 0x6D696477_61746368  # "midwatch"

log = structlog.get_logger()


async def upgrade_schema(dsn: str) -> None:
    """Raises StoreUnavailable and, for a URL that is none, Misconfigured."""
    engine = create_async_engine("postgresql+asyncpg://", poolclass=NullPool, async_creator=partial(connect_first, dsn))
    try:
        async with engine.begin() as connection:
            await connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
            await connection.run_sync(_upgrade)
    finally:
        await engine.dispose()


def _upgrade(connection: Connection) -> None:
    config = Config()
    config.set_main_option("script_location", str(_FOLDER))
    newest = ScriptDirectory.from_config(config).get_current_head()
    present = MigrationContext.configure(connection).get_current_revision()
    if present == newest:
        return
    if present is not None and not _is_known(config, present):
        # A newer replica has already expanded the schema; expand-first keeps it usable by this one.
        log.warning("schema_is_newer", revision=present, known=newest)
        return
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    log.info("schema_upgraded", revision=newest)


def _is_known(config: Config, revision: str) -> bool:
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    return revision in known
