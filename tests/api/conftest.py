"""An edge that the tests of a module share; nobody works on its sessions."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from midwatch.store.embedded import EmbeddedPostgres
from tests.api.edge import Edge, open_edge, write_config
from tests.databases import copy_template, drop_database


@pytest.fixture(scope="module")
async def edge(
    postgres: EmbeddedPostgres, template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Edge]:
    folder = tmp_path_factory.mktemp("edge")
    write_config(folder)
    dsn = await copy_template(postgres.read_dsn(), template)
    try:
        async with open_edge(folder, dsn) as edge:
            yield edge
    finally:
        await drop_database(postgres.read_dsn(), dsn)


@pytest.fixture
def config_folder(tmp_path: Path) -> Path:
    write_config(tmp_path)
    return tmp_path
