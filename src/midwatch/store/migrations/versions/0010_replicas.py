"""Replicas: who is there, and who can read what."""

from midwatch.store.scripts import run_script

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    run_script(__file__)


def downgrade() -> None:
    msg = "revisions only go forward: restore a backup instead"
    raise RuntimeError(msg)
