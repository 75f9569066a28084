"""Where Midwatch keeps everything: the folder may be written to, the server answers, the schema fits."""

import asyncio
import os
from pathlib import Path

from midwatch.cli.checks.finding import Finding, Grade, doubtful, fine, wrong
from midwatch.cli.surroundings import has_database, open_database
from midwatch.config.env import Env
from midwatch.domain.errors import MidwatchError, Misconfigured
from midwatch.store.migrate import Database, inspect_database, refuse_newer
from midwatch.store.postgres.cluster import unusable_home

_SUBJECT = "database"
_UPGRADE = "midwatch db upgrade"


async def check_database(env: Env, *, patience: float) -> list[Finding]:
    folder = [] if env.database_url is not None else check_home(env.home)
    if any(finding.grade is Grade.WRONG for finding in folder):
        return folder
    return [*folder, *await _check_server(env, patience=patience)]


def check_home(home: Path) -> list[Finding]:
    """Also one that is still to be made: then the folder that it will be made in counts."""
    try:
        there = next(folder for folder in (home, *home.parents) if folder.exists())
    except OSError as error:
        return wrong("data folder", unusable_home(home, error))
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        problem = f"MIDWATCH_HOME {home} cannot be used: {there} is not a folder that you may write to"
        return wrong("data folder", Misconfigured([problem]))
    return [fine("data folder", str(home) if there == home else f"{home}, made at the first start")]


async def _check_server(env: Env, *, patience: float) -> list[Finding]:
    try:
        if not has_database(env):
            return [fine(_SUBJECT, "our own, made at the first start")]
        async with asyncio.timeout(patience), open_database(env) as dsn:
            database = await inspect_database(dsn)
            refuse_newer(database.schema)
            return [_judge(database, own=env.database_url is None)]
    except TimeoutError:
        return wrong(_SUBJECT, f"no answer within {patience:g} s", remedy="midwatch db status")
    except MidwatchError as error:
        return wrong(_SUBJECT, error, remedy="midwatch db status")


def _judge(database: Database, *, own: bool) -> Finding:
    schema = database.schema
    server = f"PostgreSQL {database.server}, {'our own' if own else 'of DATABASE_URL'}"
    if schema.is_current:
        return fine(_SUBJECT, f"{server}; schema {schema.newest}, up to date")
    present = f"schema {schema.present} is behind {schema.newest}" if schema.present else "no schema yet"
    return doubtful(_SUBJECT, f"{server}; {present}; `midwatch serve` brings it up to date too", remedy=_UPGRADE)
