"""The shapes of `llm-providers.yaml`, who serves a model and where, and the `llm` block."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from midwatch.config.agents import NativeTools
from midwatch.config.strict import Name, Strict, WebUrl

_MODEL = "The model's name at the provider"
_KEY = "Variable that holds the key; none, no key"
_URL = "Instead of the provider's own address"
_WINDOW = "Tokens that fit into a conversation; overrides what is known of the model"
_RESULT_TOKENS = "Accepted for TARSy's sake; has no effect"

PROJECT_VARIABLE = "GOOGLE_CLOUD_PROJECT"
LOCATION_VARIABLE = "GOOGLE_CLOUD_LOCATION"
"""Read where an entry names no variables of its own."""


class OpenAiProvider(Strict):
    """OpenAI, and anything else that speaks its chat completions."""

    type: Literal["openai"] = Field(description="OpenAI, or anything that speaks its chat completions")
    model: Name = Field(description=_MODEL)
    base_url: WebUrl = Field(
        default="https://api.openai.com/v1", repr=False, description="vLLM, Ollama, llama.cpp and others work too"
    )
    api_key_env: Name | None = Field(default=None, description=_KEY)
    context_window: int | None = Field(default=None, ge=1000, description=_WINDOW)
    max_tool_result_tokens: int | None = Field(default=None, ge=1, description=_RESULT_TOKENS)


class ScriptedProvider(Strict):
    """Replays a file instead of asking anybody."""

    type: Literal["scripted"] = Field(description="Replays a file instead of asking anybody")
    script: Path = Field(description="Relative to the configuration folder")
    model: Name = Field(default="scripted", description="Shown as the model's name")
    api_key_env: None = None
    context_window: int | None = Field(default=None, ge=1000, description=_WINDOW)


class DemoProvider(Strict):
    """Follows rules instead of asking anybody."""

    type: Literal["demo"] = Field(description="Follows rules instead of asking a language model, for a first look")
    model: Name = Field(default="demo model", description="Shown as the model's name")
    api_key_env: None = None
    context_window: int | None = Field(default=None, ge=1000, description=_WINDOW)


class GoogleProvider(Strict):
    type: Literal["google"] = Field(description="Gemini")
    model: Name = Field(description=_MODEL)
    api_key_env: Name | None = Field(default=None, description=_KEY)
    base_url: WebUrl | None = Field(default=None, repr=False, description=_URL)
    native_tools: NativeTools = Field(
        default=NativeTools(),
        description="Tools the model runs itself; unset, it searches and reads pages, and runs no code",
    )
    context_window: int | None = Field(default=None, ge=1000, description=_WINDOW)
    max_tool_result_tokens: int | None = Field(default=None, ge=1, description=_RESULT_TOKENS)


class AnthropicProvider(Strict):
    type: Literal["anthropic"] = Field(description="Claude")
    model: Name = Field(description=_MODEL)
    api_key_env: Name | None = Field(default=None, description=_KEY)
    base_url: WebUrl | None = Field(default=None, repr=False, description=_URL)
    context_window: int | None = Field(default=None, ge=1000, description=_WINDOW)
    max_tool_result_tokens: int | None = Field(default=None, ge=1, description=_RESULT_TOKENS)


class XaiProvider(Strict):
    type: Literal["xai"] = Field(description="Grok")
    model: Name = Field(description=_MODEL)
    api_key_env: Name | None = Field(default=None, description=_KEY)
    base_url: WebUrl | None = Field(default=None, repr=False, description=_URL)
    context_window: int | None = Field(default=None, ge=1000, description=_WINDOW)
    max_tool_result_tokens: int | None = Field(default=None, ge=1, description=_RESULT_TOKENS)


class VertexAiProvider(Strict):
    type: Literal["vertexai"] = Field(description="Gemini and Claude on Google Cloud")
    model: Name = Field(description=_MODEL)
    credentials_env: Name | None = Field(
        default=None,
        description="Variable that holds the path of a key file or its JSON; none, the machine's own credentials",
    )
    project_env: Name | None = Field(
        default=None, description="Variable that holds the project; none, `GOOGLE_CLOUD_PROJECT`"
    )
    location_env: Name | None = Field(
        default=None, description="Variable that holds the location; none, `GOOGLE_CLOUD_LOCATION`, else `global`"
    )
    api_key_env: Name | None = Field(default=None, description=_KEY)
    base_url: WebUrl | None = Field(default=None, repr=False, description=_URL)
    context_window: int | None = Field(default=None, ge=1000, description=_WINDOW)
    max_tool_result_tokens: int | None = Field(default=None, ge=1, description=_RESULT_TOKENS)


class PydanticAiProvider(Strict):
    """Whoever pydantic-ai can speak to: Amazon Bedrock, Groq, Mistral and many more."""

    type: Literal["pydantic-ai"] = Field(description="Any provider of pydantic-ai; `pip install 'midwatch[longtail]'`")
    model: Name = Field(
        description="`provider:model` as pydantic-ai names them, such as `groq:llama-3.3-70b-versatile`"
    )
    api_key_env: Name | None = Field(
        default=None,
        description="Variable that holds the key; none, the provider's own variables, or the machine's credentials",
    )
    base_url: WebUrl | None = Field(default=None, repr=False, description=_URL)
    context_window: int | None = Field(default=None, ge=1000, description=_WINDOW)
    max_tool_result_tokens: int | None = Field(default=None, ge=1, description=_RESULT_TOKENS)

    @property
    def prefix(self) -> str:
        return self.model.partition(":")[0]


class InstalledProvider(Strict):
    """Spoken to by an adapter in another installed package; its type is the name of the package's entry point."""

    type: Name = Field(description="Name of the adapter, as its package names it among `midwatch.providers`")
    model: Name = Field(description=_MODEL)
    api_key_env: Name | None = Field(default=None, description=_KEY)
    base_url: WebUrl | None = Field(default=None, repr=False, description="Where the adapter should ask")
    options: dict[str, str] = Field(default={}, description="Whatever else the adapter wants to know")
    context_window: int | None = Field(default=None, ge=1000, description=_WINDOW)
    max_tool_result_tokens: int | None = Field(default=None, ge=1, description=_RESULT_TOKENS)


