"""Adapters that other installed packages bring along. Configuration can name one; it cannot name code."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import cast

import httpx

from midwatch.config.installed import ADAPTERS
from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.breaker import Breaker
from midwatch.llm.model import Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What an adapter is given for one conversation."""

    provider: str
    """Name of the provider entry in the configuration."""
    model: str
    base_url: str | None
    api_key: str | None = field(repr=False)
    options: Mapping[str, str]
    http: httpx.AsyncClient
    """Shared by the whole process, and closed by it."""
    backoff: Sequence[float]
    breaker: Breaker
    """Shared by all conversations with this provider."""


Adapter = Callable[[Opening], Model]


def open_adapter(kind: str, opening: Opening) -> Model:
    """Raises ModelUnavailable if no installed package has such an adapter, or it cannot be loaded."""
    found = tuple(entry_points(group=ADAPTERS, name=kind))
    if not found:
        message = f"no installed package has an adapter {kind}"
        raise ModelUnavailable(message, code="invalid_request", retryable=False)
    try:
        adapter = cast("Adapter", found[0].load())
    except (ImportError, AttributeError) as error:
        message = f"the adapter {kind} cannot be loaded: {error}"
        raise ModelUnavailable(message, code="invalid_request", retryable=False) from error
    return adapter(opening)
