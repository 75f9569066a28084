"""The chore that forgets the whole of long tool results once they have been kept long enough."""

import asyncio
from datetime import timedelta

import structlog

from midwatch.domain.errors import StoreUnavailable
from midwatch.store.engine import Store
from midwatch.store.results import KEPT, expire_results

_AT_ONCE = 50
"""In one transaction, which must stay short."""

log = structlog.get_logger()


async def keep_expiring_results(store: Store, *, interval: timedelta) -> None:
    while True:
        try:
            await expire_old_results(store)
        except StoreUnavailable:
            # Others say so louder.
            log.debug("expiring_postponed")
        except Exception:
            # A boundary: what is kept too long harms no run.
            log.exception("expiring_failed")
        await asyncio.sleep(interval.total_seconds())


async def expire_old_results(store: Store, *, kept: timedelta = KEPT) -> None:
    """Until nothing is left that is old enough."""
    while True:
        async with store.begin() as tx:
            gone = await expire_results(tx, older_than=kept, limit=_AT_ONCE)
        if gone < _AT_ONCE:
            return
