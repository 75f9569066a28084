"""The configuration reference is written from the models."""

from pathlib import Path

from midwatch.config.reference import render_reference

ROOT = Path(__file__).resolve().parents[3]


def test_the_reference_in_the_docs_is_what_the_models_say() -> None:
    """After changing a model: python -m midwatch.config.reference > docs/configuration.md"""
    assert (ROOT / "docs/configuration.md").read_text(encoding="utf-8") == render_reference()


def test_every_key_is_explained() -> None:
    rows = [line for line in render_reference().splitlines() if line.startswith("| `")]
    assert len(rows) > 250
    assert [row for row in rows if row.endswith("|  |")] == []
