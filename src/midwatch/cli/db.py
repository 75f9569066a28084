"""`midwatch db`: what is in the database, and bringing its schema up to date without starting the service."""

import asyncio
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from midwatch.cli.ending import DONE, FAILED, run_to_status
from midwatch.cli.flags import config_dir_flag, json_flag

if TYPE_CHECKING:
    from midwatch.config.env import Env
    from midwatch.store.migrate import Database, Schema

_EMPTY = "not made yet"
_NEXT = "next      midwatch db upgrade"


@click.group(short_help="Look at the database, or bring it up to date.")
def db() -> None:
    """The database of DATABASE_URL or, without that variable, our own in the folder MIDWATCH_HOME."""


@db.command(short_help="Bring the schema up to date.")
@config_dir_flag
def upgrade(*, config_dir: Path | None) -> None:
    """Bring the schema up to date, and make our own database if it is not there yet.

    `midwatch serve` does the same when it starts. Several at once take turns. Replicas of the version before go on
    working: a schema only ever grows.

    Exit status: 0 up to date, 1 failed, 2 misconfigured, or made by a newer Midwatch.
    """
    sys.exit(run_to_status(lambda: asyncio.run(_upgrade(config_dir))))


@db.command(short_help="Show the server's version and the schema's.")
@config_dir_flag
@json_flag
def status(*, config_dir: Path | None, as_json: bool) -> None:
    """Show which database it is, its version and its schema's. Nothing is changed.

    Exit status: 0 up to date, 1 not, or not reachable, 2 misconfigured, or made by a newer Midwatch.
    """
    sys.exit(run_to_status(lambda: asyncio.run(_show(config_dir, as_json=as_json))))


async def _upgrade(config_dir: Path | None) -> int:
    from midwatch.cli.surroundings import open_database
    from midwatch.store.migrate import upgrade_schema

    env = _prepare(config_dir)
    _tell_place(env)
    async with open_database(env) as dsn:
        before = await upgrade_schema(dsn)
    click.echo(f"schema    {_describe_upgrade(before)}")
    return DONE


async def _show(config_dir: Path | None, *, as_json: bool) -> int:
    from midwatch.store.migrate import refuse_newer

    env = _prepare(config_dir)
    database = await _inspect(env)
    if as_json:
        click.echo(_render_json(env, database))
    else:
        _tell_place(env)
        click.echo("\n".join(_render_lines(database)))
    if database is not None:
        refuse_newer(database.schema)
    return DONE if database is not None and database.schema.is_current else FAILED


async def _inspect(env: "Env") -> "Database | None":
    from midwatch.cli.surroundings import has_database, open_database
    from midwatch.store.migrate import inspect_database

    if not has_database(env):
        return None
    async with open_database(env) as dsn:
        return await inspect_database(dsn)


def _prepare(config_dir: Path | None) -> "Env":
    from midwatch.cli.surroundings import read_all_env
    from midwatch.telemetry.logs import configure_logs

    configure_logs("error", "text")
    return read_all_env(config_dir, os.environ)


def _tell_place(env: "Env") -> None:
    from midwatch.cli.surroundings import name_database

    click.echo(f"database  {name_database(env)}")


def _describe_upgrade(before: "Schema") -> str:
    if before.is_current:
        return f"{before.newest}, up to date already"
    return f"{before.newest}, upgraded from {before.present}" if before.present else f"{before.newest}, made"


def _describe(schema: "Schema") -> str:
    if schema.is_current:
        return f"{schema.newest}, up to date"
    if schema.is_newer:
        return f"{schema.present}, newer than {schema.newest}, which this Midwatch makes"
    return f"{schema.present or _EMPTY}; this Midwatch makes {schema.newest}"


def _render_lines(database: "Database | None") -> list[str]:
    if database is None:
        return ["server    not started", f"schema    {_EMPTY}", _NEXT]
    lines = [f"server    PostgreSQL {database.server}", f"schema    {_describe(database.schema)}"]
    is_older = not database.schema.is_current and not database.schema.is_newer
    return [*lines, _NEXT] if is_older else lines


def _render_json(env: "Env", database: "Database | None") -> str:
    from midwatch.kit.json import encode_text

    schema = None if database is None else database.schema
    return encode_text(
        {
            "kind": "embedded" if env.database_url is None else "external",
            "server_version": None if database is None else database.server,
            "schema": None if schema is None else schema.present,
            "newest_schema": None if schema is None else schema.newest,
            "up_to_date": schema is not None and schema.is_current,
        }
    )
