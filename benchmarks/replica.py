"""Our side: a whole replica on a real PostgreSQL, and sessions that it runs from submit to their published end."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

from benchmarks.workload import Workload
from midwatch.config.env import Env
from midwatch.config.load import load_config
from midwatch.config.telemetry import Telemetry
from midwatch.domain.timeline import EventType
from midwatch.intake.submit_alert import Alert
from midwatch.kit.memory import settle_memory
from midwatch.running import Service
from midwatch.store.embedded import open_embedded_postgres
from midwatch.store.migrate import upgrade_schema
from midwatch.timeline.hub import Overflow
from midwatch.wiring import Plan, open_service

_STATUS = f'"type":"{EventType.SESSION_STATUS}"'.encode()
_WELL = b'"status":"completed"'
_ILL = (b'"status":"failed"', b'"status":"timed_out"', b'"status":"cancelled"')
_LIMIT = 120.0


class Unpublished(Exception):
    """A session did not reach its subscriber whole, so its cost says nothing."""


@contextmanager
def temporary_folder() -> Generator[Path]:
    """One that another user may enter: started by root, PostgreSQL runs as somebody else."""
    folder = Path(tempfile.mkdtemp(prefix="midwatch-bench-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@asynccontextmanager
async def open_database(home: Path) -> AsyncGenerator[str]:
    """The address of a migrated database."""
    async with open_embedded_postgres(home) as server:
        await upgrade_schema(server.read_dsn())
        yield server.read_dsn()


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    service: Service

    async def run_session(self, workload: Workload) -> UUID:
        """Returns when a subscriber has been told that the session is completed and its slot is free again."""
        alert = Alert(data="The machine feels slow.", alert_type=workload.name, author="benchmark")
        async with asyncio.timeout(_LIMIT):
            session_id = await self.service.intake.submit(alert)
            await self._watch(session_id)
            await self._wait_until_idle()
        return session_id

    async def _watch(self, session_id: UUID) -> None:
        seen = 0
        async with self.service.hub.subscribe(session_id, after=0) as subscription:
            while True:
                item = await subscription.next()
                if isinstance(item, Overflow):
                    raise Unpublished("the subscriber could not keep up")
                if item.seq is None:
                    continue
                seen += 1
                if seen != item.seq:
                    raise Unpublished(f"event {seen} is missing")
                if _has_completed(item.data):
                    return

    async def _wait_until_idle(self) -> None:
        while self.service.worker.busy_slots:  # noqa: ASYNC110 -- a worker tells nobody that a slot is free
            await asyncio.sleep(0.001)

    async def count_calls(self, session_id: UUID) -> int:
        async with self.service.store.connect() as tx:
            return await tx.fetchval(
                "SELECT count(*) FROM tool_calls WHERE session_id = $1 AND state = 'finished' AND error_code IS NULL",
                session_id,
            )


@asynccontextmanager
async def open_replica(config_folder: Path, dsn: str, *, telemetry: Telemetry | None = None) -> AsyncGenerator[Replica]:
    config = load_config(config_folder, environ={})
    config = config if telemetry is None else replace(config, telemetry=telemetry)
    plan = Plan(config=config, env=bench_env(config_folder, dsn), environ=os.environ)
    async with open_service(plan) as service, asyncio.TaskGroup() as group:
        group.create_task(service.run(), name="replica")
        settle_memory()  # as `midwatch serve` does
        yield Replica(service=service)
        service.worker.drain()


def _has_completed(event: bytes) -> bool:
    """Told from the bytes: a subscriber passes them on and does not read them."""
    if _STATUS not in event:
        return False
    if any(word in event for word in _ILL):
        raise Unpublished(f"a session did not complete: {event.decode()}")
    return _WELL in event


def bench_env(folder: Path, dsn: str) -> Env:
    return Env(
        home=folder,
        database_url=dsn,
        host="127.0.0.1",
        port=0,
        pod_id="benchmark",
        log_level="warning",
        log_format="text",
        config_dir=folder,
    )
