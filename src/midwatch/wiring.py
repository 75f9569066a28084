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
from midwatch.intake.ask_question import Questions
from midwatch.intake.submit_alert import Intake, alert_mask
from midwatch.investigation.chat import run_chat
from midwatch.investigation.means import Means
from midwatch.investigation.session import run_session
from midwatch.kit.ids import new_id
from midwatch.kit.owned import OwnedTasks
from midwatch.knowledge.addresses import Resolve, may_reach, resolve_name
from midwatch.knowledge.github import Folder
from midwatch.knowledge.network import CheckedNetwork
from midwatch.knowledge.pages import PageReader
from midwatch.knowledge.runbooks import Runbooks
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
from midwatch.upkeep.expire_results import keep_expiring_results
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
    chat_worker: Worker
    """Answers questions, in slots of its own."""
    intake: Intake
    questions: Questions
    config: Config
    sightings: Sightings
    calls: CallsInFlight
    health: HealthMonitor
    runbooks: Runbooks

    @property
    def state(self) -> State:
        return State(
            store=self.store,
            flusher=self.flusher,
            hub=self.hub,
            intake=self.intake,
            questions=self.questions,
            worker=self.worker,
            config=self.config,
            sightings=self.sightings,
            runbooks=self.runbooks,
        )

    @property
    def workers(self) -> tuple[Worker, Worker]:
        return self.worker, self.chat_worker

    def hear_wake(self, payload: str) -> None:
        kind, _, session = payload.partition(":")
        for worker in self.workers:
            if kind == "cancel":
                worker.poke(UUID(session))
            else:
                worker.wake()

    def catch_up(self) -> None:
        """After the listening connection was away, anything may have been said."""
        for worker in self.workers:
            worker.wake()
            worker.poke_all()
        self.hub.miss()

    def drain(self) -> None:
        """Nothing new is begun; what runs stops at its next commit and goes on elsewhere."""
        for worker in self.workers:
            worker.drain()

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
                    keep_expiring_results(self.store, interval=self.config.system.retention.cleanup_interval),
                    name="expiring-results",
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
            answering = group.create_task(self.chat_worker.serve(), name="answering")
            await self.worker.serve()
            if not self.chat_worker.is_stopping:
                self.chat_worker.drain()
            await answering
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
    resolve: Resolve = resolve_name
    """Where the names in the addresses of runbooks lead."""


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
            runbooks=_build_runbooks(plan, warnings),
        )
        claimant = _build_claimant(plan, means)
        chat_worker = _build_chat_worker(plan, means, claimant)
        intake = Intake(store=store, flusher=flusher, config=config, mask=alert_mask(config))
        yield Service(
            store=store,
            flusher=flusher,
            hub=Hub(store),
            worker=_build_worker(plan, means, claimant),
            chat_worker=chat_worker,
            intake=intake,
            questions=Questions(
                store=store,
                flusher=flusher,
                mask=intake.mask,
                waker=intake.waker,
                is_stopping=lambda: chat_worker.is_stopping,
            ),
            config=config,
            sightings=means.sightings,
            calls=means.calls,
            health=_build_monitor(plan, means, shared=shared),
            runbooks=means.runbooks,
        )


def _share_servers(plan: Plan) -> Opening:
    return Opening(
        environment=plan.environ,
        secret_names=plan.config.secret_names,
        client_id=str(new_id()),
        init_timeout=plan.limits.mcp_init,
    )


def _build_runbooks(plan: Plan, warnings: Warnings) -> Runbooks:
    config, settings = plan.config, plan.config.system.runbooks
    allowed = partial(may_reach, allows_private=settings.allow_private)
    network = CheckedNetwork(may_reach=allowed, resolve=plan.resolve)
    token = config.environ.get(config.system.github.token_env, "").strip()
    return Runbooks(
        general=config.defaults.runbook,
        mask=alert_mask(config),
        reader=PageReader(network=network, token=token or None),
        domains=settings.allowed_domains,
        folder=Folder.parse(settings.repo_url or ""),
        seconds=settings.cache_ttl.total_seconds(),
        warnings=warnings,
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


def _build_claimant(plan: Plan, means: Means) -> Claimant:
    queue = plan.config.queue
    return Claimant(
        store=means.store,
        owner=f"{plan.env.pod_id}:{secrets.token_hex(8)}",
        pod_id=plan.env.pod_id,
        cap=queue.max_concurrent_sessions,
        times=LeaseTimes(duration=queue.lease, heartbeat=queue.heartbeat_interval),
        on_cancelled=means.calls.cancel,
    )


def _build_worker(plan: Plan, means: Means, claimant: Claimant) -> Worker:
    queue = plan.config.queue

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


def _build_chat_worker(plan: Plan, means: Means, claimant: Claimant) -> Worker:
    queue = plan.config.queue
    return Worker(
        store=means.store,
        claim=claimant.claim_question,
        run=partial(run_chat, means=means),
        slots=plan.limits.chat_slots,
        poll_interval=queue.poll_interval.total_seconds(),
        poll_jitter=queue.poll_interval_jitter.total_seconds(),
        drain_time=queue.graceful_shutdown_timeout.total_seconds(),
    )


@asynccontextmanager
async def _open_database(plan: Plan) -> AsyncGenerator[Store]:
    """An external PostgreSQL, or our own with somebody to start it again when it goes away."""
    size = plan.config.queue.worker_count + plan.limits.chat_slots + _SPARE_CONNECTIONS
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
