"""The spine: sessions, lease, journal, feed."""

from midwatch.store.scripts import run_script

revision = "0001"
down_revision = None


def upgrade() -> None:
    run_script(__file__)


def downgrade() -> None:
    msg = "the first revision is the floor: restore a backup instead"
    raise RuntimeError(msg)
