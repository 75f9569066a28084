"""What a question costs before its first model call, against the same for an alert.

CPU of this process from the moment it is handed in until its agent is about to ask the model: storing, claiming,
opening the tools, and for a question reading back an investigation of fifty iterations.
"""

import asyncio
import gc
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from uuid import UUID

from benchmarks.loop import USUAL, Cost
from benchmarks.replica import Replica, Unpublished, open_replica
from benchmarks.report import Check
from benchmarks.workload import Workload
from midwatch.intake.ask_question import Question
from midwatch.intake.cancel_session import cancel_session
from midwatch.intake.submit_alert import Alert
from midwatch.timeline.hub import Overflow

_REPEATS = 4
_MOST_TIMES_ALERT = 5.0
_LIMIT = 60.0
_ASKING = (b'"type":"execution.progress"', b'"phase":"investigating"')


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFigures:
    alert: Cost
    question: Cost

    @property
    def checks(self) -> list[Check]:
        return [
            Check(
                what=f"question about {USUAL} iterations: CPU before its first model call, against an alert's",
                measured=self.question.cpu / self.alert.cpu,
                target=_MOST_TIMES_ALERT,
            )
        ]

    @property
    def notes(self) -> list[str]:
        return [
            f"{name}, until its first model call: {cost.cpu * 1000:.1f} ms CPU, {cost.wall * 1000:.0f} ms wall"
            for name, cost in (("alert", self.alert), ("question", self.question))
        ]


async def measure_chats(config_folder: Path, dsn: str, *, rounds: int) -> ChatFigures:
    async with open_replica(config_folder, dsn) as replica:
        session_id = await replica.run_session(Workload(iterations=USUAL))
        await _measure_round(replica, session_id)  # imports, connections and prepared statements
        costs = [await _measure_round(replica, session_id) for _ in range(rounds * _REPEATS)]
    alerts, questions = zip(*costs, strict=True)
    return ChatFigures(alert=_middle(list(alerts)), question=_middle(list(questions)))


async def _measure_round(replica: Replica, session_id: UUID) -> tuple[Cost, Cost]:
    """In turn, so that both meet the same moods of the machine."""

    async def submit() -> UUID:
        alert = Alert(data="The machine feels slow.", alert_type=Workload(iterations=0).name, author="benchmark")
        return await replica.service.intake.submit(alert)

    async def ask() -> UUID:
        question = Question(session_id=session_id, content="Which host was it?", author="benchmark")
        await replica.service.questions.ask(question)
        return session_id

    alert = await _measure(replica, submit)
    await _wait_until_idle(replica)
    question = await _measure(replica, ask)
    await cancel_session(replica.service.store, replica.service.flusher, session_id)
    await _wait_until_idle(replica)
    return alert, question


async def _measure(replica: Replica, hand_in: Callable[[], Awaitable[UUID]]) -> Cost:
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    session_id = await hand_in()
    async with asyncio.timeout(_LIMIT), replica.service.hub.subscribe(session_id) as subscription:
        while True:
            item = await subscription.next()
            if isinstance(item, Overflow):
                raise Unpublished("the subscriber could not keep up")
            if all(word in item.data for word in _ASKING):
                return Cost(time.process_time() - cpu, time.perf_counter() - wall)


async def _wait_until_idle(replica: Replica) -> None:
    async with asyncio.timeout(_LIMIT):
        while any(worker.busy_slots for worker in replica.service.workers):  # noqa: ASYNC110 -- a worker tells nobody that a slot is free
            await asyncio.sleep(0.001)


def _middle(costs: list[Cost]) -> Cost:
    return Cost(median(cost.cpu for cost in costs), median(cost.wall for cost in costs))
