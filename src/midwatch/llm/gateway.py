"""From a provider's entry in the configuration to a model for one conversation."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, assert_never

import httpx

from midwatch.config.llm import (
    LOCATION_VARIABLE,
    PROJECT_VARIABLE,
    SERVED_ELSEWHERE,
    AnthropicProvider,
    DemoProvider,
    GoogleProvider,
    InstalledProvider,
    OpenAiProvider,
    Provider,
    PydanticAiProvider,
    ScriptedProvider,
    VertexAiProvider,
    XaiProvider,
)
from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.adapters import Opening, open_adapter
from midwatch.llm.breaker import Breaker
from midwatch.llm.model import Model
from midwatch.llm.providers.vertexai.tokens import TokenSources
from midwatch.llm.retry import BACKOFF
from midwatch.llm.wire import Authorise, by_header

if TYPE_CHECKING:
    from midwatch.llm.providers.longtail.library import Library

_XAI_ADDRESS = "https://api.x.ai/v1"
_DEMO_PACE = 0.01
"""Seconds between two pieces of text."""


class Remote(Protocol):
    """Opens models in another process, which holds their keys."""

    def open(self, name: str, provider: Provider, *, native_tools: frozenset[str] = ...) -> Model: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    http: httpx.AsyncClient
    environ: Mapping[str, str]
    """Where the keys are; nothing else of it is read."""
    folder: Path
    tokens: TokenSources = field(default_factory=TokenSources, repr=False)
    backoff: Sequence[float] = BACKOFF
    """Seconds before the second attempt, the third and so on."""
    breakers: dict[str, Breaker] = field(default_factory=dict[str, Breaker], repr=False)
    """By provider; all its conversations share one."""
    libraries: "dict[str, Library]" = field(default_factory=dict[str, "Library"], repr=False)
    """By provider, of those that are spoken to through pydantic-ai."""
    closing: AsyncExitStack = field(default_factory=AsyncExitStack, repr=False)
    """What they opened for themselves."""
    remote: Remote | None = None
    """The LLM service, which is asked in place of the providers that it can serve."""

    async def close(self) -> None:
        """Hangs up for those who did not use `http`."""
        await self.closing.aclose()

    def open(self, name: str, provider: Provider, *, native_tools: frozenset[str] = frozenset()) -> Model:
        """Raises ModelUnavailable for a provider nobody here can speak to."""
        if self.remote is not None and provider.type in SERVED_ELSEWHERE:
            return self.remote.open(name, provider, native_tools=native_tools)
        return self._open_here(name, provider, native_tools=native_tools)

    def _open_here(self, name: str, provider: Provider, *, native_tools: frozenset[str]) -> Model:
        match provider:
            case OpenAiProvider() | XaiProvider():
                return self._open_openai(name, provider)
            case AnthropicProvider():
                return self._open_anthropic(name, provider)
            case ScriptedProvider() | DemoProvider():
                return self._open_own(name, provider)
            case GoogleProvider():
                return self._open_gemini(name, provider, native_tools=native_tools)
            case VertexAiProvider():
                return self._open_vertex(name, provider)
            case PydanticAiProvider() | InstalledProvider():
                return self._open_foreign(name, provider)
            case _ as never:
                assert_never(never)

    def _open_own(self, name: str, provider: ScriptedProvider | DemoProvider) -> Model:
        if isinstance(provider, ScriptedProvider):
            from midwatch.llm.scripted import load_script  # noqa: PLC0415 - only those who use it pay

            return load_script(self.folder / provider.script)(provider=name, name=provider.model)
        from midwatch.llm.demo.model import DemoModel  # noqa: PLC0415 - only those who use it pay

        return DemoModel(provider=name, name=provider.model, pace=_DEMO_PACE)

    def _open_openai(self, name: str, provider: OpenAiProvider | XaiProvider) -> Model:
        from midwatch.llm.providers.openai.client import open_openai  # noqa: PLC0415 - only those who use it pay

        return open_openai(
            provider=name,
            name=provider.model,
            base_url=provider.base_url or _XAI_ADDRESS,
            api_key=self._read(provider.api_key_env),
            http=self.http,
            backoff=self.backoff,
            breaker=self._share_breaker(name),
        )

    def _open_anthropic(self, name: str, provider: AnthropicProvider) -> Model:
        from midwatch.llm.providers.anthropic.client import open_messages  # noqa: PLC0415 - only those who use it pay

        return open_messages(
            provider=name,
            name=provider.model,
            base_url=provider.base_url,
            api_key=self._read(provider.api_key_env),
            http=self.http,
            backoff=self.backoff,
            breaker=self._share_breaker(name),
        )

    def _open_gemini(self, name: str, provider: GoogleProvider, *, native_tools: frozenset[str]) -> Model:
        from midwatch.llm.providers.google.client import open_gemini  # noqa: PLC0415 - only those who use it pay

        return open_gemini(
            provider=name,
            name=provider.model,
            base_url=provider.base_url,
            api_key=self._read(provider.api_key_env),
            http=self.http,
            backoff=self.backoff,
            breaker=self._share_breaker(name),
            native_tools=native_tools,
        )

    def _open_vertex(self, name: str, provider: VertexAiProvider) -> Model:
        from midwatch.llm.providers.vertexai.client import open_vertex  # noqa: PLC0415 - only those who use it pay

        project = self._read(provider.project_env or PROJECT_VARIABLE)
        if project is None:
            told = f"variable {provider.project_env or PROJECT_VARIABLE} is not set: no project on Google Cloud"
            raise ModelUnavailable(told, code="credentials", retryable=False)
        return open_vertex(
            provider=name,
            name=provider.model,
            project=project,
            location=self._read(provider.location_env or LOCATION_VARIABLE),
            base_url=provider.base_url,
            authorise=self._authorise_vertex(provider),
            http=self.http,
            backoff=self.backoff,
            breaker=self._share_breaker(name),
        )

    def _open_foreign(self, name: str, provider: PydanticAiProvider | InstalledProvider) -> Model:
        if isinstance(provider, PydanticAiProvider):
            return self._open_longtail(name, provider)
        return self._open_installed(name, provider)

    def _open_longtail(self, name: str, provider: PydanticAiProvider) -> Model:
        from midwatch.llm.providers.longtail.client import open_longtail  # noqa: PLC0415 - only those who use it pay
        from midwatch.llm.providers.longtail.library import share_library  # noqa: PLC0415 - only those who use it pay

        key = self._read(provider.api_key_env)
        return open_longtail(
            provider=name,
            name=provider.model,
            library=share_library(provider, name=name, api_key=key, libraries=self.libraries, closing=self.closing),
            backoff=self.backoff,
            breaker=self._share_breaker(name),
        )

    def _open_installed(self, name: str, provider: InstalledProvider) -> Model:
        opening = Opening(
            provider=name,
            model=provider.model,
            base_url=provider.base_url,
            api_key=self._read(provider.api_key_env),
            options=provider.options,
            http=self.http,
            backoff=self.backoff,
            breaker=self._share_breaker(name),
        )
        return open_adapter(provider.type, opening)

    def _authorise_vertex(self, provider: VertexAiProvider) -> Authorise:
        from midwatch.llm.providers.vertexai.accounts import choose_account  # noqa: PLC0415 - only those who use it pay

        if key := self._read(provider.api_key_env):
            return by_header("x-goog-api-key", key)
        account = self._read(provider.credentials_env)
        return self.tokens.find(account, load=choose_account(account)).authorise

    def _share_breaker(self, name: str) -> Breaker:
        return self.breakers.setdefault(name, Breaker(provider=name))

    def _read(self, variable: str | None) -> str | None:
        return None if variable is None else self.environ.get(variable) or None
