"""What a command finds around it: the environment with the folder's `.env`, and the database these lead to."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from midwatch.config.dotenv import with_dotenv
from midwatch.config.env import Env, read_env
from midwatch.store.embedded import open_embedded_postgres
from midwatch.store.postgres.cluster import Cluster, has_data, unusable_home


def read_all_env(config_dir: Path | None, environ: Mapping[str, str]) -> Env:
    """With the `.env` of the folder that is given or that the environment names."""
    early = read_env(environ)
    folder = config_dir or early.config_dir
    return early if folder is None else replace(read_env(with_dotenv(folder, environ)), config_dir=folder)


def has_database(env: Env) -> bool:
    """Whether there is one, without making one. Raises Misconfigured when it cannot be seen."""
    try:
        return env.database_url is not None or has_data(Cluster(env.home / "postgres"))
    except OSError as error:
        raise unusable_home(env.home, error) from error


@asynccontextmanager
async def open_database(env: Env) -> AsyncGenerator[str]:
    """How to connect. Our own server is started unless another process runs it, and stopped again."""
    if env.database_url is not None:
        yield env.database_url
        return
    async with open_embedded_postgres(env.home) as server:
        yield server.read_dsn()


def name_database(env: Env) -> str:
    return f"our own, in {env.home}" if env.database_url is None else "the one of DATABASE_URL"
