"""Selections: what a person picks is meant."""

from midwatch.store.scripts import run_script

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    run_script(__file__)


def downgrade() -> None:
    msg = "revisions only go forward: restore a backup instead"
    raise RuntimeError(msg)
