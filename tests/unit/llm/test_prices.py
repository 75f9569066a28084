"""What a call costs: the operator's word first, public prices next, and unknown where nobody knows."""

import asyncio
from datetime import UTC, datetime

import pytest

from midwatch.config.cost import CostEstimation
from midwatch.config.llm import PROVIDER_SHAPES, Provider
from midwatch.domain.messages import Usage
from midwatch.llm.prices import Prices

USED = Usage(input_tokens=1_000_000, output_tokens=100_000)
NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


def provider(kind: str, model: str, **fields: str) -> Provider:
    return PROVIDER_SHAPES[kind].model_validate({"type": kind, "model": model, **fields})


def prices(**estimation: object) -> Prices:
    return Prices(estimation=CostEstimation.model_validate(estimation), now=lambda: NOON)


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        ("openai", "gpt-5.2"),
        ("anthropic", "claude-sonnet-5"),
        ("google", "gemini-2.5-pro"),
        ("xai", "grok-4.6"),
        ("vertexai", "claude-sonnet-5"),
        ("vertexai", "gemini-2.5-flash"),
        ("pydantic-ai", "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("pydantic-ai", "groq:llama-3.3-70b-versatile"),
        ("pydantic-ai", "mistral:mistral-large-latest"),
        ("pydantic-ai", "openai-chat:gpt-5.2"),
    ],
)
def test_public_prices_are_known_for_the_big_providers(kind: str, model: str) -> None:
    cost = prices().estimate(provider(kind, model), USED)
    assert cost is not None
    assert 0.01 < cost < 100


def test_cached_tokens_are_cheaper_and_written_ones_dearer() -> None:
    claude = provider("anthropic", "claude-sonnet-5")

    def cost(usage: Usage) -> float:
        found = prices().estimate(claude, usage)
        assert found is not None
        return found

    plain = cost(Usage(input_tokens=1_000_000))
    assert cost(Usage(input_tokens=1_000_000, cache_read_tokens=900_000)) < plain
    assert cost(Usage(input_tokens=1_000_000, cache_write_tokens=900_000)) > plain


@pytest.mark.parametrize(
    ("kind", "model", "fields"),
    [
        ("openai", "qwen3-32b", {"base_url": "http://localhost:11434/v1"}),
        ("openai", "gpt-5.2", {"base_url": "http://gateway.internal/v1"}),
        ("openai", "a-model-nobody-has-heard-of", {}),
        ("pydantic-ai", "openai-chat:gpt-5.2", {"base_url": "http://gateway.internal/v1"}),
        ("pydantic-ai", "a-provider-nobody-has-heard-of:gpt-5.2", {}),
        ("pydantic-ai", "groq:a-model-nobody-has-heard-of", {}),
    ],
)
def test_what_nobody_has_a_price_for_is_unknown(kind: str, model: str, fields: dict[str, str]) -> None:
    assert prices().estimate(provider(kind, model, **fields), USED) is None
    assert prices().find_window(provider(kind, model, **fields)) is None


def test_the_operators_rates_come_before_public_prices() -> None:
    rates = {"gpt-5.2": {"input_per_million": 1, "output_per_million": 10}}
    assert prices(model_rates=rates).estimate(provider("openai", "gpt-5.2"), USED) == 2.0


@pytest.mark.parametrize(
    ("start", "end", "cost"),
    [
        (None, "2026-11-16", 0.2),
        ("2026-11-15", "2026-11-16", 0.2),
        ("2026-11-15T12:00:00Z", "2026-11-16", 0.2),
        ("2026-11-15T12:00:01Z", "2026-11-16", 2.0),
        (None, "2026-11-15T12:00:00Z", 2.0),
    ],
)
def test_a_promotion_holds_from_its_start_until_just_before_its_end(start: str | None, end: str, cost: float) -> None:
    promotion = {"model": "gpt-5.2", "start": start, "end": end, "input_per_million": 0.1, "output_per_million": 1}
    rates = {"gpt-5.2": {"input_per_million": 1, "output_per_million": 10}}
    known = prices(model_rates=rates, promotions=[promotion])
    assert known.estimate(provider("openai", "gpt-5.2"), USED) == pytest.approx(cost)


def test_nothing_is_estimated_when_the_operator_does_not_want_it() -> None:
    assert prices(enabled=False).estimate(provider("openai", "gpt-5.2"), USED) is None


def test_a_window_is_known_for_public_models() -> None:
    assert prices().find_window(provider("anthropic", "claude-sonnet-5")) == 1_000_000


async def test_the_public_list_is_read_beforehand_only_for_those_who_need_it() -> None:
    known = prices()
    await known.prepare([PROVIDER_SHAPES["scripted"].model_validate({"type": "scripted", "script": "x.yaml"})])
    assert "_public" not in vars(known)
    async with asyncio.timeout(30):
        await known.prepare([provider("openai", "gpt-5.2")])
    assert "_public" in vars(known)


@pytest.mark.parametrize(
    ("estimation", "kind", "model", "why"),
    [
        ({}, "anthropic", "claude-sonnet-5", None),
        ({}, "demo", "demo model", None),
        ({"model_rates": {"mine": {"input_per_million": 0, "output_per_million": 0}}}, "openai", "mine", None),
        ({}, "openai", "mine", "nobody knows what mine costs; say it in system.cost_estimation.model_rates"),
        (
            {"enabled": False},
            "anthropic",
            "claude-sonnet-5",
            "costs are not estimated, as system.cost_estimation.enabled is false",
        ),
    ],
)
def test_what_has_no_price_is_explained(estimation: dict[str, object], kind: str, model: str, why: str | None) -> None:
    assert prices(**estimation).explain_unpriced(provider(kind, model)) == why
