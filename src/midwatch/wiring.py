"""The only place that builds things, and the order in which they are taken down again."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

import structlog

from midwatch.api.state import State
from midwatch.config.env import Env
from midwatch.config.limits import Limits
from midwatch.config.load import Config
from midwatch.config.scope import find_scope
from midwatch.domain.errors import StoreUnavailable
from midwatch.intake.submit_alert import Intake, alert_mask
from midwatch.investigation.means import Means
from midwatch.investigation.session import run_session
from midwatch.kit.ids import new_id
from midwatch.kit.owned import OwnedTasks
from midwatch.llm.gateway import Gateway
from midwatch.llm.http import new_http_client
from midwatch.llm.prices import Prices
from midwatch.llm.remote import open_remote
from midwatch.queue.claim import Claimant
from midwatch.queue.lease import Lease, LeaseTimes
from midwatch.queue.worker import Worker
from midwatch.store.embedded import open_embedded_postgres
from midwatch.store.engine import Store, open_store
from midwatch.store.feed import FEED_CHANNEL
from midwatch.store.migrate import upgrade_schema
from midwatch.store.sessions import WAKE_CHANNEL
from midwatch.timeline.announce import announce_status
from midwatch.timeline.flush import Flusher
from midwatch.timeline.hub import Hub
from midwatch.timeline.listen import listen
from midwatch.timeline.warnings import Warnings
from midwatch.tools.health import HealthMonitor, Opener
from midwatch.tools.inflight import CallsInFlight
from midwatch.tools.pins import StoredPins
from midwatch.tools.sightings import Sightings
from midwatch.tools.workbench import Opening, Scopes, open_server_scope
from midwatch.upkeep.expire_ledger import keep_expiring
from midwatch.upkeep.index_documents import keep_indexing

_SPARE_CONNECTIONS = 10

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One replica, with nothing running yet but the database."""

    store: Store
    flusher: Flusher
    hub: Hub
    worker: Worker
    intake: Intake
    config: Config
    sightings: Sightings
    calls: CallsInFlight
    health: HealthMonitor

    @property
    def state(self) -> State:
        return State(
            store=self.store,
            flusher=self.flusher,
            hub=self.hub,
            intake=self.intake,
            worker=self.worker,
            config=self.config,
            sightings=self.sightings,
        )

    def hear_wake(self, payload: str) -> None:
        kind, _, session = payload.partition(":")
        if kind == "cancel":
            self.worker.poke(UUID(session))
        elif kind == "cancel-call":
            self.calls.cancel(UUID(session))
        else:
            self.worker.wake()

    def catch_up(self) -> None:
        """After the listening connection was away, anything may have been said."""
        self.worker.wake()
        self.worker.poke_all()
        self.hub.miss()

    async def run(self) -> None:
        """Works until drained; then everything that was committed has been told."""
        async with asyncio.TaskGroup() as group:
            background = [
                group.create_task(self.flusher.run(), name="flusher"),
                group.create_task(self.hub.run(), name="hub"),
                group.create_task(self.intake.waker.run(self.store), name="waker"),
                group.create_task(keep_indexing(self.store), name="indexing"),
                group.create_task(self.health.run(), name="health"),
                group.create_task(
                    keep_expiring(self.store, interval=self.config.system.retention.cleanup_interval), name="expiring"
                ),
                group.create_task(
                    listen(
                        self.store,
                        {FEED_CHANNEL: self.hub.hear, WAKE_CHANNEL: self.hear_wake},
                        on_connected=self.catch_up,
                    ),
                    name="listen",
                ),
            ]
            await self.worker.serve()
            for task in background:
                task.cancel()
        await self._last_flush()

    async def _last_flush(self) -> None:
        try:
            await self.flusher.flush()
        except StoreUnavailable:
            log.warning("feed_flush_failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one replica is built from."""

    config: Config
    env: Env
    environ: Mapping[str, str]
    limits: Limits = field(default_factory=Limits)
    watches_servers: bool = True
    """Look at the tool servers between investigations. Not worth it for a process that runs only one."""


@asynccontextmanager
async def open_service(plan: Plan) -> AsyncGenerator[Service]:
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(_open_database(plan))
        owned = await stack.enter_async_context(OwnedTasks())
        http = await stack.enter_async_context(new_http_client())
        flusher = Flusher(store)
        config = plan.config
        remote = await stack.enter_async_context(open_remote(config.llm, environ=config.environ))
        gateway = Gateway(http=http, environ=config.environ, folder=config.folder, remote=remote)
        stack.push_async_callback(gateway.close)
        warnings = _standing_warnings(config)
        shared = await stack.enter_async_context(open_server_scope(_share_servers(plan)))
        means = Means(
            store=store,
            flusher=flusher,
            config=config,
            gateway=gateway,
            prices=Prices(estimation=config.system.cost_estimation),
            owned=owned,
            environ=plan.environ,
            secret_names=config.secret_names,
            limits=plan.limits,
            sightings=Sightings(warnings),
            pins=StoredPins(store, warnings),
            scopes=Scopes(replica=shared),
        )
        yield Service(
            store=store,
            flusher=flusher,
            hub=Hub(store),
            worker=_build_worker(plan, means),
            intake=Intake(store=store, flusher=flusher, config=config, mask=alert_mask(config)),
            config=config,
            sightings=means.sightings,
            calls=means.calls,
            health=_build_monitor(plan, means, shared=shared),
        )


def _share_servers(plan: Plan) -> Opening:
    return Opening(
        environment=plan.environ,
        secret_names=plan.config.secret_names,
        client_id=str(new_id()),
        init_timeout=plan.limits.mcp_init,
    )


def _build_monitor(plan: Plan, means: Means, *, shared: Opener) -> HealthMonitor:
    def open_scope() -> AbstractAsyncContextManager[Opener]:
        return open_server_scope(_share_servers(plan))

    return HealthMonitor(
        servers=find_scope(plan.config).servers if plan.watches_servers else {},
        sightings=means.sightings,
        shared=shared,
        open_scope=open_scope,
        pins=means.pins,
        interval=plan.limits.health_interval,
        limit=plan.limits.health_check,
    )


def _standing_warnings(config: Config) -> Warnings:
    warnings = Warnings()
    if config.warnings:
        warnings.put_up("configuration", "the configuration was read with warnings", details="\n".join(config.warnings))
    return warnings


def _build_worker(plan: Plan, means: Means) -> Worker:
    queue = plan.config.queue
    claimant = Claimant(
        store=means.store,
        owner=f"{plan.env.pod_id}:{secrets.token_hex(8)}",
        pod_id=plan.env.pod_id,
        cap=queue.max_concurrent_sessions,
        times=LeaseTimes(duration=queue.lease, heartbeat=queue.heartbeat_interval),
    )

    def tell_claimed(lease: Lease) -> None:
        means.flusher.advance(lease.session_id, lease.claim.feed_seq)
        announce_status(means.flusher, lease.session_id, lease.claim.status)

    return Worker(
        store=means.store,
        claim=claimant.claim,
        run=partial(run_session, means=means),
        slots=queue.worker_count,
        poll_interval=queue.poll_interval.total_seconds(),
        poll_jitter=queue.poll_interval_jitter.total_seconds(),
        drain_time=queue.graceful_shutdown_timeout.total_seconds(),
        on_claimed=tell_claimed,
    )


@asynccontextmanager
async def _open_database(plan: Plan) -> AsyncGenerator[Store]:
    """An external PostgreSQL, or our own with somebody to start it again when it goes away."""
    size = plan.config.queue.worker_count + _SPARE_CONNECTIONS
    if plan.env.database_url is not None:
        dsn = plan.env.database_url
        await upgrade_schema(dsn)
        async with open_store(lambda: dsn, max_size=size) as store:
            yield store
        return
    async with open_embedded_postgres(plan.env.home) as embedded, asyncio.TaskGroup() as group:
        keeper = group.create_task(embedded.keep_running(), name="embedded-postgres")
        await upgrade_schema(embedded.read_dsn())
        async with open_store(embedded.read_dsn, max_size=size, on_failure=embedded.suspect) as store:
            yield store
        keeper.cancel()
