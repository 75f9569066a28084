"""Each entry of the configuration is spoken to in its own protocol, at its own address, with its own key."""

import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from midwatch.config.llm import (
    AnthropicProvider,
    GoogleProvider,
    OpenAiProvider,
    Provider,
    VertexAiProvider,
    XaiProvider,
)
from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import UserMessage
from midwatch.llm.gateway import Gateway
from midwatch.llm.model import ModelRequest, TextChunk, ThinkingChunk
from tests.fakes.openai_events import DONE, delta_event
from tests.unit.llm.asking import ask_once

REQUEST = ModelRequest(messages=(UserMessage(text="go"),), tools=(), agent="A")
ENVIRON = {"KEY": "k-1", "EMPTY": ""}


class Recording:
    """Refuses every request, and keeps it."""

    def __init__(self, reply: httpx.Response) -> None:
        self.requests: list[httpx.Request] = []
        self._reply = reply

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        return self._reply


async def send(provider: Provider) -> httpx.Request:
    recording = Recording(httpx.Response(401))
    async with httpx.AsyncClient(transport=httpx.MockTransport(recording)) as http:
        model = Gateway(http=http, environ=ENVIRON, folder=Path()).open("big", provider)
        asking = await ask_once(model, REQUEST)
    assert (model.provider, model.name) == ("big", provider.model)
    assert isinstance(asking.failure, ModelUnavailable)
    (request,) = recording.requests
    return request


@pytest.mark.parametrize(
    ("provider", "url"),
    [
        (OpenAiProvider(type="openai", model="gpt-5.2"), "https://api.openai.com/v1/responses"),
        (OpenAiProvider(type="openai", model="gpt-4.1"), "https://api.openai.com/v1/chat/completions"),
        (
            OpenAiProvider(type="openai", model="gpt-5.2", base_url="http://proxy/v1"),
            "http://proxy/v1/chat/completions",
        ),
        (XaiProvider(type="xai", model="grok-4.6"), "https://api.x.ai/v1/chat/completions"),
        (XaiProvider(type="xai", model="grok-4.6", base_url="http://proxy/x"), "http://proxy/x/chat/completions"),
        (AnthropicProvider(type="anthropic", model="claude-sonnet-5"), "https://api.anthropic.com/v1/messages"),
        (
            AnthropicProvider(type="anthropic", model="claude-sonnet-5", base_url="http://proxy/v1/"),
            "http://proxy/v1/messages",
        ),
        (
            GoogleProvider(type="google", model="gemini-3.7-flash"),
            "https://generativelanguage.googleapis.com/v1beta/models/gemini-3.7-flash:streamGenerateContent?alt=sse",
        ),
    ],
)
async def test_an_entry_is_asked_at_its_address(provider: Provider, url: str) -> None:
    assert str((await send(provider)).url) == url


@pytest.mark.parametrize(
    ("provider", "header", "value"),
    [
        (OpenAiProvider(type="openai", model="gpt-5.2", api_key_env="KEY"), "authorization", "Bearer k-1"),
        (XaiProvider(type="xai", model="grok-4.6", api_key_env="KEY"), "authorization", "Bearer k-1"),
        (XaiProvider(type="xai", model="grok-4.6", api_key_env="EMPTY"), "authorization", None),
        (AnthropicProvider(type="anthropic", model="claude", api_key_env="KEY"), "x-api-key", "k-1"),
        (AnthropicProvider(type="anthropic", model="claude"), "x-api-key", None),
        (GoogleProvider(type="google", model="gemini-3", api_key_env="KEY"), "x-goog-api-key", "k-1"),
    ],
)
async def test_the_key_comes_from_the_variable_the_entry_names(
    provider: Provider, header: str, value: str | None
) -> None:
    assert (await send(provider)).headers.get(header) == value


async def test_what_grok_thinks_is_shown_as_thinking() -> None:
    events = delta_event({"reasoning_content": "hm"}) + delta_event({"content": "so"}, finish_reason="stop") + DONE
    recording = Recording(httpx.Response(200, content=events))
    async with httpx.AsyncClient(transport=httpx.MockTransport(recording)) as http:
        model = Gateway(http=http, environ={}, folder=Path()).open("x", XaiProvider(type="xai", model="grok-4.6"))
        asking = await ask_once(model, REQUEST)
    assert asking.chunks == [ThinkingChunk(text="hm"), TextChunk(text="so")]


async def test_all_conversations_with_a_provider_keep_its_pause() -> None:
    entry = OpenAiProvider(type="openai", model="gpt-4.1")
    recording = Recording(httpx.Response(429, headers={"Retry-After": "60"}))
    async with httpx.AsyncClient(transport=httpx.MockTransport(recording)) as http:
        gateway = Gateway(http=http, environ={}, folder=Path())
        codes = [await ask_code(gateway, name, entry) for name in ("big", "big", "other", "other", "big")]
    assert codes == ["max_retries", "circuit_open", "max_retries", "circuit_open", "circuit_open"]
    assert len(recording.requests) == 2


@pytest.mark.parametrize(
    "entry",
    [
        OpenAiProvider(type="openai", model="gpt-5.2"),
        XaiProvider(type="xai", model="grok-4.6"),
        AnthropicProvider(type="anthropic", model="claude-sonnet-5"),
        GoogleProvider(type="google", model="gemini-3.7-flash"),
        VertexAiProvider(type="vertexai", model="gemini-3.7-flash", api_key_env="KEY", project_env="PROJECT"),
        VertexAiProvider(type="vertexai", model="claude-sonnet-5", api_key_env="KEY", project_env="PROJECT"),
    ],
    ids=lambda entry: f"{entry.type}-{entry.model}",
)
async def test_the_waits_and_the_breaker_are_the_gateways(entry: Provider) -> None:
    recording = Recording(httpx.Response(503))
    async with httpx.AsyncClient(transport=httpx.MockTransport(recording)) as http:
        gateway = Gateway(http=http, environ={**ENVIRON, "PROJECT": "p-1"}, folder=Path(), backoff=(0.0,))
        codes = [await ask_code(gateway, "big", entry) for _ in range(4)]
    assert codes == ["max_retries", "max_retries", "circuit_open", "circuit_open"]
    assert len(recording.requests) == 5


async def ask_code(gateway: Gateway, name: str, entry: Provider) -> str | None:
    """Each in a conversation of its own."""
    failure = (await ask_once(gateway.open(name, entry), REQUEST)).failure
    return failure.code if failure else None


def test_a_provider_that_nobody_uses_is_not_loaded() -> None:
    loaded = "[m for m in sys.modules if m.endswith(('.client', '.request', '.response')) and '.providers.' in m]"
    code = f"import sys, midwatch.llm.gateway; print({loaded})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
