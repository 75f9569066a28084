"""One question to a model: what is waited for, what is tried again, and what is recorded of a failure."""

import asyncio
from dataclasses import replace

import pytest

from midwatch.agent.budget import Budget
from midwatch.agent.outcome import Concluded, Failed, TimedOut
from midwatch.domain.errors import LeaseLost, ModelUnavailable
from midwatch.llm.model import CallChunk, ModelRequest, NoticeChunk, TextChunk, ThinkingChunk
from midwatch.llm.scripted import ScriptedTurn, Step
from tests.unit.agent.bench import Bench, HesitantModel, saying

PATIENT = Budget(first_chunk=60, gap=60, call=60, iteration=60)
TINY = 0.02


def failing(*, retryable: bool) -> ScriptedTurn:
    error = ModelUnavailable("the provider is down", code="provider_error", retryable=retryable)
    return ScriptedTurn(text="half", error=error)


def one_after_another(*turns: ScriptedTurn) -> list[Step]:
    """Whatever the conversation says: for a model that is asked the same question again."""
    remaining = iter(turns)

    def play(_request: ModelRequest) -> ScriptedTurn:
        return next(remaining)

    return [play] * len(turns)


SILENT = HesitantModel()
HALTING = HesitantModel([ThinkingChunk(text="Hm"), TextChunk(text="It i")])
RETRYING = HesitantModel([NoticeChunk(code="provider_retry", message="asking again")])
CALLING = HesitantModel([CallChunk(provider_id="call_1", name="k8s.set", arguments="{}")])


@pytest.mark.parametrize(
    ("model", "budget", "code", "message"),
    [
        (SILENT, replace(PATIENT, first_chunk=TINY), "initial_response_timeout", "the model said nothing for 0.02 s"),
        (RETRYING, replace(PATIENT, first_chunk=TINY), "initial_response_timeout", "the model said nothing for 0.02 s"),
        (HALTING, replace(PATIENT, gap=TINY), "stall_timeout", "the model fell silent for 0.02 s"),
        (CALLING, replace(PATIENT, gap=TINY), "stall_timeout", "the model fell silent for 0.02 s"),
        (SILENT, replace(PATIENT, call=TINY), "call_timeout", "the model did not finish within 0.02 s"),
        (HALTING, replace(PATIENT, call=TINY), "call_timeout", "the model did not finish within 0.02 s"),
    ],
)
async def test_a_model_that_is_too_slow_is_asked_once_more(
    model: HesitantModel, budget: Budget, code: str, message: str
) -> None:
    bench = Bench(model, budget=budget)
    async with asyncio.timeout(60):
        assert await bench.agent.investigate() == TimedOut(error=message)
    assert [(failure.code, failure.error, failure.will_retry) for failure in bench.journal.failures] == [
        (code, message, True),
        (code, message, False),
    ]
    assert bench.journal.replies == []
    assert bench.ran == []


async def test_a_call_that_was_given_up_costs_an_unknown_amount_and_a_refused_one_nothing() -> None:
    left = Bench(SILENT, budget=replace(PATIENT, first_chunk=TINY))
    await left.agent.investigate()
    assert [failure.reply.cost_usd for failure in left.journal.failures] == [None, None]
    refused = Bench([ScriptedTurn(error=ModelUnavailable("no", code="credentials", retryable=False))])
    await refused.agent.investigate()
    assert [failure.reply.cost_usd for failure in refused.journal.failures] == [0.0]


async def test_what_had_come_of_a_failed_reply_is_recorded() -> None:
    bench = Bench(HALTING, budget=replace(PATIENT, gap=TINY, failures_in_a_row=1))
    await bench.agent.investigate()
    (failure,) = bench.journal.failures
    assert (failure.reply.thinking, failure.reply.text, failure.reply.iteration) == ("Hm", "It i", 1)
    assert failure.will_retry is False


