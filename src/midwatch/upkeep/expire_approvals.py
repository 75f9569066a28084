"""The chore that says no to what nobody has answered in time."""

import asyncio
from datetime import timedelta

import structlog

from midwatch.domain.errors import StoreUnavailable
from midwatch.intake.decide_approval import expire_approvals
from midwatch.store.engine import Store
from midwatch.timeline.flush import Flusher

INTERVAL = timedelta(seconds=2)

log = structlog.get_logger()


async def keep_expiring_approvals(store: Store, flusher: Flusher, *, interval: timedelta = INTERVAL) -> None:
    while True:
        try:
            await expire_approvals(store, flusher)
        except StoreUnavailable:
            # Others say so louder.
            log.debug("expiring_postponed")
        except Exception:
            # A boundary: nobody can say yes to what is overdue, whether that is written down or not.
            log.exception("expiring_failed")
        await asyncio.sleep(interval.total_seconds())
