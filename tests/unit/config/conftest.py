"""A sound folder for every test of the configuration."""

from pathlib import Path

import pytest

from tests.unit.config.folder import MAIN, PROVIDERS, Folder


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.write("midwatch.yaml", MAIN)
    folder.write("llm-providers.yaml", PROVIDERS)
    return folder
