"""What one run of a session writes through: commits that are retried until they land or the lease is lost."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from uuid import UUID

import structlog

from midwatch.domain.errors import Draining, StoreUnavailable
from midwatch.kit.clock import boottime
from midwatch.store.driver import Tx, UniqueViolation
from midwatch.store.engine import Store
from midwatch.store.fence import Event, Fence, Passed
from midwatch.store.journal import AlreadyCommitted, Batch, OutboundRequest, commit_batch
from midwatch.telemetry.metrics import UNMETERED, Meters
from midwatch.timeline.announce import announce_withdrawn
from midwatch.timeline.flush import Flusher
from midwatch.timeline.ledger import Ledger

_BACKOFF = (0.05, 0.1, 0.25, 0.5, 1.0)

Then = Callable[[], None]

log = structlog.get_logger()


def do_nothing() -> None:
    """Nobody waits for the commit."""


@dataclass(slots=True, kw_only=True)
class RunLog:
    store: Store
    flusher: Flusher
    fence: Fence
    check_lease: Callable[[], None]
    """Raises LeaseLost when the lease may have expired by this machine's own clock."""
    checkpoint: Callable[[], None]
    """Called after each commit; raises Draining when the run should go on elsewhere."""
    position: int = 0
    """How far this run has told the session's feed."""
    is_halted: bool = False
    meters: Meters = UNMETERED
    began: float = field(default_factory=boottime)
    """When this replica took it up."""
    _ledgers: dict[tuple[UUID, UUID, UUID | None], Ledger] = field(
        default_factory=dict[tuple[UUID, UUID, UUID | None], Ledger]
    )
    """By stage, execution, and the call whose result is being summed up."""

    @property
    def session_id(self) -> UUID:
        return self.fence.session_id

    async def commit(
        self, batch: Batch, *, stage_id: UUID, execution_id: UUID, progressed: bool = True, then: Then = do_nothing
    ) -> None:
        """`then` is called once it is committed, also when the run stops right after."""

        async def attempt() -> int:
            async with self.store.connect() as tx:
                return await commit_batch(
                    tx, self.fence, batch, stage_id=stage_id, execution_id=execution_id, progressed=progressed
                )

        await self._until_committed(attempt)
        then()
        self.checkpoint()
        if self.is_halted:
            raise Draining(f"session {self.session_id} goes on elsewhere")

    def halt(self) -> None:
        """One of several who write here cannot go on: the others stop at their next commit."""
        self.is_halted = True

    async def transact(self, write: Callable[[Tx], Awaitable[int | Passed]]) -> None:
        """One transaction of several statements, which ends at the fence and returns the feed's sequence number."""
        told: Sequence[Event] = ()

        async def attempt() -> int:
            nonlocal told
            async with self.store.begin() as tx:
                passed = await write(tx)
                if isinstance(passed, int):
                    return passed
                told = passed.events
                return passed.seq

        await self._until_committed(attempt)
        announce_withdrawn(self.flusher, self.session_id, told)

    def open_ledger(self, *, stage_id: UUID, execution_id: UUID, call_id: UUID | None = None) -> Ledger:
        return self._ledgers.setdefault((stage_id, execution_id, call_id), Ledger())

    def close_ledger(self, *, stage_id: UUID, execution_id: UUID, call_id: UUID) -> None:
        """All of it was taken and committed."""
        self._ledgers.pop((stage_id, execution_id, call_id), None)

    def take_unanswered(self, *, stage_id: UUID, execution_id: UUID) -> list[OutboundRequest]:
        """What one execution sent and has no answer to yet. Whoever takes it commits it."""
        ledgers = [ledger for place, ledger in self._ledgers.items() if place[:2] == (stage_id, execution_id)]
        return [sent for ledger in ledgers for sent in ledger.take(None)]

    async def record_unanswered(self) -> None:
        """What was sent and has no answer yet, for a run that is over and will wait for none."""
        for (stage_id, execution_id, _), ledger in self._ledgers.items():
            if sent := ledger.take(None):
                await self.transact(
                    partial(
                        commit_batch,
                        fence=self.fence,
                        batch=Batch(outbound=sent),
                        stage_id=stage_id,
                        execution_id=execution_id,
                        progressed=False,
                    )
                )

    async def _until_committed(self, attempt: Callable[[], Awaitable[int]]) -> None:
        """A commit whose answer was lost is tried again; finding its rows there means that it had gone through."""
        failures = 0
        while True:
            try:
                seq = await attempt()
            except StoreUnavailable:
                self.check_lease()
                log.warning("commit_retried", failures=failures + 1)
                await asyncio.sleep(_BACKOFF[min(failures, len(_BACKOFF) - 1)])
                failures += 1
            except (AlreadyCommitted, UniqueViolation):
                if not failures:
                    raise
                return
            else:
                self.position = max(self.position, seq)
                self.flusher.advance(self.session_id, seq)
                return
