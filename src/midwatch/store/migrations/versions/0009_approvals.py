"""Approvals: asked, decided, kept on record."""

from midwatch.store.scripts import run_script

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    run_script(__file__)


def downgrade() -> None:
    msg = "revisions only go forward: restore a backup instead"
    raise RuntimeError(msg)
