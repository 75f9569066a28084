"""What to do after a model call that failed. Pure: the failure and what went before it decide."""

from dataclasses import dataclass
from enum import Enum, auto

_HOPELESS = frozenset({"credentials", "invalid_backend"})
"""Asking the same provider again cannot help."""
_LEFT_ALONE = "circuit_open"
_BETTER_ELSEWHERE = frozenset({"max_retries", _LEFT_ALONE})
"""The provider has been asked often enough. Another one answers sooner; without one, patience may still help."""
_SOFT = frozenset({"partial_stream_error", "stall_timeout", "call_timeout"})
"""Something had come: the provider lives, and the model is told where it broke off."""
_STUCK = frozenset({"repetition", "malformed_answer"})
"""The model answered, but not in a way that can be used; it is told what was wrong."""
TOO_LONG = "context_too_long"


class Remedy(Enum):
    ASK_AGAIN = auto()
    SHORTEN = auto()
    SWITCH = auto()
    GIVE_UP = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    message: str
    code: str
    retryable: bool
    is_timeout: bool = False
    partial: str = ""
    """What had come of the answer."""
    feedback: str | None = None
    """What the model should be told before it is asked again."""
    retry_after: float = 0.0
    """Seconds during which the provider is not to be asked."""


@dataclass(slots=True)
class Trouble:
    """Failures in a row with one provider. A reply ends it, and so does another provider."""

    hard: int = 0
    soft: int = 0
    stuck: int = 0
    timeouts: int = 0

    def count(self, failure: Failure) -> None:
        self.timeouts = self.timeouts + 1 if failure.is_timeout else 0
        if failure.code in _SOFT:
            self.soft += 1
        elif failure.code in _STUCK:
            self.stuck += 1
        elif failure.code not in {TOO_LONG, _LEFT_ALONE}:
            self.hard += 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """What is still open."""

    can_switch: bool
    can_shorten: bool
    seconds_left: float
    """Of the iteration's time."""
    patience: int
    """Failures of one kind in a row that are too many."""


def choose_remedy(failure: Failure, trouble: Trouble, ways: Ways) -> Remedy:
    if failure.code == TOO_LONG:
        return Remedy.SHORTEN if ways.can_shorten else _leave(ways)
    if failure.code in _BETTER_ELSEWHERE and ways.can_switch:
        return Remedy.SWITCH
    is_in_time = failure.retry_after < ways.seconds_left
    if failure.code in _HOPELESS or _is_too_much(trouble, ways.patience) or not is_in_time:
        return _leave(ways)
    if failure.retryable or failure.code == _LEFT_ALONE or ways.can_switch:
        return Remedy.ASK_AGAIN
    return Remedy.GIVE_UP


def _is_too_much(trouble: Trouble, patience: int) -> bool:
    # A model that is stuck is given one chance more: it was told what was wrong, which a provider in trouble cannot be.
    return max(trouble.hard, trouble.soft, trouble.timeouts, trouble.stuck - 1) >= patience


def _leave(ways: Ways) -> Remedy:
    return Remedy.SWITCH if ways.can_switch else Remedy.GIVE_UP
