"""After a failed model call: who is asked again, who takes over, what is cut, and what the model is told."""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

import pytest

from midwatch.agent.compaction import measure, shorten
from midwatch.agent.outcome import Concluded, Failed, Outcome
from midwatch.agent.prompts.fences import Fence
from midwatch.agent.prompts.render import render_be_direct, render_broken_off
from midwatch.agent.repetition import RepetitionWatch, ends_in_repetition
from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.domain.results import name_result
from midwatch.domain.tools import ToolCall
from midwatch.kit.ids import new_id
from midwatch.llm.failures import ProviderFailure
from midwatch.llm.ladder import Rung
from midwatch.llm.model import Chunk, Model, ModelRequest, TextChunk
from midwatch.llm.scripted import ScriptedModel, ScriptedTurn, Step
from tests.unit.agent.bench import OPENING, Bench, calling, saying

STUCK = "The disk is full because the log grew, and the log grew because the disk is full. "


def failing(code: str, *, text: str = "", retryable: bool = True, feedback: str | None = None) -> ScriptedTurn:
    error = ModelUnavailable(f"it failed: {code}", code=code, retryable=retryable, feedback=feedback)
    return ScriptedTurn(text=text, error=error)


def always(*turns: ScriptedTurn) -> list[Step]:
    """One after another, whatever the conversation says; the last one again and again."""
    remaining = list(turns)

    def play(_: ModelRequest) -> ScriptedTurn:
        return remaining.pop(0) if len(remaining) > 1 else remaining[0]

    return [play] * 50


@dataclass
class FailingModel:
    """Fails with these one after another, then answers."""

    failures: list[ModelUnavailable]
    provider: str = "failing"
    name: str = "failing"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        assert request.messages
        if self.failures:
            raise self.failures.pop(0)
        yield TextChunk(text="Full.")


@dataclass
class FakeSleep:
    waits: list[float] = field(default_factory=list[float])

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


def waiting(code: str, retry_after: float | None = None) -> ProviderFailure:
    return ProviderFailure(f"it failed: {code}", code=code, retryable=code == "max_retries", retry_after=retry_after)


def standby(name: str, *turns: ScriptedTurn) -> Rung:
    def open_it() -> Model:
        return ScriptedModel(turns=always(*turns), provider=name, name=f"{name}-model")

    return Rung(provider=name, backend="langchain", open=open_it)


def unopenable(name: str) -> Rung:
    def refuse() -> Model:
        raise ModelUnavailable("no key", code="credentials", retryable=False)

    return Rung(provider=name, backend="langchain", open=refuse)


@pytest.mark.parametrize(
    ("code", "retryable", "asked"),
    [
        ("max_retries", True, 1),
        ("credentials", False, 1),
        ("circuit_open", True, 1),
        ("provider_error", True, 2),
        ("invalid_request", False, 2),
        ("partial_stream_error", True, 2),
        ("stall_timeout", True, 2),
    ],
)
async def test_another_provider_takes_over_when_asking_again_does_not_help(
    code: str, *, retryable: bool, asked: int
) -> None:
    bench = Bench(always(failing(code, retryable=retryable)), standbys=[standby("second", saying("Full."))])
    assert await bench.agent.investigate() == Concluded(text="Full.", iterations=1)
    assert len(bench.model.asked) == asked
    (fallback,) = bench.journal.fallbacks
    assert (fallback.from_provider, fallback.to_provider, fallback.code) == ("scripted", "second", code)
    assert (fallback.to_model, fallback.to_backend, fallback.attempt) == ("second-model", "langchain", 1)
    assert bench.journal.replies[-1].provider == "second"


async def ask_alone(*failures: ModelUnavailable, standbys: Sequence[Rung] = ()) -> tuple[Outcome, Bench, FakeSleep]:
    sleep = FakeSleep()
    bench = Bench(FailingModel(list(failures)), standbys=standbys, sleep=sleep)
    return await bench.agent.investigate(), bench, sleep


FULL = Concluded(text="Full.", iterations=1)
OPEN, SPENT = waiting("circuit_open", 30.0), waiting("max_retries")
TOO_LATE = 360.0