async def test_a_quick_model_is_not_hurried_by_the_wait_for_its_first_word() -> None:
    """The wait for the first chunk ends with it; from then on only the gaps count."""
    gap = asyncio.Event()

    class Slow:
        provider = name = "slow"

        async def stream(self, request: ModelRequest):  # noqa: ANN202 -- an async generator of chunks
            assert request.messages
            yield TextChunk(text="It is ")
            asyncio.get_running_loop().call_later(4 * TINY, gap.set)
            await gap.wait()
            yield TextChunk(text="hot.")

    bench = Bench(Slow(), budget=replace(PATIENT, first_chunk=TINY))
    assert await bench.agent.investigate() == Concluded(text="It is hot.", iterations=1)


async def test_a_notice_is_not_the_models_word() -> None:
    """After it the model may be as long in coming as at first, not only as long as between two words."""
    word = asyncio.Event()

    class Retried:
        provider = name = "retried"

        async def stream(self, request: ModelRequest):  # noqa: ANN202 -- an async generator of chunks
            assert request.messages
            yield NoticeChunk(code="provider_retry", message="asking again in 1 s")
            asyncio.get_running_loop().call_later(4 * TINY, word.set)
            await word.wait()
            yield TextChunk(text="It is hot.")

    bench = Bench(Retried(), budget=replace(PATIENT, gap=TINY))
    assert await bench.agent.investigate() == Concluded(text="It is hot.", iterations=1)
    assert [aside for reply in bench.journal.replies for aside in reply.asides] == [
        NoticeChunk(code="provider_retry", message="asking again in 1 s")
    ]


async def test_a_failure_that_may_pass_is_tried_again() -> None:
    bench = Bench(one_after_another(failing(retryable=True), saying("Hot.")))
    assert await bench.agent.investigate() == Concluded(text="Hot.", iterations=1)
    (failure,) = bench.journal.failures
    assert (failure.code, failure.will_retry, failure.reply.text) == ("provider_error", True, "half")
    assert bench.journal.replies[0].text == "Hot."


async def test_a_failure_that_does_not_pass_ends_the_run() -> None:
    bench = Bench([failing(retryable=True)])
    assert await bench.agent.investigate() == Failed(error="the provider is down")
    assert [failure.will_retry for failure in bench.journal.failures] == [True, False]


async def test_a_failure_that_cannot_pass_ends_the_run_at_once() -> None:
    bench = Bench([failing(retryable=False)])
    assert await bench.agent.investigate() == Failed(error="the provider is down")
    assert [failure.will_retry for failure in bench.journal.failures] == [False]
    assert len(bench.model.asked) == 1


async def test_failures_count_anew_in_every_iteration() -> None:
    bench = Bench(one_after_another(failing(retryable=True), ScriptedTurn(), failing(retryable=True), saying("Hot.")))
    assert await bench.agent.investigate() == Concluded(text="Hot.", iterations=2)
    assert [failure.will_retry for failure in bench.journal.failures] == [True, True]


async def test_no_attempt_begins_after_the_time_of_the_iteration_is_over() -> None:
    bench = Bench(SILENT, budget=replace(PATIENT, first_chunk=TINY, iteration=TINY, failures_in_a_row=9))
    async with asyncio.timeout(60):
        assert isinstance(await bench.agent.investigate(), TimedOut)
    assert len(bench.journal.failures) == 1


async def test_a_lease_that_is_lost_while_a_failure_is_recorded_stops_the_run() -> None:
    bench = Bench([failing(retryable=True)])
    bench.journal.failure = LeaseLost("gone")
    with pytest.raises(LeaseLost):
        await bench.agent.investigate()
    assert len(bench.model.asked) == 1


async def test_a_time_limit_of_somebody_else_is_not_taken_for_the_models() -> None:
    bench = Bench(SILENT, budget=PATIENT)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(TINY):
            await bench.agent.investigate()
    assert bench.journal.failures == []


async def test_a_time_limit_inside_the_model_is_a_bug_and_stays_itself() -> None:
    class Broken:
        provider = name = "broken"

        async def stream(self, request: ModelRequest):  # noqa: ANN202 -- an async generator of chunks
            assert request.messages
            yield TextChunk(text="x")
            raise TimeoutError

    bench = Bench(Broken(), budget=PATIENT)
    with pytest.raises(TimeoutError):
        await bench.agent.investigate()
