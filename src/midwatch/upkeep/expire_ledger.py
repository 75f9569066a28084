"""The chore that forgets what was sent to models once it has been kept long enough."""

import asyncio
from datetime import timedelta

import structlog

from midwatch.domain.errors import StoreUnavailable
from midwatch.store.engine import Store
from midwatch.store.ledger import KEPT, expire_outbound

_AT_ONCE = 20
"""Executions in one transaction, which must stay short."""

log = structlog.get_logger()


async def keep_expiring(store: Store, *, interval: timedelta) -> None:
    while True:
        try:
            await expire_ledger(store)
        except StoreUnavailable:
            # Others say so louder.
            log.debug("expiring_postponed")
        except Exception:
            # A boundary: what is kept too long harms no run.
            log.exception("expiring_failed")
        await asyncio.sleep(interval.total_seconds())


async def expire_ledger(store: Store, *, kept: timedelta = KEPT) -> None:
    """Until nothing is left that is old enough."""
    while True:
        async with store.begin() as tx:
            gone = await expire_outbound(tx, older_than=kept, limit=_AT_ONCE)
        if gone < _AT_ONCE:
            return
