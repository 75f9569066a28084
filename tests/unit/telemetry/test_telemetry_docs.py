"""The page about telemetry says what is there."""

from pathlib import Path

from midwatch.telemetry.labels import MOST_VALUES
from midwatch.telemetry.reference import render_table

PAGE = (Path(__file__).parents[3] / "docs" / "telemetry.md").read_text(encoding="utf-8")


def test_the_table_of_metrics_is_the_list_of_what_is_counted() -> None:
    """`python -m midwatch.telemetry.reference` writes it."""
    begin = PAGE.index("| metric |")
    assert PAGE[begin : PAGE.index("\n\n", begin) + 1] == render_table()


def test_the_limits_of_labels_are_told() -> None:
    assert f"beyond {MOST_VALUES} values of a label" in PAGE
