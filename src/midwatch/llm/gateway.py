"""From a provider's entry in the configuration to a model for one conversation."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

import httpx

from midwatch.config.llm import (
    AnthropicProvider,
    GoogleProvider,
    OpenAiProvider,
    Provider,
    ScriptedProvider,
    VertexAiProvider,
    XaiProvider,
)
from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.model import Model
from midwatch.llm.providers.openai.client import open_chat_completions
from midwatch.llm.scripted import load_script


@dataclass(frozen=True, slots=True, kw_only=True)
class Gateway:
    http: httpx.AsyncClient
    environ: Mapping[str, str]
    """Where the keys are; nothing else of it is read."""
    folder: Path

    def open(self, name: str, provider: Provider) -> Model:
        """Raises ModelUnavailable for a provider nobody here can speak to."""
        match provider:
            case OpenAiProvider():
                key = None if provider.api_key_env is None else self.environ.get(provider.api_key_env)
                return open_chat_completions(
                    provider=name, name=provider.model, base_url=provider.base_url, api_key=key, http=self.http
                )
            case ScriptedProvider():
                return load_script(self.folder / provider.script)(provider=name, name=provider.model)
            case GoogleProvider() | AnthropicProvider() | XaiProvider() | VertexAiProvider():
                told = f"this version does not speak to providers of type {provider.type} yet"
                raise ModelUnavailable(told, code="invalid_backend", retryable=False)
            case _ as never:
                assert_never(never)
