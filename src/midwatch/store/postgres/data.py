"""The data folder: made once and whole, and the password to it."""

import asyncio
import os
import secrets
import tempfile
from pathlib import Path

from midwatch.store.postgres.child import Setup, run
from midwatch.store.postgres.cluster import (
    ROLE,
    UNFINISHED,
    Access,
    check_may_create,
    has_data,
    read_access,
    write_access,
    write_secret,
)
from midwatch.store.postgres.stray import end_stray_server


async def prepare_data(setup: Setup) -> Access:
    """A data folder that nothing runs on, and the password to it."""
    cluster = setup.cluster
    if not has_data(cluster):
        check_may_create()
        return await _create_data(setup)
    await end_stray_server(cluster.data)
    access = read_access(cluster)
    if access is None:
        access = await _set_new_password(setup)
    return access


async def _create_data(setup: Setup) -> Access:
    """Makes the data folder under another name and renames it when it is whole."""
    cluster, account = setup.cluster, setup.account
    access = Access(password=secrets.token_urlsafe(32), port=0)
    write_access(cluster, access)
    fresh = Path(tempfile.mkdtemp(prefix=UNFINISHED, dir=cluster.folder))
    password_file = fresh.with_name(fresh.name + ".password")
    write_secret(password_file, access.password)
    for path in (fresh, password_file):
        os.chown(path, account.uid, account.gid)
    try:
        await run(setup, _initdb_command(fresh, password_file))
    finally:
        password_file.unlink()
    await asyncio.to_thread(_put_in_place, fresh, cluster.data)
    return access


def _initdb_command(data: Path, password_file: Path) -> list[str]:
    return [
        "initdb",
        f"--pgdata={data}",
        f"--username={ROLE}",
        f"--pwfile={password_file}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
    ]


def _put_in_place(fresh: Path, data: Path) -> None:
    fresh.rename(data)
    # Lost in a power cut, the new name would take with it all that was stored since.
    parent = os.open(data.parent, os.O_RDONLY)
    try:
        os.fsync(parent)
    finally:
        os.close(parent)


async def _set_new_password(setup: Setup) -> Access:
    """For a data folder whose dsn file was lost."""
    access = Access(password=secrets.token_urlsafe(32), port=0)
    statement = f"alter role {ROLE} password '{access.password}'\n"
    await run(setup, ["postgres", "--single", "-D", str(setup.cluster.data), "postgres"], stdin=statement.encode())
    write_access(setup.cluster, access)
    return access
