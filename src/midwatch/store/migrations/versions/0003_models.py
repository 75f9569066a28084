"""Models: fallbacks and costs."""

from midwatch.store.scripts import run_script

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run_script(__file__)


def downgrade() -> None:
    msg = "revisions only go forward: restore a backup instead"
    raise RuntimeError(msg)
