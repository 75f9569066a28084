"""What a model call costs and how much fits into a conversation, as far as anybody knows. Unknown is None, never zero.

The operator's promotions come first, then the operator's rates, then public prices that come with `genai-prices`.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from midwatch.config.cost import CostEstimation, Rates
from midwatch.config.llm import OpenAiProvider, Provider, PydanticAiProvider, VertexAiProvider
from midwatch.domain.messages import Usage

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot

_MILLION = 1_000_000
_OURS = frozenset({"demo", "scripted"})
"""Models that nobody bills."""
_NAMES = {"openai": "openai", "anthropic": "anthropic", "google": "google", "xai": "x-ai"}
_PREFIXES = {
    "azure-responses": "azure",
    "bedrock": "aws",
    "google-cloud": "google",
    "openai-chat": "openai",
    "openai-responses": "openai",
    "xai": "x-ai",
}
"""Of pydantic-ai, where the public list has another name for the provider."""
_OPENAI = "https://api.openai.com/"


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(slots=False, kw_only=True)
class Prices:
    """One per process: the public list is large and read at its first use."""

    estimation: CostEstimation = field(default_factory=CostEstimation)
    now: Callable[[], datetime] = _now

    async def prepare(self, providers: Iterable[Provider]) -> None:
        """Reads the public list, if it will be needed, without holding up anybody."""
        if "_public" not in self.__dict__ and any(_public_name(provider) != (None, None) for provider in providers):
            await asyncio.to_thread(lambda: self._public)

    def estimate(self, provider: Provider, usage: Usage) -> float | None:
        """US dollars."""
        if not self.estimation.enabled:
            return None
        if provider.type in _OURS:
            return 0.0
        own = self._find_promotion(provider.model) or self.estimation.model_rates.get(provider.model)
        if own is not None:
            return _apply(own, usage)
        return self._look_up_price(provider, usage)

    def explain_unpriced(self, provider: Provider) -> str | None:
        """Why a call of this model has no price; None when it has one."""
        if not self.estimation.enabled:
            return "costs are not estimated, as system.cost_estimation.enabled is false"
        if self.estimate(provider, Usage()) is None:
            return f"nobody knows what {provider.model} costs; say it in system.cost_estimation.model_rates"
        return None

    def find_window(self, provider: Provider) -> int | None:
        """Tokens that fit into a conversation."""
        found = self._find_public(provider)
        return None if found is None else found.context_window

    def _find_promotion(self, model: str) -> Rates | None:
        now = self.now()
        for promotion in self.estimation.promotions:
            has_begun = promotion.start is None or promotion.start <= now
            if promotion.model == model and has_begun and now < promotion.end:
                return promotion
        return None

    def _look_up_price(self, provider: Provider, usage: Usage) -> float | None:
        from genai_prices import Usage as Used  # noqa: PLC0415 -- heavy, and not every process asks for prices

        used = Used(
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
        )
        name, url = _public_name(provider)
        if name is None and url is None:
            return None
        try:
            return float(self._public.calc(used, _public_model(provider), name, url, self.now()).total_price)
        except (LookupError, ValueError):
            # No such model or provider, or one whose price does not follow from tokens alone.
            return None

    def _find_public(self, provider: Provider) -> Any:
        name, url = _public_name(provider)
        if name is None and url is None:
            return None
        try:
            return self._public.find_provider_model(_public_model(provider), None, name, url)[1]
        except LookupError:
            return None

    @cached_property
    def _public(self) -> "DataSnapshot":
        from genai_prices.data_snapshot import get_snapshot  # noqa: PLC0415 -- heavy, see above

        return get_snapshot()


def _apply(rates: Rates, usage: Usage) -> float:
    """The operator gives one price for what is sent, cached or not."""
    return (usage.input_tokens * rates.input_per_million + usage.output_tokens * rates.output_per_million) / _MILLION


def _public_name(provider: Provider) -> tuple[str | None, str | None]:
    """Under which name or address the public list knows the provider; neither for one of the operator's own."""
    match provider:
        case OpenAiProvider() if not provider.base_url.startswith(_OPENAI):
            return None, provider.base_url
        case PydanticAiProvider():
            return _public_prefix(provider)
        case VertexAiProvider():
            return ("anthropic" if provider.model.startswith("claude") else "google"), None
        case _:
            return _NAMES.get(provider.type), None


def _public_prefix(provider: PydanticAiProvider) -> tuple[str | None, str | None]:
    if provider.base_url is not None:
        return None, provider.base_url
    return _PREFIXES.get(provider.prefix, provider.prefix), None


def _public_model(provider: Provider) -> str:
    """The model's name without the prefix that chooses among pydantic-ai's providers."""
    return provider.model.partition(":")[2] if isinstance(provider, PydanticAiProvider) else provider.model
