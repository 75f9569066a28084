"""What one agent is given to do, and how its work can end."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from midwatch.agent.purse import Purse
from midwatch.config.resolve import ExecutionSettings
from midwatch.domain.session import StageType, WorkStatus
from midwatch.safety.session import SessionSafety
from midwatch.store.runs import StoredExecution
from midwatch.tools.workbench import Workbench


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstWords:
    """What opens a conversation."""

    system: str
    user: str
    warnings: tuple[str, ...] = ()
    """What a reader of the session should know about them."""


Opening = Callable[[ExecutionSettings, Workbench], Awaitable[FirstWords]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What one agent is to do."""

    stage_id: UUID
    stage_type: StageType
    agent_name: str
    """As shown; several agents of a stage may share one entry of the configuration."""
    resolve: Callable[[], ExecutionSettings]
    """Raises NotFound when the configuration no longer has what a chain names."""
    opening: Opening
    """Asked once, by whoever begins; a run that resumes has the conversation."""
    purse: Purse
    safety: SessionSafety
    before: StoredExecution | None = None
    """The execution as an earlier owner left it."""
    agent_index: int = 1
    """Counted from one, as stages are."""
    seconds: float | None = None
    """It has no more time than this; None: only the session's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionEnding:
    """How it ended; or that it has not, and waits for a person."""

    status: WorkStatus
    error: str | None = None
    text: str | None = None
    text_id: UUID | None = None

    @property
    def is_parked(self) -> bool:
        return not self.status.is_terminal
