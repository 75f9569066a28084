"""The protocols of the providers side by side: who speaks each of them here, and how each says what goes wrong."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import httpx

from midwatch.config.llm import AnthropicProvider, GoogleProvider, OpenAiProvider, Provider
from midwatch.kit import json
from midwatch.llm.breaker import Breaker
from midwatch.llm.model import Model
from midwatch.llm.providers.anthropic.client import open_messages
from midwatch.llm.providers.google.client import open_gemini
from midwatch.llm.providers.openai.client import open_chat_completions
from midwatch.llm.providers.openai.responses_client import open_responses
from midwatch.llm.retry import BACKOFF, Sleep
from midwatch.llm.toolnames import encode_name
from tests.fakes import anthropic_events, gemini_events, openai_events, responses_events
from tests.fakes.anthropic_server import MESSAGES
from tests.fakes.gemini_server import GEMINI
from tests.fakes.openai_server import CHAT_COMPLETIONS
from tests.fakes.provider_server import Dialect, ProviderServer, Status, Stream
from tests.fakes.responses_server import RESPONSES

KEY_VARIABLE = "KEY"
OPENAI_ADDRESS = "http://api.openai.com/v1"
"""Responses are spoken to OpenAI itself only; `Detour` leads there."""

Calls = Sequence[tuple[str, str]]
"""Ids and arguments, as they are written."""


class Open(Protocol):
    def __call__(
        self,
        *,
        provider: str,
        name: str,
        base_url: str,
        api_key: str | None,
        http: httpx.AsyncClient,
        backoff: Sequence[float] = ...,
        sleep: Sleep = ...,
        breaker: Breaker | None = ...,
    ) -> Model: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    name: str
    model: str
    dialect: Dialect
    opener: Open
    entry: Callable[[str], Provider]
    """In the configuration, for a provider at this address."""
    refuse: Callable[[int, str, str], Status]
    """With the provider's own word for it, and a message."""
    report: Callable[[str], bytes]
    """An error in the middle of a stream."""
    filtered: Stream
    half_a_call: Stream
    call: Callable[[Calls, str], Stream]
    """A whole answer that calls a tool some times."""

    def open(
        self,
        base_url: str,
        *,
        http: httpx.AsyncClient,
        api_key: str | None,
        backoff: Sequence[float] = BACKOFF,
        sleep: Sleep = asyncio.sleep,
        breaker: Breaker | None = None,
    ) -> Model:
        return self.opener(
            provider="main",
            name=self.model,
            base_url=base_url,
            api_key=api_key,
            http=http,
            backoff=backoff,
            sleep=sleep,
            breaker=breaker,
        )

    def address(self, server: ProviderServer) -> str:
        return server.base_url.removesuffix("/v1") if self.name == "gemini" else server.base_url


class Detour(httpx.AsyncHTTPTransport):
    """Leads what is meant for OpenAI itself to another address."""

    def __init__(self, base_url: str) -> None:
        super().__init__()
        self._target = httpx.URL(base_url)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.host == httpx.URL(OPENAI_ADDRESS).host:
            url = request.url.copy_with(scheme=self._target.scheme, host=self._target.host, port=self._target.port)
            request = httpx.Request(
                request.method, url, headers=request.headers, stream=request.stream, extensions=request.extensions
            )
        return await super().handle_async_request(request)


def _refuse_as_openai(status: int, kind: str, message: str) -> Status:
    return Status(status=status, body=json.encode({"error": {"message": message, "type": "error", "code": kind}}))


def _refuse_as_anthropic(status: int, kind: str, message: str) -> Status:
    return Status(status=status, body=json.encode({"type": "error", "error": {"type": kind, "message": message}}))


def _refuse_as_google(status: int, kind: str, message: str) -> Status:
    return Status(status=status, body=json.encode([{"error": {"code": status, "status": kind, "message": message}}]))


def _call_in_chat(calls: Calls, tool: str) -> Stream:
    deltas: list[dict[str, Any]] = [
        {"index": place, "id": call_id, "function": {"name": encode_name(tool), "arguments": arguments}}
        for place, (call_id, arguments) in enumerate(calls)
    ]
    events = [openai_events.delta_event({"tool_calls": [delta]}) for delta in deltas]
    return Stream([*events, openai_events.delta_event({}, finish_reason="tool_calls"), openai_events.DONE])


