"""A breaker: when nobody asks any more, when one may try again, and how long a provider is left in peace."""

import asyncio
from dataclasses import dataclass

import pytest

from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.breaker import Breaker
from midwatch.llm.failures import ProviderFailure


@dataclass
class FakeClock:
    now: float = 1_000.0

    def __call__(self) -> float:
        return self.now


def down(*, retry_after: float | None = None) -> ProviderFailure:
    return ProviderFailure("HTTP 503", code="provider_error", retryable=True, retry_after=retry_after)


def make_breaker(*, failures: int = 0) -> tuple[Breaker, FakeClock]:
    clock = FakeClock()
    breaker = Breaker(provider="main", clock=clock)
    for _ in range(failures):
        breaker.fail(down())
    return breaker, clock


def refused(breaker: Breaker) -> ModelUnavailable | None:
    try:
        breaker.admit()
    except ModelUnavailable as failure:
        return failure
    return None


def test_a_provider_that_fails_now_and_then_is_asked_on() -> None:
    breaker, _ = make_breaker(failures=4)
    breaker.succeed()
    for _ in range(4):
        breaker.fail(down())
    assert refused(breaker) is None


def test_after_five_failures_in_a_row_nobody_asks_for_a_while() -> None:
    breaker, clock = make_breaker(failures=5)
    failure = refused(breaker)
    assert isinstance(failure, ProviderFailure)
    assert (failure.code, failure.retryable, failure.retry_after) == ("circuit_open", False, 30.0)
    assert str(failure) == "provider main failed 5 times in a row and is left alone for 30 s"
    clock.now += 29
    assert refused(breaker) is not None


def test_then_one_may_try_while_the_others_wait() -> None:
    breaker, clock = make_breaker(failures=5)
    clock.now += 30
    with breaker.admit():
        failure = refused(breaker)
    assert isinstance(failure, ProviderFailure)
    assert failure.retry_after == 5.0
    assert (refused(breaker), refused(breaker)) == (None, None)


def test_the_first_word_of_a_trial_lets_the_others_ask() -> None:
    breaker, clock = make_breaker(failures=5)
    clock.now += 30
    with breaker.admit() as trial:
        trial.succeed()
        assert refused(breaker) is None


def test_a_trial_that_fails_begins_the_rest_anew() -> None:
    breaker, clock = make_breaker(failures=5)
    clock.now += 30
    with pytest.raises(ModelUnavailable), breaker.admit():
        raise down()
    clock.now += 29
    assert refused(breaker) is not None
    clock.now += 1
    assert refused(breaker) is None


@pytest.mark.parametrize("end", [asyncio.CancelledError, GeneratorExit, RuntimeError])
def test_a_trial_that_was_given_up_leaves_the_place_to_the_next(end: type[BaseException]) -> None:
    breaker, clock = make_breaker(failures=5)
    clock.now += 30
    with pytest.raises(end), breaker.admit():
        raise end
    assert refused(breaker) is None


def test_whoever_asked_before_the_rest_ends_no_trial_of_another() -> None:
    breaker, clock = make_breaker(failures=4)
    earlier = breaker.admit()
    breaker.fail(down())
    clock.now += 30
    with breaker.admit():
        with pytest.raises(GeneratorExit), earlier:
            raise GeneratorExit
        assert refused(breaker) is not None


@pytest.mark.parametrize("code", ["credentials", "invalid_request", "context_too_long", "content_filter"])
def test_what_is_wrong_with_the_question_does_not_count_against_the_provider(code: str) -> None:
    breaker, _ = make_breaker()
    for _ in range(9):
        breaker.fail(ModelUnavailable("no", code=code, retryable=False))
    assert refused(breaker) is None


def test_a_pause_that_a_provider_asked_for_is_kept_by_all() -> None:
    breaker, clock = make_breaker()
    breaker.fail(down(retry_after=7.0))
    breaker.fail(down(retry_after=2.0))
    assert breaker.pause() == 7.0
    clock.now += 5
    assert breaker.pause() == 2.0
    clock.now += 3
    assert breaker.pause() == 0


def test_a_provider_that_says_when_to_come_back_is_not_taken_for_one_that_is_down() -> None:
    breaker, clock = make_breaker()
    for _ in range(9):
        breaker.fail(down(retry_after=2.0))
    clock.now += 2
    assert (breaker.pause(), refused(breaker)) == (0, None)


def test_nobody_waits_for_a_long_pause_but_everybody_knows_of_it() -> None:
    breaker, clock = make_breaker()
    breaker.fail(down(retry_after=60.0))
    with pytest.raises(ProviderFailure, match="asked for a pause; 60 s of it are left") as caught:
        breaker.pause()
    assert (caught.value.code, caught.value.retry_after) == ("circuit_open", 60.0)
    clock.now += 40
    assert breaker.pause() == 20.0


def test_no_pause_is_kept_for_ever() -> None:
    breaker, clock = make_breaker()
    breaker.fail(down(retry_after=1e9))
    clock.now += 600
    assert breaker.pause() == 0
