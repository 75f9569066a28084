"""Databases for tests, made from a template so that migrations run once."""

import secrets
from urllib.parse import urlsplit, urlunsplit

from midwatch.store import driver


async def create_database(server: str, name: str, *, template: str | None = None) -> str:
    connection = await driver.connect(server)
    try:
        await connection.execute(f'CREATE DATABASE "{name}"' + (f' TEMPLATE "{template}"' if template else ""))
    finally:
        await connection.close()
    return with_database(server, name)


async def copy_template(server: str, template: str) -> str:
    return await create_database(server, f"test_{secrets.token_hex(6)}", template=template)


async def drop_database(server: str, dsn: str) -> None:
    connection = await driver.connect(server)
    try:
        await connection.execute(f'DROP DATABASE "{urlsplit(dsn).path[1:]}" WITH (FORCE)')
    finally:
        await connection.close()


def with_database(server: str, name: str) -> str:
    return urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
