"""The models of one execution: the one that was chosen, and those that stand in for it."""

from collections.abc import Iterator, Sequence
from functools import partial

from midwatch.config.llm import GoogleProvider
from midwatch.config.resolve import ExecutionSettings, ModelChoice
from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.gateway import Gateway
from midwatch.llm.ladder import Ladder, Rung
from midwatch.llm.model import Model
from midwatch.llm.prices import Prices
from midwatch.llm.react.model import ReactModel


async def open_ladder(settings: ExecutionSettings, *, gateway: Gateway, prices: Prices, start: str | None) -> Ladder:
    """Begins at the provider a former owner had come to. Raises ModelUnavailable when none can be opened."""
    choices = list(_list_choices(settings))
    await prices.prepare(choice.provider for choice in choices)
    rungs = [_rung(choice, settings, gateway=gateway, prices=prices) for choice in choices]
    begin = next((place for place, rung in enumerate(rungs) if rung.provider == start), 0)
    return open_first(rungs[begin:])


def open_first(rungs: Sequence[Rung]) -> Ladder:
    """On the first that can be opened; the rest stand in for it. Raises ModelUnavailable when none can."""
    first: ModelUnavailable | None = None
    for place, rung in enumerate(rungs):
        try:
            model = rung.open()
        except ModelUnavailable as error:
            first = first or error
        else:
            return Ladder(
                model,
                backend=rung.backend,
                kind=rung.kind,
                window=rung.window,
                price=rung.price,
                unpriced=rung.unpriced,
                standbys=list(rungs[place + 1 :]),
            )
    assert first is not None  # noqa: S101 -- there is at least the chosen one, and it could not be opened
    raise first


def _list_choices(settings: ExecutionSettings) -> Iterator[ModelChoice]:
    yield ModelChoice(provider_name=settings.provider_name, provider=settings.provider, backend=settings.backend)
    # An agent that works with the provider's own tools alone would be left with none.
    needs_native = bool(settings.native_tools) and settings.needs_native_tools and not settings.servers
    for choice in settings.fallbacks:
        if not needs_native or isinstance(choice.provider, GoogleProvider):
            yield choice


def _rung(choice: ModelChoice, settings: ExecutionSettings, *, gateway: Gateway, prices: Prices) -> Rung:
    return Rung(
        provider=choice.provider_name,
        backend=choice.backend,
        kind=choice.provider.type,
        open=partial(_open, choice, settings, gateway=gateway),
        window=choice.provider.context_window or prices.find_window(choice.provider),
        price=partial(prices.estimate, choice.provider),
        unpriced=prices.explain_unpriced(choice.provider),
    )


def _open(choice: ModelChoice, settings: ExecutionSettings, *, gateway: Gateway) -> Model:
    # Beside servers' tools they cannot be used: unless somebody asked for them, they are not worth a word.
    native = settings.native_tools if settings.needs_native_tools or not settings.servers else frozenset[str]()
    model = gateway.open(choice.provider_name, choice.provider, native_tools=native)
    return ReactModel(model) if settings.acts_in_text else model
