"""Mentions: whose questions may say what is meant."""

from midwatch.store.scripts import run_script

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    run_script(__file__)


def downgrade() -> None:
    msg = "revisions only go forward: restore a backup instead"
    raise RuntimeError(msg)
