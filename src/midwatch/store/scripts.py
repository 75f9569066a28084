"""Revisions are plain SQL files; this runs one inside Alembic."""

from pathlib import Path

from alembic import op


def run_script(revision: str) -> None:
    """Runs the SQL file beside the revision's module, statement by statement."""
    script = Path(revision).with_suffix(".sql").read_text(encoding="utf-8")
    for statement in script.split(";\n"):
        if statement.strip():
            op.execute(statement)
