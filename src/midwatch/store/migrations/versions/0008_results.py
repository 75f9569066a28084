"""Results: kept whole."""

from midwatch.store.scripts import run_script

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    run_script(__file__)


def downgrade() -> None:
    msg = "revisions only go forward: restore a backup instead"
    raise RuntimeError(msg)
