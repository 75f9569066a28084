"""One replica at work: what runs in it side by side, what it hears, and how it comes to its end."""

import asyncio
from dataclasses import dataclass
from uuid import UUID

import structlog

from midwatch.api.approver import ApproverSecret
from midwatch.api.state import State
from midwatch.config.load import Config
from midwatch.domain.errors import StoreUnavailable
from midwatch.intake.ask_question import Questions
from midwatch.intake.submit_alert import Intake
from midwatch.investigation.decisions import Decisions
from midwatch.knowledge.runbooks import Runbooks
from midwatch.queue.roll import RollCall
from midwatch.queue.worker import Worker
from midwatch.store.engine import Store
from midwatch.store.feed import FEED_CHANNEL
from midwatch.store.sessions import WAKE_CHANNEL
from midwatch.telemetry.metrics import Meters
from midwatch.timeline.flush import Flusher
from midwatch.timeline.hub import Hub
from midwatch.timeline.listen import listen
from midwatch.tools.health import HealthMonitor
from midwatch.tools.inflight import CallsInFlight
from midwatch.tools.sightings import Sightings
from midwatch.upkeep.expire_approvals import keep_expiring_approvals
from midwatch.upkeep.expire_ledger import keep_expiring
from midwatch.upkeep.expire_results import keep_expiring_results
from midwatch.upkeep.index_documents import keep_indexing

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One replica, with nothing running yet but the database."""

    store: Store
    vital: Store
    """The same database over connections of its own: what keeps a replica alive waits behind none of its runs."""
    flusher: Flusher
    hub: Hub
    worker: Worker
    chat_worker: Worker
    """Answers questions, in slots of its own."""
    roll: RollCall
    intake: Intake
    questions: Questions
    config: Config
    sightings: Sightings
    calls: CallsInFlight
    health: HealthMonitor
    runbooks: Runbooks
    decisions: Decisions
    approver: ApproverSecret
    meters: Meters

    @property
    def state(self) -> State:
        return State(
            store=self.store,
            flusher=self.flusher,
            hub=self.hub,
            intake=self.intake,
            questions=self.questions,
            worker=self.worker,
            chat_worker=self.chat_worker,
            config=self.config,
            sightings=self.sightings,
            runbooks=self.runbooks,
            approver=self.approver,
            meters=self.meters,
        )

    @property
    def workers(self) -> tuple[Worker, Worker]:
        return self.worker, self.chat_worker

    def hear_wake(self, payload: str) -> None:
        kind, _, session = payload.partition(":")
        if kind == "decision":
            self.decisions.hear(UUID(session))
            return
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
        self.decisions.hear_all()
        self.hub.miss()

    def drain(self) -> None:
        """Nothing new is begun; what runs stops at its next commit and goes on elsewhere."""
        for worker in self.workers:
            worker.drain()
        self.roll.announce_drain()

    async def run(self) -> None:
        """Works until drained; then everything that was committed has been told."""
        async with asyncio.TaskGroup() as group:
            background = [
                group.create_task(self.flusher.run(), name="flusher"),
                group.create_task(self.hub.run(), name="hub"),
                group.create_task(self.roll.run(), name="roll-call"),
                group.create_task(self.intake.waker.run(self.vital), name="waker"),
                group.create_task(keep_indexing(self.store), name="indexing"),
                group.create_task(self.health.run(), name="health"),
                group.create_task(keep_expiring_approvals(self.store, self.flusher), name="expiring-approvals"),
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
        await self.roll.withdraw()

    async def _last_flush(self) -> None:
        try:
            await self.flusher.flush()
        except StoreUnavailable:
            log.warning("feed_flush_failed")
