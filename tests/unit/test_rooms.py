"""Rules of the house that no linter checks."""

import subprocess
import sys
from pathlib import Path

import pytest

import midwatch

ROOT = Path(midwatch.__file__).parent


@pytest.mark.parametrize("library", ["asyncpg", "sqlalchemy", "alembic", "fastapi"])
def test_the_agent_loop_loads_no_database(library: str) -> None:
    code = f"import sys, midwatch.agent.loop; sys.exit({library!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_doors_of_rooms_are_empty() -> None:
    """An import of a room's `__init__` escapes the import contracts."""
    doors = [path for path in ROOT.rglob("__init__.py") if path.parent != ROOT]
    assert doors
    assert [str(path) for path in doors if path.read_text(encoding="utf-8").strip()] == []


def test_no_module_bears_a_name_that_says_nothing() -> None:
    empty_words = {"utils", "helpers", "common", "base", "manager", "service", "types", "constants"}
    assert [str(path) for path in ROOT.rglob("*.py") if path.stem in empty_words] == []


def test_every_module_opens_with_its_charter() -> None:
    modules = [path for path in ROOT.rglob("*.py") if path.name != "__init__.py"]
    assert [str(path) for path in modules if not path.read_text(encoding="utf-8").startswith('"""')] == []
