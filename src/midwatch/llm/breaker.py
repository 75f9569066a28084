"""Keeps a replica from hammering a provider that is down or has asked for a pause. One for each provider."""

from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from midwatch.domain.errors import ModelUnavailable
from midwatch.kit.clock import boottime
from midwatch.llm.failures import LONGEST_RETRY_AFTER, ProviderFailure

_FAILURES = 5
_REST = 30.0
_TRIAL = 5.0
"""Seconds after which to look again while somebody is trying."""
_LONGEST_PAUSE = 600.0
"""However long a pause was asked for, after this somebody asks again."""
_DOWN = frozenset({"provider_error", "partial_stream_error"})
"""Failures that speak of the provider, not of the question or the key."""


@dataclass(slots=True, kw_only=True)
class Breaker:
    """After some failures in a row nobody asks for a while; then one may try, and all go by how that one fares."""

    provider: str
    clock: Callable[[], float] = boottime
    _failures: int = 0
    _closed_until: float = 0.0
    _paused_until: float = 0.0
    _trial: "Admission | None" = None

    def pause(self) -> float:
        """Seconds to wait before asking, as the provider wished. Raises ModelUnavailable for too long a wait."""
        pause = max(self._paused_until - self.clock(), 0.0)
        if pause > LONGEST_RETRY_AFTER:
            raise _refusal(f"provider {self.provider} asked for a pause; {pause:.0f} s of it are left", wait=pause)
        return pause

    def admit(self) -> "Admission":
        """Raises ModelUnavailable while it is of no use to ask."""
        is_trial = self._failures >= _FAILURES
        if is_trial:
            self._refuse_trial()
        admission = Admission(self)
        if is_trial:
            self._trial = admission
        return admission

    def succeed(self) -> None:
        self._failures = 0
        self._trial = None

    def fail(self, failure: ModelUnavailable) -> None:
        now = self.clock()
        asked = failure.retry_after if isinstance(failure, ProviderFailure) else None
        if asked:
            # Whoever says when to come back is not down: the pause alone is kept.
            self._paused_until = max(self._paused_until, now + min(asked, _LONGEST_PAUSE))
        elif failure.code in _DOWN:
            self._failures += 1
            self._closed_until = now + _REST

    def release(self, admission: "Admission") -> None:
        """Whoever was trying no longer is, and nothing became known by it; the next one may."""
        if self._trial is admission:
            self._trial = None

    def _refuse_trial(self) -> None:
        wait = self._closed_until - self.clock()
        if wait <= 0 and self._trial is None:
            return
        wait = wait if wait > 0 else _TRIAL
        message = f"provider {self.provider} failed {self._failures} times in a row and is left alone for {wait:.0f} s"
        raise _refusal(message, wait=wait)


@dataclass(slots=True, eq=False)
class Admission:
    """The permission to ask once, for as long as the block lasts."""

    _breaker: Breaker

    def __enter__(self) -> Self:
        return self

    def succeed(self) -> None:
        """The provider has begun to answer."""
        self._breaker.succeed()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self._breaker.succeed()
        elif isinstance(error, ModelUnavailable):
            self._breaker.fail(error)
        self._breaker.release(self)


def _refusal(message: str, *, wait: float) -> ProviderFailure:
    return ProviderFailure(message, code="circuit_open", retryable=False, retry_after=wait)
