"""Can this replica accept an alert, and is anybody there to work on it?"""

import asyncio
from http import HTTPStatus

from fastapi import APIRouter, Response

from midwatch import __version__
from midwatch.api.schemas import DatabaseCheck, HealthChecks, HealthOut, ReadyOut, WorkerPoolCheck
from midwatch.api.state import TheChatWorker, TheStore, TheWorker
from midwatch.domain.errors import StoreUnavailable
from midwatch.queue.worker import Worker
from midwatch.store.driver import Connection
from midwatch.store.engine import Store

# Well under what a probe waits for: a database that hangs must look unhealthy, not silent.
_PATIENCE = 2.0
_SICK = "The database does not answer"
_UNREADY = "Alerts should be sent elsewhere; the checks say why"

router = APIRouter()


@router.get(
    "/health", summary="Show whether this replica is well", responses={503: {"model": HealthOut, "description": _SICK}}
)
async def show_health(store: TheStore, worker: TheWorker, chat_worker: TheChatWorker, response: Response) -> HealthOut:
    """Degraded is still a 200: alerts are accepted, and wait while nobody works on them."""
    checks = await _check(store, worker, chat_worker)
    if checks.database.status == "unhealthy":
        response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
        status = "unhealthy"
    else:
        is_well = checks.worker_pool.status == checks.chat_pool.status == "healthy"
        status = "healthy" if is_well else "degraded"
    return HealthOut(status=status, version=__version__, checks=checks)


@router.get(
    "/ready", summary="Show whether to send alerts here", responses={503: {"model": ReadyOut, "description": _UNREADY}}
)
async def show_readiness(
    store: TheStore, worker: TheWorker, chat_worker: TheChatWorker, response: Response
) -> ReadyOut:
    """For whoever spreads the load: the database answers, somebody works, and nobody is stopping us."""
    checks = await _check(store, worker, chat_worker)
    ready = checks.database.status == "healthy" and worker.live_slots > 0 and not worker.is_stopping
    if not ready:
        response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
    return ReadyOut(ready=ready, checks=checks)


async def _check(store: Store, worker: Worker, chat_worker: Worker) -> HealthChecks:
    return HealthChecks(
        database=await _check_database(store),
        worker_pool=_check_workers(worker),
        chat_pool=_check_workers(chat_worker),
    )


async def _check_database(store: Store) -> DatabaseCheck:
    try:
        async with asyncio.timeout(_PATIENCE), store.connect() as connection:
            await _ask(connection)
    except (StoreUnavailable, TimeoutError) as error:
        return DatabaseCheck(status="unhealthy", message=str(error) or "the database did not answer in time")
    return DatabaseCheck(status="healthy")


async def _ask(connection: Connection) -> None:
    try:
        await connection.fetchval("SELECT 1")
    except asyncio.CancelledError:
        # Given back to the pool it would first wait for the server that does not answer.
        connection.terminate()
        raise


def _check_workers(worker: Worker) -> WorkerPoolCheck:
    all_live = worker.live_slots == worker.slots
    return WorkerPoolCheck(
        status="stopping" if worker.is_stopping else "healthy" if all_live else "degraded",
        total_slots=worker.slots,
        live_slots=worker.live_slots,
        busy_slots=worker.busy_slots,
    )
