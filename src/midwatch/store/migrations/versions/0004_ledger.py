"""The ledger: what left for a model."""

from midwatch.store.scripts import run_script

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    run_script(__file__)


def downgrade() -> None:
    msg = "revisions only go forward: restore a backup instead"
    raise RuntimeError(msg)
