"""The spine: sessions, lease, journal, feed."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    script = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
    for statement in script.split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    msg = "the first revision is the floor: restore a backup instead"
    raise RuntimeError(msg)
