"""One entry's model in pydantic-ai, shared by all its conversations. Its connections are closed with the gateway."""

import asyncio
import inspect
from collections.abc import MutableMapping
from contextlib import AsyncExitStack
from typing import Any, final

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model as LibraryModel
from pydantic_ai.models import infer_model
from pydantic_ai.providers import Provider as LibraryProvider
from pydantic_ai.providers import infer_provider, infer_provider_class
from pydantic_ai.settings import ModelSettings

from midwatch.config.llm import PydanticAiProvider
from midwatch.config.longtail import ADDRESS, KEY, find_argument
from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.failures import quote_provider
from midwatch.llm.providers.longtail.request import fit_ids


@final
class Library:
    def __init__(self, model: LibraryModel, *, api_key: str | None, closing: AsyncExitStack) -> None:
        self.model = model
        self.secret = api_key or _find_key(model)
        """Hidden wherever a provider repeats it."""
        self._closing = closing
        self._is_open = False

    @property
    def settings(self) -> ModelSettings:
        """Without attempts of its own, where it can be told so: asking again is our business."""
        return ModelSettings() if "max_retries" in self.model.unsupported_settings else ModelSettings(max_retries=0)

    def fit(self, messages: list[ModelMessage]) -> list[ModelMessage]:
        length = self.model.profile.get("tool_call_id_length")
        return fit_ids(messages, length=length) if length else messages

    async def open(self) -> LibraryModel:
        if not self._is_open:
            self._is_open = True
            self._closing.push_async_callback(_hang_up, self.model)
            await self._closing.enter_async_context(self.model)
        return self.model


async def _hang_up(model: LibraryModel) -> None:
    """The library closes what is asynchronous; Amazon's connections are not."""
    close: Any = getattr(_find_client(model), "close", None)
    if close is not None and not inspect.iscoroutinefunction(close):
        await asyncio.to_thread(close)


def _find_key(model: LibraryModel) -> str | None:
    """One that the library found for itself, as far as it can be seen."""
    key: Any = getattr(_find_client(model), "api_key", None)
    return key if isinstance(key, str) else None


def _find_client(model: LibraryModel) -> object:
    return model.provider.client if model.provider else None


def share_library(
    entry: PydanticAiProvider,
    *,
    name: str,
    api_key: str | None,
    libraries: MutableMapping[str, Library],
    closing: AsyncExitStack,
) -> Library:
    """Raises ModelUnavailable for what the library cannot build."""
    if name not in libraries:
        libraries[name] = Library(_build(entry, api_key=api_key), api_key=api_key, closing=closing)
    return libraries[name]


def _build(entry: PydanticAiProvider, *, api_key: str | None) -> LibraryModel:
    try:
        return infer_model(entry.model, lambda kind: _build_provider(kind, entry=entry, api_key=api_key))
    except UserError as error:
        # Most often the key that was looked for and not found. What follows is advice for somebody else.
        told = quote_provider(str(error).partition(" To try Pydantic AI ")[0], api_key=api_key)
        raise ModelUnavailable(told, code="credentials", retryable=False) from None
    except Exception as error:  # noqa: BLE001 -- a boundary: dozens of libraries, each with errors of its own
        told = quote_provider(f"{type(error).__name__}: {error}", api_key=api_key)
        raise ModelUnavailable(told, code="invalid_request", retryable=False) from None


def _build_provider(kind: str, *, entry: PydanticAiProvider, api_key: str | None) -> LibraryProvider[Any]:
    given = {KEY: api_key, ADDRESS: entry.base_url}
    if not any(given.values()):
        return infer_provider(kind)
    build = infer_provider_class(kind)
    arguments = {find_argument(build, names) or names[0]: value for names, value in given.items() if value}
    return build(**arguments)
