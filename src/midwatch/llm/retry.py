"""Asking again, as long as nobody has seen a part of the answer."""

import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

import structlog

from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.breaker import Breaker
from midwatch.llm.failures import LONGEST_RETRY_AFTER, ProviderFailure
from midwatch.llm.model import Chunk, NoticeChunk

BACKOFF = (1.0, 2.0)
RETRYING = "provider_retry"
_JITTER = 0.25

Sleep = Callable[[float], Awaitable[None]]
Attempt = Callable[[], AsyncGenerator[Chunk]]

log = structlog.get_logger()


async def stream_with_retries(
    attempt: Attempt, *, breaker: Breaker, backoff: Sequence[float], sleep: Sleep
) -> AsyncGenerator[Chunk]:
    """One attempt more than there are waits. Once a chunk is out, a failure is final."""
    is_told = False
    for number, wait in enumerate((*backoff, None), start=1):
        # Asked for by an answer to us or to anybody else, and perhaps prolonged while we wait.
        while (pause := breaker.pause()) > 0:
            if not is_told:
                yield _tell(f"{breaker.provider} asked for a pause of {pause:.0f} s")
                is_told = True
            await sleep(_lengthen(pause))
        is_answering = False
        try:
            with breaker.admit() as admission:
                async with aclosing(attempt()) as chunks:
                    async for chunk in chunks:
                        if not is_answering:
                            is_answering = True
                            admission.succeed()
                        yield chunk
                return
        except ModelUnavailable as failure:
            # A model that has to be told something would only fail again.
            if is_answering or not failure.retryable or failure.feedback is not None:
                raise
            asked = _read_asked(failure)
            if wait is None or asked > LONGEST_RETRY_AFTER:
                raise _given_up(failure, attempts=number, asked=asked) from failure
            pause = asked or _vary(wait)
            log.warning(
                "model_attempt_failed",
                provider=breaker.provider,
                attempt=number,
                code=failure.code,
                pause=round(pause, 1),
            )
            notice = _tell(f"{failure}; asking {breaker.provider} again in {pause:.0f} s")
        yield notice
        is_told = bool(asked)
        if not asked:
            await sleep(pause)


def _tell(message: str) -> NoticeChunk:
    return NoticeChunk(code=RETRYING, message=message)


def _given_up(failure: ModelUnavailable, *, attempts: int, asked: float) -> ProviderFailure:
    times = "1 attempt" if attempts == 1 else f"{attempts} attempts"
    message = f"gave up after {times}: {failure}"
    if asked > LONGEST_RETRY_AFTER:
        message = f"{message} (asked for a pause of {asked:.0f} s)"
    return ProviderFailure(message, code="max_retries", retryable=True, retry_after=asked or None)


def _read_asked(failure: ModelUnavailable) -> float:
    """The pause that the provider asked for; the breaker makes everybody keep it."""
    return (failure.retry_after or 0.0) if isinstance(failure, ProviderFailure) else 0.0


def _vary(wait: float) -> float:
    # Many sessions fail at the same moment; they must not all come back at the same moment.
    return wait * random.uniform(1 - _JITTER, 1 + _JITTER)  # noqa: S311 -- nothing secret about it


def _lengthen(pause: float) -> float:
    # A pause that was asked for is never cut short.
    return pause * random.uniform(1, 1 + _JITTER)  # noqa: S311 -- nothing secret about it
