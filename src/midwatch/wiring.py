"""The only place that builds things, and the order in which they are taken down again."""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial

import structlog

from midwatch import __version__
from midwatch.api.approver import ApproverSecret
from midwatch.config.approver import open_token
from midwatch.config.env import Env
from midwatch.config.limits import Limits
from midwatch.config.load import Config
from midwatch.config.scope import find_scope
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
from midwatch.queue.roll import RollCall
from midwatch.queue.worker import Worker
from midwatch.running import Service
from midwatch.store.embedded import open_embedded_postgres
from midwatch.store.engine import ReadDsn, Store, open_store
from midwatch.store.leases import Claim
from midwatch.store.migrate import upgrade_schema
from midwatch.store.replicas import Presence
from midwatch.telemetry.metrics import UNMETERED, Meters, Metrics
from midwatch.telemetry.series import TAKEN_OVER, WAIT_SECONDS
from midwatch.telemetry.tracing import UNTRACED, Tracer
from midwatch.timeline.announce import announce_status
from midwatch.timeline.flush import Flusher
from midwatch.timeline.hub import Hub
from midwatch.timeline.warnings import Warnings
from midwatch.tools.health import HealthMonitor, Opener
from midwatch.tools.pins import StoredPins
from midwatch.tools.sightings import Sightings
from midwatch.tools.workbench import Opening, Scopes, open_server_scope

_VITAL_CONNECTIONS = 5

log = structlog.get_logger()


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
        # First, so that it is closed last: what the others do to their end is told, too.
        tracer = await stack.enter_async_context(_open_tracer(plan))
        store, vital = await stack.enter_async_context(_open_database(plan))
        owned = await stack.enter_async_context(OwnedTasks())
        config = plan.config
        http = await stack.enter_async_context(new_http_client())
        flusher = Flusher(vital)
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
            meters=Metrics() if config.telemetry.metrics else UNMETERED,
            tracer=tracer,
        )
        claimant = _build_claimant(plan, means, vital)
        chat_worker = _build_chat_worker(plan, means, claimant)
        intake = Intake(store=store, flusher=flusher, config=config, mask=alert_mask(config), meters=means.meters)
        yield Service(
            store=store,
            vital=vital,
            flusher=flusher,
            hub=Hub(store),
            worker=_build_worker(plan, means, claimant),
            chat_worker=chat_worker,
            roll=_build_roll(plan, claimant),
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
            decisions=means.decisions,
            approver=ApproverSecret(_open_token(plan)),
            meters=means.meters,
        )


def _open_token(plan: Plan) -> str | None:
    """Without a place to keep it nobody can decide here, and everything else goes on."""
    try:
        return open_token(plan.env.home)
    except OSError as error:
        log.warning("approver_token_missing", home=str(plan.env.home), reason=type(error).__name__)
        return None


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


def _build_claimant(plan: Plan, means: Means, vital: Store) -> Claimant:
    queue = plan.config.queue
    return Claimant(
        store=vital,
        owner=f"{plan.env.pod_id}:{secrets.token_hex(8)}",
        pod_id=plan.env.pod_id,
        cap=queue.max_concurrent_sessions,
        times=LeaseTimes(duration=queue.lease, heartbeat=queue.heartbeat_interval),
        on_cancelled=means.calls.cancel,
    )


def _build_roll(plan: Plan, claimant: Claimant) -> RollCall:
    presence = Presence(
        owner=claimant.owner,
        pod_id=claimant.pod_id,
        version=__version__,
        journal_format=claimant.journal_format,
        slots=plan.config.queue.worker_count,
        chat_slots=plan.limits.chat_slots,
    )
    return RollCall(store=claimant.store, presence=presence, times=claimant.times)


def _build_worker(plan: Plan, means: Means, claimant: Claimant) -> Worker:
    queue = plan.config.queue

    def tell_claimed(lease: Lease) -> None:
        means.flusher.advance(lease.session_id, lease.claim.feed_seq)
        announce_status(means.flusher, lease.session_id, lease.claim.status)
        _count_claim(means.meters, lease.claim)

    return Worker(
        store=claimant.store,
        claim=claimant.claim,
        run=partial(run_session, means=means),
        slots=queue.worker_count,
        poll_interval=queue.poll_interval.total_seconds(),
        poll_jitter=queue.poll_interval_jitter.total_seconds(),
        drain_time=queue.graceful_shutdown_timeout.total_seconds(),
        on_claimed=tell_claimed,
    )


def _count_claim(meters: Meters, claim: Claim) -> None:
    if claim.taken_over:
        meters.count(TAKEN_OVER)
    if claim.waited is not None:
        meters.observe(WAIT_SECONDS, (claim.alert_type,), seconds=claim.waited.total_seconds())


def _build_chat_worker(plan: Plan, means: Means, claimant: Claimant) -> Worker:
    queue = plan.config.queue
    return Worker(
        store=claimant.store,
        claim=claimant.claim_question,
        run=partial(run_chat, means=means),
        slots=plan.limits.chat_slots,
        poll_interval=queue.poll_interval.total_seconds(),
        poll_jitter=queue.poll_interval_jitter.total_seconds(),
        drain_time=queue.graceful_shutdown_timeout.total_seconds(),
        on_claimed=lambda lease: _count_claim(means.meters, lease.claim),
    )


@asynccontextmanager
async def _open_tracer(plan: Plan) -> AsyncGenerator[Tracer]:
    traces = plan.config.telemetry.traces
    if traces.endpoint is None:
        yield UNTRACED
        return
    from midwatch.telemetry.otel import TraceSettings, open_tracer  # noqa: PLC0415 - only those who use it pay

    settings = TraceSettings(
        endpoint=traces.endpoint,
        service_name=traces.service_name,
        version=__version__,
        instance=plan.env.pod_id,
        share=traces.share,
        takes_content=traces.content,
    )
    async with open_tracer(settings) as tracer:
        yield tracer


@asynccontextmanager
async def _open_database(plan: Plan) -> AsyncGenerator[tuple[Store, Store]]:
    """An external PostgreSQL, or our own with somebody to start it again when it goes away: for work, and for life."""
    if plan.env.database_url is not None:
        dsn = plan.env.database_url
        await upgrade_schema(dsn)
        async with _open_pools(plan, lambda: dsn) as stores:
            yield stores
        return
    async with open_embedded_postgres(plan.env.home) as embedded, asyncio.TaskGroup() as group:
        keeper = group.create_task(embedded.keep_running(), name="embedded-postgres")
        await upgrade_schema(embedded.read_dsn())
        async with _open_pools(plan, embedded.read_dsn, on_failure=embedded.suspect) as stores:
            yield stores
        keeper.cancel()


@asynccontextmanager
async def _open_pools(
    plan: Plan, read_dsn: ReadDsn, *, on_failure: Callable[[], None] | None = None
) -> AsyncGenerator[tuple[Store, Store]]:
    size = plan.config.queue.size_pool(chat_slots=plan.limits.chat_slots)
    async with (
        open_store(read_dsn, min_size=min(2, size), max_size=size, on_failure=on_failure) as store,
        open_store(read_dsn, min_size=1, max_size=_VITAL_CONNECTIONS, on_failure=on_failure) as vital,
    ):
        yield store, vital