Provider = (
    OpenAiProvider
    | ScriptedProvider
    | DemoProvider
    | GoogleProvider
    | AnthropicProvider
    | XaiProvider
    | VertexAiProvider
    | PydanticAiProvider
    | InstalledProvider
)

PROVIDER_SHAPES: Mapping[str, type[Provider]] = {
    "openai": OpenAiProvider,
    "scripted": ScriptedProvider,
    "demo": DemoProvider,
    "google": GoogleProvider,
    "anthropic": AnthropicProvider,
    "xai": XaiProvider,
    "vertexai": VertexAiProvider,
    "pydantic-ai": PydanticAiProvider,
}


def required_variables(provider: Provider) -> list[tuple[str, str]]:
    """The variables a provider cannot do without, each with the key that names it."""
    keys = ("api_key_env", "credentials_env", "project_env", "location_env")
    named = [(key, getattr(provider, key, None)) for key in keys]
    if isinstance(provider, VertexAiProvider) and provider.project_env is None:
        named.append(("project_env", PROJECT_VARIABLE))
    return [(key, variable) for key, variable in named if variable]


SERVED_ELSEWHERE = frozenset({"google", "openai", "anthropic", "xai", "vertexai"})
"""The types that an LLM service asks for us, with keys that only it has."""


class LlmService(Strict):
    service_addr: str | None = Field(
        default=None,
        min_length=1,
        description="`host:port` of a `midwatch llm-service` that holds the keys instead of us; "
        "else that of `LLM_SERVICE_ADDR`",
    )
    service_token_env: Name = Field(
        default="LLM_SERVICE_TOKEN", description="Variable that holds the token it asks for; not set, no token"
    )
    service_ca: Path | None = Field(
        default=None,
        description="Certificates to trust, a PEM file; relative to the configuration folder. With it the connection "
        "is encrypted",
    )
