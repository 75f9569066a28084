"""The agents of one stage, at work side by side until each has come to its end or waits for a person."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import structlog

from midwatch.domain.errors import Draining, LeaseLost, StoreUnavailable
from midwatch.investigation.assignment import Assignment, ExecutionEnding
from midwatch.investigation.execution import run_execution
from midwatch.investigation.means import Means
from midwatch.store.parking import is_runnable
from midwatch.store.runs import StoredExecution, load_run
from midwatch.timeline.run import RunLog

_LOOK_AGAIN = 5.0
"""Seconds after which one that waits looks for a decision that nobody told of."""


@dataclass(slots=True, kw_only=True)
class Crew:
    means: Means
    run: RunLog
    on_ended: Callable[[int], None] = lambda _: None
    """Hears how many are still at work, whenever one that is not the last has ended."""
    _tasks: list[asyncio.Task[ExecutionEnding | None]] = field(
        default_factory=list[asyncio.Task[ExecutionEnding | None]]
    )
    _stop: Exception | None = None
    _at_work: int = 0
    """Those that have not come to their end and wait for nobody."""

    async def work(self, assignments: Sequence[Assignment]) -> list[ExecutionEnding]:
        """One ending each, in order. Raises what stops the whole run, as it is and not as a group.

        One that waits for a person goes on as soon as it can. When none is left that can, all that wait are parked.
        """
        self._at_work = len(assignments)
        async with asyncio.TaskGroup() as group:
            self._tasks = [
                group.create_task(self._attempt(assignment), name=f"agent-{assignment.agent_name}")
                for assignment in assignments
            ]
        if self._stop is not None:
            raise self._stop
        return [ending for task in self._tasks if (ending := task.result()) is not None]

    async def _attempt(self, assignment: Assignment) -> ExecutionEnding | None:
        """None when the whole run stops: an error that left the task would have the group cancel the neighbours."""
        with structlog.contextvars.bound_contextvars(agent=assignment.agent_name):
            try:
                ending = await self._run(assignment)
            except LeaseLost as error:
                self._leave(error)
                return None
            except (Draining, StoreUnavailable) as error:
                self._halt(error)
                return None
        left = sum(not task.done() for task in self._tasks) - 1
        if left and not ending.is_parked:
            self.on_ended(left)
        return ending

    async def _run(self, assignment: Assignment) -> ExecutionEnding:
        while True:
            try:
                ending = await run_execution(assignment, means=self.means, run=self.run)
            finally:
                self._rest()
            if not ending.is_parked:
                return ending
            before = await self._wait_for_decision(assignment)
            if before is None:
                return ending
            self._at_work += 1
            assignment = replace(assignment, before=before)

    def _rest(self) -> None:
        self._at_work -= 1
        self.means.decisions.hear(self.run.session_id)

    async def _wait_for_decision(self, assignment: Assignment) -> StoredExecution | None:
        """The execution as it is to be taken up again; None when nobody is left at work."""
        with self.means.decisions.listen(self.run.session_id) as heard:
            while self._at_work and self._stop is None:
                heard.clear()
                before = await self._find_runnable(assignment)
                if before is not None and self._stop is None:
                    return before
                with suppress(TimeoutError):
                    async with asyncio.timeout(_LOOK_AGAIN):
                        await heard.wait()
        return None

    async def _find_runnable(self, assignment: Assignment) -> StoredExecution | None:
        async with self.means.store.connect() as tx:
            execution = (await load_run(tx, self.run.session_id)).find_execution(
                assignment.stage_id, agent_index=assignment.agent_index
            )
            if execution is None:
                return None
            is_cancelled = self.means.calls.is_cancelled(execution.execution_id)
            return execution if is_cancelled or await is_runnable(tx, execution.execution_id) else None

    def _leave(self, error: Exception) -> None:
        """Somebody else has the session: whatever the others are doing, nobody will read it."""
        self._stop = self._stop or error
        mine = asyncio.current_task()
        for task in self._tasks:
            if task is not mine:
                task.cancel()

    def _halt(self, error: Exception) -> None:
        """The others stop at their next commit: a change that is on its way should not end as unknown."""
        self._stop = self._stop or error
        self.run.halt()
        self.means.decisions.hear(self.run.session_id)
