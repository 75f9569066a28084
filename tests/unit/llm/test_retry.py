"""Asking again: how often, after which waits, what is told of it, and who else keeps a pause."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

import pytest

from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.breaker import Breaker
from midwatch.llm.failures import ProviderFailure
from midwatch.llm.model import Chunk, NoticeChunk, TextChunk
from midwatch.llm.retry import stream_with_retries
from tests.unit.llm.asking import FakeSleep

WORD = TextChunk(text="so")

Step = Chunk | ModelUnavailable | None
"""None is silence."""


def busy(*, retry_after: float | None = None) -> ProviderFailure:
    return ProviderFailure("HTTP 503: busy", code="provider_error", retryable=True, retry_after=retry_after)


@dataclass
class FakeProvider:
    """Plays one list of steps after another, the last one again and again; its clock stands while nobody sleeps."""

    attempts: list[Sequence[Step]]
    sleep: FakeSleep = field(default_factory=FakeSleep)
    asked: int = 0
    waiting: asyncio.Event = field(default_factory=asyncio.Event)
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    breaker: Breaker = field(init=False)

    def __post_init__(self) -> None:
        self.breaker = self.sleep.new_breaker()

    async def attempt(self) -> AsyncGenerator[Chunk]:
        steps = self.attempts[min(self.asked, len(self.attempts) - 1)]
        self.asked += 1
        try:
            for step in steps:
                if isinstance(step, ModelUnavailable):
                    raise step
                if step is None:
                    self.waiting.set()
                    await asyncio.Event().wait()
                else:
                    yield step
        finally:
            self.closed.set()

    def stream(self) -> AsyncGenerator[Chunk]:
        return stream_with_retries(self.attempt, breaker=self.breaker, backoff=(1.0, 2.0), sleep=self.sleep)

    async def ask(self) -> tuple[list[Chunk], ModelUnavailable | None]:
        chunks: list[Chunk] = []
        try:
            async for chunk in self.stream():
                chunks.append(chunk)  # noqa: PERF401 - what came before a failure counts
        except ModelUnavailable as failure:
            return chunks, failure
        return chunks, None

    def open_circuit(self, *, rested: bool) -> None:
        for _ in range(5):
            self.breaker.fail(busy())
        self.sleep.now += 30 if rested else 0


def notice(message: str) -> NoticeChunk:
    return NoticeChunk(code="provider_retry", message=message)


async def test_every_pause_is_told_before_it_is_made() -> None:
    provider = FakeProvider([[busy()], [busy(retry_after=7.0)], [WORD]])
    stream = provider.stream()
    first = await anext(stream)
    assert isinstance(first, NoticeChunk)
    assert first.message.startswith("HTTP 503: busy; asking main again in ")
    assert provider.sleep.waits == []
    assert await anext(stream) == notice("HTTP 503: busy; asking main again in 7 s")
    assert [chunk async for chunk in stream] == [WORD]
    assert len(provider.sleep.waits) == 2


async def test_own_waits_vary_and_stay_within_a_quarter() -> None:
    waits: list[float] = []
    for _ in range(40):
        provider = FakeProvider([[busy()], [WORD]])
        await provider.ask()
        waits += provider.sleep.waits
    assert len(waits) == 40
    assert 0.75 <= min(waits) < max(waits) <= 1.25
    assert max(waits) - min(waits) > 0.1


async def test_a_pause_that_was_asked_for_is_never_cut_short() -> None:
    waits: list[float] = []
    for _ in range(40):
        provider = FakeProvider([[busy(retry_after=4.0)], [WORD]])
        await provider.ask()
        waits += provider.sleep.waits
    assert 4.0 <= min(waits) < max(waits) <= 5.0


async def test_another_conversation_keeps_the_pause_too() -> None:
    provider = FakeProvider([[WORD]])
    provider.breaker.fail(busy(retry_after=7.0))
    chunks, failure = await provider.ask()
    assert (chunks, failure) == ([notice("main asked for a pause of 7 s"), WORD], None)
    (wait,) = provider.sleep.waits
    assert wait >= 7.0


async def test_a_pause_that_is_prolonged_meanwhile_is_kept_to_its_end() -> None:
    provider = FakeProvider([[WORD]])
    provider.breaker.fail(busy(retry_after=7.0))
    stream = provider.stream()
    await anext(stream)
    provider.breaker.fail(busy(retry_after=15.0))
    assert [chunk async for chunk in stream] == [WORD]
    assert sum(provider.sleep.waits) >= 15.0


async def test_nobody_sits_through_a_long_pause() -> None:
    provider = FakeProvider([[busy(retry_after=60.0)]])
    chunks, failure = await provider.ask()
    assert (chunks, provider.sleep.waits, provider.asked) == ([], [], 1)
    assert isinstance(failure, ProviderFailure)
    assert (failure.code, failure.retry_after) == ("max_retries", 60.0)
    assert str(failure) == "gave up after 1 attempt: HTTP 503: busy (asked for a pause of 60 s)"
    _, again = await provider.ask()
    assert isinstance(again, ProviderFailure)
    assert (again.code, again.retry_after, provider.asked) == ("circuit_open", 60.0, 1)


async def test_after_the_last_attempt_the_asked_pause_goes_along() -> None:
    provider = FakeProvider([[busy(retry_after=3.0)]])
    _, failure = await provider.ask()
    assert isinstance(failure, ProviderFailure)
    assert (failure.code, failure.retryable, failure.retry_after) == ("max_retries", True, 3.0)
    assert str(failure) == "gave up after 3 attempts: HTTP 503: busy"


async def test_a_circuit_that_opens_ends_the_attempts() -> None:
    provider = FakeProvider([[busy()]])
    for _ in range(4):
        provider.breaker.fail(busy())
    _, failure = await provider.ask()
    assert failure is not None
    assert (failure.code, provider.asked) == ("circuit_open", 1)


async def test_an_open_circuit_is_not_asked_at_all() -> None:
    provider = FakeProvider([[WORD]])
    provider.open_circuit(rested=False)
    chunks, failure = await provider.ask()
    assert failure is not None
    assert (chunks, failure.code, provider.asked) == ([], "circuit_open", 0)


@pytest.mark.parametrize("answer", [[WORD], []])
async def test_a_trial_that_is_answered_closes_the_circuit_even_with_nothing(answer: list[Step]) -> None:
    provider = FakeProvider([answer])
    provider.open_circuit(rested=True)
    assert (await provider.ask())[1] is None
    with provider.breaker.admit(), provider.breaker.admit():
        pass


async def test_a_failure_after_the_first_chunk_is_final() -> None:
    provider = FakeProvider([[WORD, busy()], [WORD]])
    chunks, failure = await provider.ask()
    assert failure is not None
    assert (chunks, failure.code, provider.asked) == ([WORD], "provider_error", 1)


@dataclass
class EndlessSleep:
    began: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, seconds: float) -> None:
        assert seconds > 0
        self.began.set()
        await asyncio.Event().wait()


async def drain(stream: AsyncGenerator[Chunk]) -> None:
    async for _ in stream:
        pass


@pytest.mark.parametrize("retry_after", [None, 7.0])
async def test_cancelling_reaches_a_sleeping_retry(retry_after: float | None) -> None:
    provider = FakeProvider([[busy(retry_after=retry_after)], [WORD]])
    sleep = EndlessSleep()
    stream = stream_with_retries(provider.attempt, breaker=provider.breaker, backoff=(1.0,), sleep=sleep)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        asking = group.create_task(drain(stream))
        await sleep.began.wait()
        asking.cancel()
    assert (asking.cancelled(), provider.asked) == (True, 1)


@pytest.mark.parametrize("steps", [[None], [WORD, None]])
async def test_cancelling_reaches_an_open_stream_and_frees_the_trial(steps: list[Step]) -> None:
    provider = FakeProvider([steps])
    provider.open_circuit(rested=True)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        asking = group.create_task(drain(provider.stream()))
        await provider.waiting.wait()
        asking.cancel()
    assert (asking.cancelled(), provider.closed.is_set()) == (True, True)
    with provider.breaker.admit():
        pass


async def test_a_trial_that_waits_for_a_pause_does_not_keep_others_from_trying() -> None:
    provider = FakeProvider([[WORD]])
    provider.open_circuit(rested=True)
    provider.breaker.fail(busy(retry_after=5.0))
    waiting = provider.stream()
    await anext(waiting)
    with provider.breaker.admit():
        pass
    await waiting.aclose()


async def test_a_model_that_must_be_told_something_is_not_asked_the_same_again() -> None:
    stumbled = ModelUnavailable("half a call", code="provider_error", retryable=True, feedback="Call it again.")
    provider = FakeProvider([[stumbled], [WORD]])
    assert await provider.ask() == ([], stumbled)
    assert provider.asked == 1


async def test_the_first_word_of_a_trial_lets_the_others_ask() -> None:
    provider = FakeProvider([[WORD, WORD]])
    provider.open_circuit(rested=True)
    trial = provider.stream()
    assert await anext(trial) == WORD
    assert (await provider.ask())[1] is None
    await trial.aclose()
