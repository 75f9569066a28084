"""What tests of whole processes share."""

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.programs import own_home


@pytest.fixture
def home() -> Generator[Path]:
    with own_home() as home:
        yield home