@pytest.mark.parametrize(
    ("failures", "outcome", "waits"),
    [
        ([SPENT], FULL, []),
        ([SPENT, SPENT], Failed(error="it failed: max_retries"), []),
        ([waiting("max_retries", 60.0)], FULL, [60.0]),
        ([waiting("max_retries", TOO_LATE)], Failed(error="it failed: max_retries"), []),
        ([OPEN], FULL, [30.0]),
        ([OPEN, OPEN, OPEN, OPEN], FULL, [30.0] * 4),
        ([OPEN, SPENT, OPEN], FULL, [30.0, 30.0]),
        ([SPENT, OPEN, SPENT], Failed(error="it failed: max_retries"), [30.0]),
        ([waiting("circuit_open", TOO_LATE)], Failed(error="it failed: circuit_open"), []),
        ([waiting("credentials")], Failed(error="it failed: credentials"), []),
        ([waiting("credentials", 5.0)], Failed(error="it failed: credentials"), []),
        ([waiting("invalid_backend")], Failed(error="it failed: invalid_backend"), []),
    ],
)
async def test_without_a_standby_patience_goes_as_far_as_it_may_help(
    failures: list[ModelUnavailable], outcome: Outcome, waits: list[float]
) -> None:
    ended, bench, sleep = await ask_alone(*failures)
    assert (ended, sleep.waits) == (outcome, waits)
    gave_up = [] if ended == FULL else [False]
    retried = len(failures) - len(gave_up)
    assert [failure.will_retry for failure in bench.journal.failures] == [True] * retried + gave_up


@pytest.mark.parametrize("failure", [OPEN, SPENT, waiting("max_retries", 60.0), waiting("circuit_open", TOO_LATE)])
async def test_with_a_standby_nobody_waits(failure: ModelUnavailable) -> None:
    ended, bench, sleep = await ask_alone(failure, standbys=[standby("second", saying("Full."))])
    assert (ended, sleep.waits, len(bench.model.asked)) == (FULL, [], 1)
    assert bench.journal.replies[-1].provider == "second"


@pytest.mark.parametrize(("failure", "waits"), [(OPEN, [30.0]), (SPENT, [])])
async def test_standbys_that_cannot_be_opened_are_as_good_as_none(
    failure: ModelUnavailable, waits: list[float]
) -> None:
    ended, bench, sleep = await ask_alone(failure, standbys=[unopenable("locked")])
    assert (ended, sleep.waits, bench.journal.fallbacks) == (FULL, waits, [])


async def test_cancelling_reaches_an_agent_that_waits_for_its_provider() -> None:
    slept = asyncio.Event()

    async def sleep(seconds: float) -> None:
        assert seconds == 30.0
        slept.set()
        await asyncio.Event().wait()

    bench = Bench(FailingModel([OPEN]), sleep=sleep)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        investigating = group.create_task(bench.agent.investigate())
        await slept.wait()
        investigating.cancel()
    assert investigating.cancelled()
    assert [failure.code for failure in bench.journal.failures] == ["circuit_open"]


async def test_standbys_are_tried_in_order_and_those_that_cannot_help_are_passed_over() -> None:
    standbys = [
        unopenable("locked"),
        standby("scripted", saying("The same provider again.")),
        standby("second", failing("credentials", retryable=False)),
        standby("third", saying("Full.")),
    ]
    bench = Bench(always(failing("credentials", retryable=False)), standbys=standbys)
    assert await bench.agent.investigate() == Concluded(text="Full.", iterations=1)
    assert [(f.from_provider, f.to_provider, f.attempt) for f in bench.journal.fallbacks] == [
        ("scripted", "second", 1),
        ("second", "third", 2),
    ]


async def test_when_nobody_is_left_the_run_fails_with_the_last_reason() -> None:
    bench = Bench(always(failing("max_retries")), standbys=[standby("second", failing("credentials"))])
    assert await bench.agent.investigate() == Failed(error="it failed: credentials")
    assert [failure.will_retry for failure in bench.journal.failures] == [True, False]


async def test_a_new_provider_is_kept_for_the_iterations_after() -> None:
    second = standby("second", calling("get"), saying("Full."))
    bench = Bench(always(failing("max_retries")), standbys=[second])
    assert await bench.agent.investigate() == Concluded(text="Full.", iterations=2)
    assert len(bench.model.asked) == 1


def told_of(partial: str, said: Message) -> UserMessage:
    """Within the fence that was used for it."""
    assert isinstance(said, UserMessage)
    (word,) = set(re.findall(r"PARTIAL_ANSWER_START (\w+) -->", said.text))
    return UserMessage(text=render_broken_off(partial, Fence(word)))


async def test_what_had_come_of_a_broken_answer_is_given_back_to_the_model() -> None:
    bench = Bench(always(failing("partial_stream_error", text="The disk is f"), saying("Full.")))
    assert await bench.agent.investigate() == Concluded(text="Full.", iterations=1)
    assert bench.agent.messages[2] == told_of("The disk is f", bench.agent.messages[2])
    assert bench.journal.messages[0] == bench.agent.messages[2]


async def test_only_the_end_of_a_long_broken_answer_is_given_back() -> None:
    bench = Bench(always(failing("stall_timeout", text="a" * 5_000 + "end"), saying("Full.")))
    await bench.agent.investigate()
    assert bench.agent.messages[2] == told_of("a" * 1_997 + "end", bench.agent.messages[2])


