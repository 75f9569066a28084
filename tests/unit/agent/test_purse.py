"""An agent with a budget: it is told what is left, and concludes with what it has when nothing is."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

import pytest

from midwatch.agent.outcome import Concluded
from midwatch.agent.prompts.render import render_budget_left, render_budget_spent, render_conclude_now
from midwatch.agent.purse import Allowance, Purse, PurseWatch
from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import AssistantMessage, Usage, UserMessage
from midwatch.domain.timeline import InteractionType
from midwatch.llm.ladder import Rung
from midwatch.llm.model import Chunk, ModelRequest, UsageChunk
from midwatch.llm.scripted import ScriptedCall, ScriptedModel, ScriptedTurn
from tests.unit.agent.bench import OPENING, Bench


@dataclass
class FakeClock:
    now: float = 50.0

    def __call__(self) -> float:
        return self.now


@dataclass
class SilentOnUsage:
    """A model whose provider does not count."""

    inner: ScriptedModel
    provider: str = "shy"
    name: str = "shy"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        async for chunk in self.inner.stream(request):
            if not isinstance(chunk, UsageChunk):
                yield chunk


COUNTED = ScriptedTurn(text="Full.", usage=Usage(input_tokens=20, output_tokens=10))


def looking(tokens: int) -> ScriptedTurn:
    call = ScriptedCall(name="k8s.get", arguments={})
    return ScriptedTurn(calls=(call,), usage=Usage(input_tokens=tokens - 10, output_tokens=10))


def make_bench(*turns: ScriptedTurn, purse: Purse, price: float | None = None) -> Bench:
    bench = Bench(turns, purse=purse)
    bench.agent.ladder.price = lambda _: price
    return bench


def prompts(bench: Bench) -> list[str]:
    return [message.text for message in bench.agent.messages[2:] if isinstance(message, UserMessage)]


async def test_an_agent_concludes_when_its_tokens_are_used_up() -> None:
    purse = Purse(allowance=Allowance(tokens=1_000))
    bench = make_bench(looking(600), looking(500), ScriptedTurn(text="Probably full."), purse=purse)
    assert await bench.agent.investigate() == Concluded(text="Probably full.", iterations=3, used_up="1,000 tokens")
    assert prompts(bench) == [render_budget_left("400 tokens"), render_budget_spent("1,000 tokens")]
    assert bench.journal.replies[-1].interaction_type is InteractionType.FORCED_CONCLUSION
    assert list(bench.model.asked[-1].tools) == []


async def test_an_agent_concludes_when_its_money_is_used_up() -> None:
    purse = Purse(allowance=Allowance(usd=1.0))
    bench = make_bench(looking(20), looking(20), ScriptedTurn(text="Probably full."), purse=purse, price=0.6)
    assert await bench.agent.investigate() == Concluded(text="Probably full.", iterations=3, used_up="1.00 US dollars")
    assert prompts(bench) == [render_budget_left("0.40 US dollars"), render_budget_spent("1.00 US dollars")]
    assert [reply.cost_usd for reply in bench.journal.replies] == [0.6, 0.6, 0.6]


async def test_a_session_whose_budget_was_used_up_before_concludes_at_once() -> None:
    bench = make_bench(ScriptedTurn(text="Too late."), purse=Purse(allowance=Allowance(tokens=10), tokens=10))
    assert await bench.agent.investigate() == Concluded(text="Too late.", iterations=1, used_up="10 tokens")


@pytest.mark.parametrize(
    ("said", "used_up"),
    [(render_budget_spent("900 tokens"), "900 tokens"), (render_conclude_now(7), "7 iterations")],
)
async def test_a_resumed_run_that_was_told_to_conclude_does_so_although_there_is_more_by_now(
    said: str, used_up: str
) -> None:
    messages = (*OPENING, AssistantMessage(text="I looked."), UserMessage(text=said))
    bench = Bench([COUNTED, ScriptedTurn(text="Probably full.")], messages=messages)
    assert await bench.agent.investigate() == Concluded(text="Probably full.", iterations=2, used_up=used_up)
    assert list(bench.model.asked[0].tools) == []
    assert prompts(bench) == [said]


async def test_a_resumed_run_knows_that_a_conclusion_was_not_made_freely() -> None:
    told = UserMessage(text=render_budget_spent("900 tokens"))
    bench = Bench([], messages=(*OPENING, told, AssistantMessage(text="Probably full.")))
    assert await bench.agent.investigate() == Concluded(text="Probably full.", iterations=1, used_up="900 tokens")
    assert bench.model.asked == []


UNPRICED = "nobody knows what it costs"


@pytest.mark.parametrize(
    ("allowance", "unpriced", "warnings"),
    [
        (Allowance(usd=2.5), UNPRICED, [f"the budget of 2.50 US dollars cannot be kept: {UNPRICED}"]),
        (Allowance(usd=0.002), UNPRICED, [f"the budget of 0.00200 US dollars cannot be kept: {UNPRICED}"]),
        (Allowance(usd=2.5), None, list[str]()),
        (Allowance(tokens=9_000), UNPRICED, list[str]()),
    ],
)
async def test_a_budget_of_money_that_cannot_be_kept_is_warned_of_once(
    allowance: Allowance, unpriced: str | None, warnings: list[str]
) -> None:
    bench = make_bench(looking(20), looking(20), COUNTED, purse=Purse(allowance=allowance))
    bench.agent.ladder.unpriced = unpriced
    await bench.agent.investigate()
    assert bench.journal.warnings == warnings


async def test_a_standby_whose_price_nobody_knows_is_warned_of_when_it_takes_over() -> None:
    standby = Rung(
        provider="spare",
        backend="",
        open=lambda: ScriptedModel(turns=[looking(20), COUNTED], provider="spare"),
        unpriced=UNPRICED,
    )
    broken = ScriptedTurn(error=ModelUnavailable("no such key", code="credentials", retryable=False))
    bench = Bench([looking(20), broken], purse=Purse(allowance=Allowance(usd=1.0)), standbys=[standby])
    await bench.agent.investigate()
    assert bench.journal.warnings == [f"the budget of 1.00 US dollars cannot be kept: {UNPRICED}"]


@pytest.mark.parametrize(
    ("allowance", "limit"),
    [(Allowance(usd=1.0, tokens=9_000), "1.00 US dollars and 9,000 tokens"), (Allowance(seconds=900.0), None)],
)
async def test_a_provider_that_counts_no_tokens_is_warned_of_once(allowance: Allowance, limit: str | None) -> None:
    model = SilentOnUsage(ScriptedModel(turns=[looking(20), looking(20), COUNTED]))
    bench = Bench(model, purse=Purse(allowance=allowance))
    await bench.agent.investigate()
    told = f"the budget of {limit} cannot be kept: shy does not say how many tokens it used"
    assert bench.journal.warnings == ([told] if limit else [])


async def test_what_nobody_counted_has_an_unknown_price() -> None:
    bench = make_bench(looking(20), ScriptedTurn(text="Full."), purse=Purse())
    await bench.agent.investigate()
    assert [reply.cost_usd for reply in bench.journal.replies] == [None, None]


def test_time_runs_from_former_owners_on() -> None:
    clock = FakeClock()
    purse = Purse(allowance=Allowance(seconds=100.0), seconds_before=60.0, clock=clock)
    clock.now += 30
    assert (purse.used, purse.is_empty, purse.describe_left()) == (0.9, False, "10 seconds")
    clock.now += 10
    assert (purse.is_empty, purse.describe_used_up()) == (True, "100 seconds")


@pytest.mark.parametrize(
    ("spent", "told"), [(499, None), (500, "500 tokens"), (900, "100 tokens"), (2_000, "0 tokens")]
)
def test_what_is_left_is_told_once_at_each_mark(spent: int, told: str | None) -> None:
    purse = Purse(allowance=Allowance(tokens=1_000), tokens=spent)
    watch = PurseWatch(purse)
    assert (watch.next_notice(), watch.next_notice()) == (told, None)


def test_without_limits_nothing_is_ever_used_up() -> None:
    purse = Purse(tokens=10**9, usd=10.0**9)
    assert (purse.used, purse.is_empty, purse.describe_left(), PurseWatch(purse).next_notice()) == (0, False, "", None)


def test_the_tightest_limit_counts() -> None:
    purse = Purse(allowance=Allowance(tokens=1_000, usd=10.0), tokens=100, usd=9.0)
    assert purse.used == 0.9
    assert purse.describe_left() == "1.00 US dollars, 900 tokens"
