"""What becomes of the long results of one execution: how much is read, who sums up the rest, and where all of it is."""

from collections.abc import Iterator, Sequence
from functools import partial

from midwatch.agent.budget import Budget
from midwatch.agent.purse import Purse
from midwatch.agent.summarizer import Summarizer, SummaryPlan
from midwatch.config.llm import DemoProvider
from midwatch.config.resolve import ExecutionSettings, ModelChoice
from midwatch.domain.messages import Message
from midwatch.investigation.means import Means
from midwatch.investigation.models import open_first
from midwatch.llm.ladder import Ladder, Rung
from midwatch.timeline.record import ExecutionRecorder
from midwatch.tools.portioned import Portion

_UNSUMMARISED = 25_000
"""Tokens of a result that a model of unknown size reads when its operator wants no summaries."""
_MOST_UNSUMMARISED = 100_000
_SHARE = 4
"""One part of so many of a model's window, when that is known."""


def portion_results(settings: ExecutionSettings, *, window: int | None) -> dict[str, Portion]:
    """By server. A server that does without summaries is taken at its operator's word: more is read of its results."""
    read = _UNSUMMARISED if window is None else min(window // _SHARE, _MOST_UNSUMMARISED)
    unsummarised = Portion(read=read)
    return {server: _portion(settings, server) or unsummarised for server in settings.servers}


def build_summarizer(
    settings: ExecutionSettings,
    *,
    recorder: ExecutionRecorder,
    means: Means,
    budget: Budget,
    purse: Purse,
    messages: Sequence[Message],
) -> Summarizer:
    return Summarizer(
        plans={
            server: SummaryPlan(limit_tokens=summarizer.limit_tokens, open=partial(_open, choices, means))
            for server, summarizer in settings.summarizers.items()
            if (choices := list(_list_choices(settings, summarizer.model)))
        },
        journals=recorder,
        budget=budget,
        purse=purse,
        messages=messages,
    )


def _portion(settings: ExecutionSettings, server: str) -> Portion | None:
    summarizer = settings.summarizers.get(server)
    if summarizer is None:
        return None
    # The demo model investigates and does nothing else: what is long is cut for it.
    can_sum_up = any(True for _ in _list_choices(settings, summarizer.model))
    return Portion(summarised_above=summarizer.threshold_tokens) if can_sum_up else Portion()


def _list_choices(settings: ExecutionSettings, first: ModelChoice) -> Iterator[ModelChoice]:
    """Whoever was chosen to sum up, then the agent's own model, then those that stand in for it."""
    own = ModelChoice(provider_name=settings.provider_name, provider=settings.provider, backend=settings.backend)
    seen: set[str] = set()
    for choice in (first, own, *settings.fallbacks):
        if choice.provider_name not in seen and not isinstance(choice.provider, DemoProvider):
            seen.add(choice.provider_name)
            yield choice


async def _open(choices: Sequence[ModelChoice], means: Means) -> Ladder:
    """Raises ModelUnavailable."""
    await means.prices.prepare(choice.provider for choice in choices)
    return open_first([_rung(choice, means) for choice in choices])


def _rung(choice: ModelChoice, means: Means) -> Rung:
    prices = means.prices
    return Rung(
        provider=choice.provider_name,
        backend=choice.backend,
        kind=choice.provider.type,
        open=partial(means.gateway.open, choice.provider_name, choice.provider),
        window=choice.provider.context_window or prices.find_window(choice.provider),
        price=partial(prices.estimate, choice.provider),
        unpriced=prices.explain_unpriced(choice.provider),
    )
