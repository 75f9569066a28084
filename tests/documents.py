"""What the documents promise, read for the tests that hold us to it."""

from functools import cache
from pathlib import Path

_MODELS = Path(__file__).parents[1] / "docs/models.md"


@cache
def list_failure_codes() -> frozenset[str]:
    """The codes with which a model call can fail."""
    return _read_first_column("## When a call fails")


@cache
def list_notices() -> frozenset[str]:
    return _read_first_column("## What is sent")


def _read_first_column(heading: str) -> frozenset[str]:
    _, _, section = _MODELS.read_text(encoding="utf-8").partition(f"{heading}\n")
    lines = section.partition("\n## ")[0].splitlines()
    cells = (line.split("|")[1].strip() for line in lines if line.startswith("|"))
    return frozenset(cell.strip("`") for cell in cells if cell.startswith("`"))
