"""The chore that makes sessions findable, shortly after they were submitted and again once they have ended."""

import asyncio

import structlog

from midwatch.domain.errors import StoreUnavailable
from midwatch.store.engine import Store
from midwatch.store.search import index_documents

_INTERVAL = 2.0
_AT_ONCE = 10
"""Few: a transaction that is idle for seconds is thrown out, and words are cut on the loop that serves requests."""

log = structlog.get_logger()


async def keep_indexing(store: Store, *, interval: float = _INTERVAL) -> None:
    while True:
        try:
            await index_waiting(store)
        except StoreUnavailable:
            # Others say so louder.
            log.debug("indexing_postponed")
        except Exception:
            # A boundary: what cannot be found by its words is still run, listed and read.
            log.exception("indexing_failed")
        await asyncio.sleep(interval)


async def index_waiting(store: Store) -> None:
    """Until nothing waits, or another replica is at it."""
    while True:
        async with store.begin() as tx:
            taken = await index_documents(tx, limit=_AT_ONCE)
        if taken < _AT_ONCE:
            return
