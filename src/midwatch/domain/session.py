"""Session, stage, execution: the units of work and the states they pass through."""

from enum import StrEnum


class SessionStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"

    @property
    def is_terminal(self) -> bool:
        return self in _TERMINAL


_TERMINAL = frozenset({SessionStatus.COMPLETED, SessionStatus.FAILED, SessionStatus.CANCELLED, SessionStatus.TIMED_OUT})


class WorkStatus(StrEnum):
    """The state of a stage or of an execution."""

    PENDING = "pending"
    ACTIVE = "active"
    COMPLETED = "completed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        return self not in (WorkStatus.PENDING, WorkStatus.ACTIVE)


class StageType(StrEnum):
    INVESTIGATION = "investigation"
    SYNTHESIS = "synthesis"
    CHAT = "chat"
    EXEC_SUMMARY = "exec_summary"
    SCORING = "scoring"
    ACTION = "action"


class ParallelType(StrEnum):
    MULTI_AGENT = "multi_agent"
    REPLICA = "replica"


class SuccessPolicy(StrEnum):
    ALL = "all"
    ANY = "any"


class RunKind(StrEnum):
    """What a lease is held for. Chat has slots of its own, outside the cap on alerts."""

    ALERT = "alert"
    CHAT = "chat"


class StopReason(StrEnum):
    """Why a run was told to stop."""

    LOST = "lost"
    CANCELLED = "cancelled"
    DRAINED = "drained"
