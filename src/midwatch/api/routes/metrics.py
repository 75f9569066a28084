"""What Prometheus scrapes: the counters of this replica, and what it can see right now."""

import asyncio

from fastapi import APIRouter
from starlette.responses import PlainTextResponse, Response

from midwatch import __version__
from midwatch.api.description import refusals
from midwatch.api.state import TheMeters, TheSightings, TheStore, TheWorker
from midwatch.domain.errors import NotFound, StoreUnavailable
from midwatch.queue.worker import Worker
from midwatch.store.engine import Store
from midwatch.store.readings import QueueDepth, read_queue_depth
from midwatch.telemetry import series
from midwatch.telemetry.metrics import Meters
from midwatch.tools.sightings import Sightings

_PATIENCE = 1.0
"""Seconds for the database. A scrape that fails tells less than one without the depth of the queue."""
_TYPE = "text/plain; version=0.0.4; charset=utf-8"

router = APIRouter()


@router.get("/metrics", summary="Show the metrics", response_class=PlainTextResponse, responses=refusals(404))
async def show_metrics(meters: TheMeters, store: TheStore, worker: TheWorker, sightings: TheSightings) -> Response:
    """As text for Prometheus. Counters are those of this replica, since its start."""
    _show_replica(meters, worker, sightings)
    await _show_queue(meters, store)
    # On a thread: with many tools and models it is a text of thousands of lines, and others are waiting.
    text = await asyncio.to_thread(meters.render)
    if text is None:
        raise NotFound("page", "/metrics")
    return Response(text, media_type=_TYPE)


def _show_replica(meters: Meters, worker: Worker, sightings: Sightings) -> None:
    meters.show(series.BUILD, (__version__,), amount=1)
    meters.show(series.WORKERS, amount=worker.slots)
    meters.show(series.BUSY_WORKERS, amount=worker.busy_slots)
    for server, sighting in sightings.seen.items():
        meters.show(series.SERVER_HEALTH, (server,), amount=float(sighting.healthy))


async def _show_queue(meters: Meters, store: Store) -> None:
    depth = await _read_depth(store)
    meters.show(series.DATABASE_UP, amount=float(depth is not None))
    # What is not known is no number: a queue that looks empty would quieten an alarm.
    meters.show(series.QUEUED, amount=float("nan") if depth is None else depth.queued)
    meters.show(series.ACTIVE, amount=float("nan") if depth is None else depth.active)


async def _read_depth(store: Store) -> QueueDepth | None:
    try:
        async with asyncio.timeout(_PATIENCE), store.connect() as connection:
            try:
                return await read_queue_depth(connection)
            except asyncio.CancelledError:
                # Given back to the pool it would first wait for the server that does not answer.
                connection.terminate()
                raise
    except (StoreUnavailable, TimeoutError):
        return None
