"""What every test shares: the asyncio backend, and a real PostgreSQL with a migrated database for each test."""

import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from midwatch.store.embedded import EmbeddedPostgres, open_embedded_postgres
from midwatch.store.engine import Store, open_store
from midwatch.store.migrate import upgrade_schema
from tests.canaries import WATCH, watch_this_process
from tests.databases import copy_template, create_database, drop_database

# The children that tests start must not try to go on with gRPC's threads.
os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")

# How long something takes depends on what else the machine does: no test may fail for it.
settings.register_profile("midwatch", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("midwatch")


@pytest.fixture(scope="session", autouse=True)
def discreet_logs() -> Generator[None]:
    """At the end of the run, or of this process's part of it: no log has told what was planted."""
    yield
    assert not WATCH.leaks, "\n".join(["logs hold what nobody may log:", *WATCH.leaks])


@pytest.fixture(autouse=True)
def watched_logs() -> None:
    """Before each test, since one before may have configured them anew."""
    watch_this_process()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
async def one_loop(anyio_backend: str) -> AsyncGenerator[None]:
    """Keeps one event loop for the rest of the run: gRPC stumbles over late news for a loop that is closed."""
    assert anyio_backend
    yield  # noqa: PT022 - a fixture that has returned keeps nothing


@pytest.fixture(scope="session")
async def postgres(anyio_backend: str) -> AsyncGenerator[EmbeddedPostgres]:
    """One server for the whole run, as Midwatch itself starts it."""
    assert anyio_backend
    # Not below pytest's own folder: when root runs the tests the server runs as another user, who must get in.
    home = Path(tempfile.mkdtemp(prefix="midwatch-tests-"))
    home.chmod(0o755)
    try:
        async with open_embedded_postgres(home) as server:
            yield server
    finally:
        shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
async def template(postgres: EmbeddedPostgres) -> str:
    """The name of a database that only holds the schema."""
    dsn = await create_database(postgres.read_dsn(), "midwatch_template")
    await upgrade_schema(dsn)
    return "midwatch_template"


@pytest.fixture
async def dsn(postgres: EmbeddedPostgres, template: str) -> AsyncGenerator[str]:
    """A database of this test's own."""
    dsn = await copy_template(postgres.read_dsn(), template)
    try:
        yield dsn
    finally:
        await drop_database(postgres.read_dsn(), dsn)


@pytest.fixture
async def store(dsn: str) -> AsyncGenerator[Store]:
    async with open_store(lambda: dsn) as store:
        yield store
