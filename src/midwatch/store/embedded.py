"""The PostgreSQL that Midwatch brings along: one server for each home, started by whoever comes first.

The lock decides who runs the server. The kernel frees it when its holder dies, and then another process starts the
server again.
"""

import asyncio
import os
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import final

import structlog

from midwatch.domain.errors import StoreUnavailable
from midwatch.store.postgres.child import prepare_setup
from midwatch.store.postgres.cluster import (
    Cluster,
    make_cluster,
    read_access,
    read_log_end,
    take_lock,
)
from midwatch.store.postgres.data import prepare_data
from midwatch.store.postgres.postmaster import is_answering, start_server, stop_server

_START_LIMIT = 60.0
_LOCK_POLL = 0.5
_FIRST_RETRY = 0.2
_LAST_RETRY = 2.0

log = structlog.get_logger()


@final
class EmbeddedPostgres:
    """The PostgreSQL of one MIDWATCH_HOME, shared by every replica on this machine that uses the same home."""

    def __init__(self, cluster: Cluster, *, start_limit: float) -> None:
        self._cluster = cluster
        self._start_limit = start_limit
        self._server: Process | None = None
        self._lock: int | None = None
        self._doubt = asyncio.Event()
        self._left = False

    def read_dsn(self) -> str:
        """Read from its file each time: a survivor may have started the server again on another port."""
        access = read_access(self._cluster)
        if access is None:
            raise StoreUnavailable(f"the embedded PostgreSQL has not been started: no {self._cluster.dsn}")
        return access.dsn

    def suspect(self) -> None:
        """Somebody could not connect: look at once whether the server has to be started again."""
        self._doubt.set()

    async def join(self) -> None:
        """Returns once the server answers, started by us or by another."""
        try:
            async with asyncio.timeout(self._start_limit):
                while not (await self._start_if_free() or await self._is_answering()):  # noqa: ASYNC110 -- nobody tells us
                    await asyncio.sleep(0.1)
        except TimeoutError:
            raise self._explain_timeout() from None

    async def keep_running(self) -> None:
        """Starts the server again whenever nobody runs it. Returns only after `leave`."""
        retry = _FIRST_RETRY
        while not self._left:
            await self._wait_for_doubt()
            try:
                async with asyncio.timeout(self._start_limit):
                    await self._start_if_free()
                retry = _FIRST_RETRY
            except Exception:
                # A boundary: whatever failed this time, the service cannot live without the next attempt.
                log.exception("embedded_postgres_start_failed", retry_in=retry)
                await asyncio.sleep(retry)
                retry = min(retry * 2, _LAST_RETRY)

    async def leave(self) -> None:
        """Stops the server if we run it. Replicas that still need it start it again."""
        self._left = True
        self._doubt.set()
        try:
            if self._server is not None:
                await stop_server(self._server)
        finally:
            self._release()

    async def _start_if_free(self) -> bool:
        """Whether we run the server now."""
        if self._left:
            return False
        self._lock = take_lock(self._cluster)
        if self._lock is None:
            return False
        try:
            self._server = await self._start()
        finally:
            if self._server is None:
                self._release()
        return True

    async def _start(self) -> Process:
        setup = await prepare_setup(self._cluster)
        server, access = await start_server(setup, await prepare_data(setup))
        log.info("embedded_postgres_started", pid=server.pid, port=access.port)
        return server

    async def _wait_for_doubt(self) -> None:
        if self._server is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOCK_POLL):
                    await self._doubt.wait()
            self._doubt.clear()
            return
        status = await self._server.wait()
        if not self._left:
            log.warning("embedded_postgres_ended", status=status)
            self._release()

    async def _is_answering(self) -> bool:
        access = read_access(self._cluster)
        return access is not None and await is_answering(access)

    def _release(self) -> None:
        self._server = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _explain_timeout(self) -> StoreUnavailable:
        return StoreUnavailable(
            f"the embedded PostgreSQL in {self._cluster.folder} did not answer within {self._start_limit:g} s; "
            f"its log ends with:\n{read_log_end(self._cluster)}"
        )


@asynccontextmanager
async def open_embedded_postgres(home: Path, *, start_limit: float = _START_LIMIT) -> AsyncGenerator[EmbeddedPostgres]:
    """Leave it only after `keep_running` has been cancelled."""
    server = EmbeddedPostgres(make_cluster(home), start_limit=start_limit)
    try:
        await server.join()
        yield server
    finally:
        await server.leave()
