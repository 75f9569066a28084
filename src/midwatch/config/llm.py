"""The shapes of `llm-providers.yaml`: who serves a model, and where."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from midwatch.config.strict import Strict


def _check_url(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise ValueError("must start with http:// or https://")
    return url.rstrip("/")


class OpenAiProvider(Strict):
    """Anything that speaks OpenAI's chat completions."""

    type: Literal["openai"]
    model: str = Field(min_length=1, description="The model's name at the provider")
    base_url: Annotated[str, AfterValidator(_check_url)] = Field(
        default="https://api.openai.com/v1", repr=False, description="vLLM, Ollama, llama.cpp and others work too"
    )
    api_key_env: str | None = Field(default=None, min_length=1, description="Variable that holds the key; none, no key")


class ScriptedProvider(Strict):
    """Replays a file instead of asking anybody."""

    type: Literal["scripted"]
    script: Path = Field(description="Relative to the configuration folder")
    model: str = Field(default="scripted", min_length=1, description="Shown as the model's name")
    api_key_env: None = None


class UnsupportedProvider(Strict):
    """A type Midwatch knows of but cannot speak to yet: harmless until something refers to it."""

    type: Literal["google", "anthropic", "xai", "vertexai"]
    model: str = Field(min_length=1)
    api_key_env: str | None = None
    credentials_env: str | None = None
    project_env: str | None = None
    location_env: str | None = None
    base_url: str | None = Field(default=None, repr=False)
    native_tools: dict[str, bool] | None = None
    max_tool_result_tokens: int | None = None


Provider = OpenAiProvider | ScriptedProvider

PROVIDER_SHAPES: Mapping[str, type[OpenAiProvider | ScriptedProvider | UnsupportedProvider]] = {
    "openai": OpenAiProvider,
    "scripted": ScriptedProvider,
    "google": UnsupportedProvider,
    "anthropic": UnsupportedProvider,
    "xai": UnsupportedProvider,
    "vertexai": UnsupportedProvider,
}