def _call_in_responses(calls: Calls, tool: str) -> Stream:
    events = [
        event
        for place, (call_id, arguments) in enumerate(calls)
        for event in responses_events.call_events(place, call_id, tool, arguments)
    ]
    return Stream([*events, responses_events.end_event()])


def _call_in_messages(calls: Calls, tool: str) -> Stream:
    events = [
        event
        for place, (call_id, arguments) in enumerate(calls)
        for event in anthropic_events.call_block(place, call_id, tool, arguments)
    ]
    stop = [anthropic_events.stop_event("tool_use"), anthropic_events.event({"type": "message_stop"})]
    return Stream([anthropic_events.start_event(), *events, *stop])


def _call_in_gemini(calls: Calls, tool: str) -> Stream:
    parts: list[dict[str, Any]] = [
        {"functionCall": {"id": call_id, "name": encode_name(tool), "args": _read_loosely(arguments)}}
        for call_id, arguments in calls
    ]
    return Stream([*(gemini_events.event(part) for part in parts), gemini_events.event(finish="STOP")])


def _read_loosely(arguments: str) -> Any:
    try:
        return json.decode(arguments)
    except ValueError:
        return arguments


CHAT = Spoken(
    name="chat",
    model="gpt-4.1",
    dialect=CHAT_COMPLETIONS,
    opener=open_chat_completions,
    entry=lambda url: OpenAiProvider(type="openai", model="gpt-4.1", base_url=url, api_key_env=KEY_VARIABLE),
    refuse=_refuse_as_openai,
    report=lambda message: openai_events.event({"error": {"message": message, "code": "server_error"}}),
    filtered=Stream([openai_events.delta_event({}, finish_reason="content_filter"), openai_events.DONE]),
    half_a_call=Stream(
        [
            openai_events.delta_event(
                {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "deck__echo", "arguments": '{"te'}}]}
            ),
            openai_events.delta_event({}, finish_reason="length"),
            openai_events.DONE,
        ]
    ),
    call=_call_in_chat,
)
RESPONSES_API = Spoken(
    name="responses",
    model="gpt-5.2",
    dialect=RESPONSES,
    opener=open_responses,
    entry=lambda _: OpenAiProvider(type="openai", model="gpt-5.2", base_url=OPENAI_ADDRESS, api_key_env=KEY_VARIABLE),
    refuse=_refuse_as_openai,
    report=lambda message: responses_events.fail_event("server_error", message),
    filtered=Stream([responses_events.end_event(incomplete="content_filter")]),
    half_a_call=Stream(
        [
            *responses_events.call_events(0, "c", "deck.echo", '{"te', is_whole=False),
            responses_events.end_event(incomplete="max_output_tokens"),
        ]
    ),
    call=_call_in_responses,
)
CLAUDE = Spoken(
    name="messages",
    model="claude-sonnet-5",
    dialect=MESSAGES,
    opener=open_messages,
    entry=lambda url: AnthropicProvider(
        type="anthropic", model="claude-sonnet-5", base_url=url, api_key_env=KEY_VARIABLE
    ),
    refuse=_refuse_as_anthropic,
    report=lambda message: anthropic_events.event(
        {"type": "error", "error": {"type": "api_error", "message": message}}
    ),
    filtered=Stream([anthropic_events.start_event(), anthropic_events.stop_event("refusal")]),
    half_a_call=Stream(
        [
            anthropic_events.start_event(),
            *anthropic_events.call_block(0, "c", "deck.echo", '{"te', stop=False),
            anthropic_events.stop_event("max_tokens"),
        ]
    ),
    call=_call_in_messages,
)
GOOGLE = Spoken(
    name="gemini",
    model="gemini-3-flash-preview",
    dialect=GEMINI,
    opener=open_gemini,
    entry=lambda url: GoogleProvider(
        type="google", model="gemini-3-flash-preview", base_url=url, api_key_env=KEY_VARIABLE
    ),
    refuse=_refuse_as_google,
    report=lambda message: gemini_events.write({"error": {"code": 500, "message": message, "status": "INTERNAL"}}),
    filtered=Stream([gemini_events.event(finish="SAFETY")]),
    half_a_call=Stream([gemini_events.event(finish="MALFORMED_FUNCTION_CALL")]),
    call=_call_in_gemini,
)

ALL = (CHAT, RESPONSES_API, CLAUDE, GOOGLE)
