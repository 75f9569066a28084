"""The agents of one stage, at work side by side until each has come to its end."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import structlog

from midwatch.domain.errors import Draining, LeaseLost, StoreUnavailable
from midwatch.investigation.assignment import Assignment, ExecutionEnding
from midwatch.investigation.execution import run_execution
from midwatch.investigation.means import Means
from midwatch.timeline.run import RunLog


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

    async def work(self, assignments: Sequence[Assignment]) -> list[ExecutionEnding]:
        """One ending each, in order. Raises what stops the whole run, as it is and not as a group."""
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
                ending = await run_execution(assignment, means=self.means, run=self.run)
            except LeaseLost as error:
                self._leave(error)
                return None
            except (Draining, StoreUnavailable) as error:
                self._halt(error)
                return None
        left = sum(not task.done() for task in self._tasks) - 1
        if left:
            self.on_ended(left)
        return ending

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
