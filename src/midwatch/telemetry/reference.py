"""The table of metrics for the documentation, written from the list itself so that it cannot go stale."""

from collections.abc import Iterator

from midwatch.telemetry.series import CATALOGUE, Series


def render_table() -> str:
    return "\n".join(["| metric | kind | labels | what it says |", "|---|---|---|---|", *_rows()]) + "\n"


def _rows() -> Iterator[str]:
    for series in CATALOGUE:
        yield f"| `{series.name}` | {series.shape} | {_name_labels(series)} | {series.meaning} |"


def _name_labels(series: Series) -> str:
    return ", ".join(f"`{label.name}`" for label in series.labels)


if __name__ == "__main__":
    print(render_table(), end="")  # noqa: T201 -- this is what running it is for
