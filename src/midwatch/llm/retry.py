"""Asking again, as long as nobody has seen a part of the answer."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing

import structlog

from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.failures import ProviderFailure
from midwatch.llm.model import Chunk

BACKOFF = (1.0, 2.0)

Sleep = Callable[[float], Awaitable[None]]
Attempt = Callable[[], AsyncGenerator[Chunk]]

log = structlog.get_logger()


async def stream_with_retries(
    attempt: Attempt, *, provider: str, backoff: Sequence[float], sleep: Sleep
) -> AsyncGenerator[Chunk]:
    """One attempt more than there are waits. Once a chunk is out, a failure is final."""
    for number, wait in enumerate((*backoff, None), start=1):
        is_answering = False
        try:
            async with aclosing(attempt()) as chunks:
                async for chunk in chunks:
                    is_answering = True
                    yield chunk
        except ModelUnavailable as failure:
            if is_answering or not failure.retryable:
                raise
            if wait is None:
                raise _given_up(failure, attempts=number) from failure
            pause = _choose_pause(failure, wait)
            log.warning("model_attempt_failed", provider=provider, attempt=number, code=failure.code, pause=pause)
        else:
            return
        await sleep(pause)


def _given_up(failure: ModelUnavailable, *, attempts: int) -> ModelUnavailable:
    return ModelUnavailable(f"gave up after {attempts} attempts: {failure}", code="max_retries", retryable=True)


def _choose_pause(failure: ModelUnavailable, wait: float) -> float:
    asked = failure.retry_after if isinstance(failure, ProviderFailure) else None
    return wait if asked is None else asked