async def test_a_model_that_repeats_itself_is_stopped_and_told_to_be_direct() -> None:
    bench = Bench(always(saying(STUCK * 200), saying("Full.")))
    assert await bench.agent.investigate() == Concluded(text="Full.", iterations=1)
    (failure,) = bench.journal.failures
    assert (failure.code, failure.will_retry) == ("repetition", True)
    assert len(failure.reply.text) < len(STUCK) * 100
    assert bench.agent.messages[2] == UserMessage(text=render_be_direct())


async def test_a_model_that_only_repeats_itself_ends_the_run() -> None:
    bench = Bench(always(saying(STUCK * 200)))
    assert await bench.agent.investigate() == Failed(error="the model said the same thing over and over")
    assert len(bench.model.asked) == 3


async def test_a_model_is_told_what_was_wrong_with_its_answer() -> None:
    bench = Bench(always(failing("malformed_answer", feedback="Write Action: first."), saying("Full.")))
    assert await bench.agent.investigate() == Concluded(text="Full.", iterations=1)
    assert bench.agent.messages[2] == UserMessage(text="Write Action: first.")


def result(number: int, size: int) -> list[Message]:
    call = ToolCall(call_id=new_id(), provider_id=f"c{number}", name="k8s.get", arguments="{}")
    return [
        AssistantMessage(text="", calls=(call,)),
        ToolMessage(provider_id=f"c{number}", name="k8s.get", content="x" * size),
    ]


def contents(messages: Sequence[Message]) -> list[str]:
    return [message.content for message in messages if isinstance(message, ToolMessage)]


async def test_a_conversation_that_is_too_long_loses_its_oldest_results_and_goes_on() -> None:
    messages = [*OPENING, *result(1, 10_000), *result(2, 10_000), *result(3, 10_000)]
    bench = Bench(always(failing("context_too_long", retryable=False), saying("Full.")), messages=messages)
    assert await bench.agent.investigate() == Concluded(text="Full.", iterations=4)
    first, second, third = contents(bench.model.asked[1].messages)
    reply = messages[2]
    assert isinstance(reply, AssistantMessage)
    assert first == (
        "[10,000 characters were removed here to make room; open them again as result "
        f"{name_result(reply.calls[0].call_id)}, with result.search, result.slice or result.query]"
    )
    assert (second, third) == ("x" * 10_000, "x" * 10_000)
    assert bench.journal.notices == ["context_shortened"]


async def test_a_conversation_with_nothing_left_to_cut_fails() -> None:
    bench = Bench(always(failing("context_too_long", retryable=False)), messages=[*OPENING, *result(1, 10_000)])
    assert await bench.agent.investigate() == Failed(error="it failed: context_too_long")
    assert [failure.will_retry for failure in bench.journal.failures] == [False]


async def test_a_conversation_that_would_not_fit_is_cut_before_it_is_sent() -> None:
    messages = [*OPENING, *result(1, 10_000), *result(2, 2_000)]
    bench = Bench([saying("."), saying("."), saying("Full.")], messages=messages)
    bench.agent.ladder.window = 3_000
    assert await bench.agent.investigate() == Concluded(text="Full.", iterations=3)
    assert [len(content) for content in contents(bench.model.asked[0].messages)] == [137, 2_000]
    assert bench.journal.failures == []


def test_the_newest_result_and_short_ones_are_never_cut() -> None:
    messages = [SystemMessage(text="s"), *result(1, 100), *result(2, 900), *result(3, 900)]
    before = measure(messages)
    assert shorten(messages) == 1
    assert [len(content) for content in contents(messages)] == [100, 134, 900]
    assert measure(messages) < before
    assert shorten(messages) == 0


@pytest.mark.parametrize(
    ("text", "stuck"),
    [
        (STUCK * 5, True),
        (STUCK * 4, False),
        ("And so: " + "abcdefghijklmnopqrstuvwxyz0123" * 5, True),
        ("abcdefghijklmnopqrstuvwxyz012" * 5, False),
        ("-" * 600, False),
        ("| --- | --- |\n" * 60, False),
        ("".join(f"Line {number} says something of its own, and is long enough.\n" for number in range(60)), False),
        (("a sentence of some length, " * 19)[:500] * 5, True),
    ],
)
def test_what_counts_as_repetition(text: str, *, stuck: bool) -> None:
    assert ends_in_repetition(text) is stuck


def test_repetition_is_seen_however_small_the_pieces() -> None:
    watch = RepetitionWatch()
    assert any(watch.feed(character) for character in STUCK * 60)
