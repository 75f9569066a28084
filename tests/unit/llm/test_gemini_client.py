"""The Gemini model against a real server on loopback: what is sent, what is asked again, what comes back signed."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Iterable
from pathlib import Path
from typing import Any

import httpx
import pytest

from midwatch.config.llm import GoogleProvider
from midwatch.domain.messages import AssistantMessage, Message, ToolMessage, Usage, UserMessage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.gateway import Gateway
from midwatch.llm.http import new_http_client
from midwatch.llm.model import CallChunk, Chunk, Model, ModelRequest, NoticeChunk, StateChunk, TextChunk, UsageChunk
from midwatch.llm.providers.google.client import DEFAULT_BASE_URL, build_url, open_gemini
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.fakes.gemini_events import event, list_events, write
from tests.fakes.gemini_server import GEMINI, find_unanswered, serve
from tests.fakes.provider_server import Cut, Reply, Status, Stream, hold_turn, in_order
from tests.unit.llm.asking import Asking, FakeSleep, ask_once, stop_early

KEY = "AIza-secret-0123456789"
MODEL = "gemini-3-flash-preview"
PODS = ToolDefinition(server="k8s", name="pods", description="", schema={})
HELLO = ScriptedTurn(text="hello", usage=Usage(input_tokens=2, output_tokens=1))
HELLO_CHUNKS: list[Chunk] = [TextChunk(text="hello"), UsageChunk(usage=HELLO.usage)]
CALLING = ScriptedTurn(
    thinking="hm",
    calls=(ScriptedCall(name="k8s.pods", arguments={"n": 1}), ScriptedCall(name="k8s.pods", arguments={"n": 2})),
)
LAST = len(list_events(HELLO))


@pytest.fixture
async def http() -> AsyncGenerator[httpx.AsyncClient]:
    async with new_http_client() as client:
        yield client


def make_request(*messages: Message, tools: tuple[ToolDefinition, ...] = (PODS,)) -> ModelRequest:
    return ModelRequest(messages=messages or (UserMessage(text="go"),), tools=tools, agent="A")


def make_model(
    http: httpx.AsyncClient,
    base_url: str,
    *,
    api_key: str | None = KEY,
    native_tools: frozenset[str] = frozenset(),
    sleep: FakeSleep | None = None,
) -> Model:
    time = sleep or FakeSleep()
    return open_gemini(
        provider="big",
        name=MODEL,
        base_url=base_url,
        api_key=api_key,
        http=http,
        native_tools=native_tools,
        sleep=time,
        breaker=time.new_breaker("big"),
    )


async def ask_url(http: httpx.AsyncClient, base_url: str) -> Asking:
    sleep = FakeSleep()
    return await ask_once(make_model(http, base_url, sleep=sleep), make_request(), sleep=sleep)


async def ask(http: httpx.AsyncClient, replies: Iterable[Reply]) -> Asking:
    async with serve(in_order(replies)) as server:
        return await ask_url(http, server.base_url)


def refuse(code: int, message: str, *details: dict[str, Any]) -> Status:
    error = {"code": code, "message": message, "status": "SOME_STATUS", "details": list(details)}
    return Status(status=code, body=json.encode([{"error": error}]))


def answer_of(chunks: Iterable[Chunk]) -> AssistantMessage:
    """The answer as the journal keeps it: no thinking, but the bytes of the provider."""
    kept = list(chunks)
    return AssistantMessage(
        text="".join(chunk.text for chunk in kept if isinstance(chunk, TextChunk)),
        calls=tuple(
            ToolCall(call_id=new_id(), provider_id=chunk.provider_id, name=chunk.name, arguments=chunk.arguments)
            for chunk in kept
            if isinstance(chunk, CallChunk)
        ),
        provider_state=next((chunk.state for chunk in kept if isinstance(chunk, StateChunk)), None),
    )


def answered(reply: AssistantMessage) -> list[Message]:
    results = (ToolMessage(provider_id=call.provider_id, name=call.name, content="ok") for call in reply.calls)
    return [UserMessage(text="go"), reply, *results]


async def test_a_conversation_is_asked_for_at_the_models_own_address_with_the_key_in_a_header(
    http: httpx.AsyncClient,
) -> None:
    async with serve(GEMINI.by_turn([HELLO])) as server:
        asking = await ask_url(http, server.base_url)
    assert (asking.chunks, asking.failure) == (HELLO_CHUNKS, None)
    (received,) = server.requests
    assert received.path == f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse"
    assert received.headers["x-goog-api-key"] == KEY
    assert "authorization" not in received.headers
    assert received.body["contents"] == [{"role": "user", "parts": [{"text": "go"}]}]


@pytest.mark.parametrize(
    ("base_url", "model", "url"),
    [
        (
            DEFAULT_BASE_URL,
            "m",
            "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse",
        ),
        ("https://h/proxy/", "models/m", "https://h/proxy/v1beta/models/m:streamGenerateContent?alt=sse"),
        ("https://h/v1alpha/", "m", "https://h/v1alpha/models/m:streamGenerateContent?alt=sse"),
        ("https://h?team=a", "m/../x?y", "https://h/v1beta/models/m%2F..%2Fx%3Fy:streamGenerateContent?team=a&alt=sse"),
    ],
)
def test_the_address_is_built_from_the_base(base_url: str, model: str, url: str) -> None:
    assert str(build_url(base_url, model)) == url


async def test_signatures_come_back_on_their_parts_even_to_a_model_opened_anew(http: httpx.AsyncClient) -> None:
    async with serve(GEMINI.by_turn([CALLING, HELLO])) as server:
        first = await ask_once(make_model(http, server.base_url), make_request())
        resumed = make_request(*answered(answer_of(first.chunks)))
        second = await ask_once(make_model(http, server.base_url), resumed)
    assert second.chunks == HELLO_CHUNKS
    body = server.requests[1].body
    assert find_unanswered(body) == []
    assert body["contents"][1:] == [
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {
                    "functionCall": {"id": "call_0_0", "name": "k8s__pods", "args": {"n": 1}},
                    "thoughtSignature": "signature-0",
                },
                {"functionCall": {"id": "call_0_1", "name": "k8s__pods", "args": {"n": 2}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": "call_0_0", "name": "k8s__pods", "response": {"result": "ok"}}},
                {"functionResponse": {"id": "call_0_1", "name": "k8s__pods", "response": {"result": "ok"}}},
            ],
        },
    ]
    assert server.connections == 1


async def test_signatures_that_are_not_taken_back_are_left_out_once(http: httpx.AsyncClient) -> None:
    refused = refuse(400, "Corrupted thought signature.")
    async with serve(in_order([CALLING, refused, HELLO, refused])) as server:
        model = make_model(http, server.base_url)
        reply = answer_of((await ask_once(model, make_request())).chunks)
        second = await ask_once(model, make_request(*answered(reply)))
        third = await ask_once(model, make_request(*answered(reply)))
    assert [chunk.code for chunk in second.chunks if isinstance(chunk, NoticeChunk)] == ["thinking_left_out"]
    assert second.chunks[1:] == HELLO_CHUNKS
    call = server.requests[2].body["contents"][1]["parts"][0]
    assert call["thoughtSignature"] == "skip_thought_signature_validator"
    assert third.outcome == ("invalid_request", False)


async def test_a_model_that_cannot_be_told_to_think_is_asked_without(http: httpx.AsyncClient) -> None:
    refused = refuse(400, "Thinking level is not supported for this model.")
    async with serve(in_order([refused, HELLO])) as server:
        asking = await ask_url(http, server.base_url)
    assert [chunk.code for chunk in asking.chunks if isinstance(chunk, NoticeChunk)] == ["thinking_off"]
    assert ["generationConfig" in received.body for received in server.requests] == [True, False]


async def test_native_tools_that_are_left_out_are_told_once_in_a_conversation(http: httpx.AsyncClient) -> None:
    native = frozenset({"google_search"})
    async with serve(GEMINI.by_turn([CALLING, HELLO])) as server:
        model = make_model(http, server.base_url, native_tools=native)
        first = await ask_once(model, make_request())
        second = await ask_once(model, make_request(*answered(answer_of(first.chunks))))
        alone = await ask_once(make_model(http, server.base_url, native_tools=native), make_request(tools=()))
    notices = [chunk.code for chunk in first.chunks if isinstance(chunk, NoticeChunk)]
    assert notices == ["native_tools_suppressed"]
    assert second.chunks == HELLO_CHUNKS
    assert not any(isinstance(chunk, NoticeChunk) for chunk in alone.chunks)
    assert server.requests[2].body["tools"] == [{"googleSearch": {}}]


async def test_the_gateway_hands_the_native_tools_on(http: httpx.AsyncClient) -> None:
    async with serve(GEMINI.by_turn([HELLO])) as server:
        gateway = Gateway(http=http, environ={}, folder=Path())
        provider = GoogleProvider(type="google", model=MODEL, base_url=server.base_url)
        model = gateway.open("big", provider, native_tools=frozenset({"code_execution"}))
        assert (await ask_once(model, make_request(tools=()))).chunks == HELLO_CHUNKS
    assert server.requests[0].body["tools"] == [{"codeExecution": {}}]


RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3.5s"}


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (refuse(400, f"API key not valid. Please pass a valid API key. {KEY}"), ("credentials", False)),
        (refuse(400, "API key expired. Please renew the API key."), ("credentials", False)),
        (refuse(403, "Permission denied"), ("credentials", False)),
        (refuse(404, f"models/{MODEL} is not found for API version v1beta"), ("invalid_request", False)),
        (refuse(400, "Request contains an invalid argument."), ("invalid_request", False)),
        (
            refuse(400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
            ("context_too_long", False),
        ),
    ],
)
async def test_a_refusal_is_not_asked_again(http: httpx.AsyncClient, reply: Status, outcome: tuple[str, bool]) -> None:
    asking = await ask(http, [reply])
    assert (asking.outcome, asking.waits) == (outcome, [])
    assert KEY not in str(asking.failure)


async def test_a_quota_is_waited_for_as_long_as_google_says(http: httpx.AsyncClient) -> None:
    asking = await ask(http, [refuse(429, "Quota exceeded", {"@type": "x"}, RETRY), refuse(503, "overloaded"), HELLO])
    assert asking.chunks == HELLO_CHUNKS
    assert asking.has_waited(3.5, 2.0)


FIRST = list_events(HELLO)[0]
BARE = b'[{\n  "error": {\n    "code": 500,\n    "message": "Internal error"\n  }\n}\n]'


@pytest.mark.parametrize(
    "first",
    [
        Stream([Cut()]),
        Stream([]),
        Stream([b"<html>"]),
        Stream([BARE]),
        Stream([write({"usageMetadata": {"promptTokenCount": 5}})]),
        Stream([event({"functionCall": {"name": "k8s__pods"}}), Cut()]),
        GEMINI.malformed_after(HELLO, 0),
    ],
)
async def test_a_stream_that_breaks_before_the_first_chunk_is_asked_again(
    http: httpx.AsyncClient, first: Reply
) -> None:
    asking = await ask(http, [first, HELLO])
    assert asking.chunks == HELLO_CHUNKS
    assert asking.has_waited(1.0)


@pytest.mark.parametrize(
    ("broken", "code"),
    [
        (Stream([FIRST, Cut()]), "partial_stream_error"),
        (Stream([FIRST]), "partial_stream_error"),
        (Stream([FIRST, BARE]), "provider_error"),
        (GEMINI.malformed_after(HELLO, 1), "provider_error"),
    ],
)
async def test_a_stream_that_breaks_after_the_first_chunk_is_not(
    http: httpx.AsyncClient, broken: Reply, code: str
) -> None:
    asking = await ask(http, [broken, HELLO])
    assert asking.chunks == [TextChunk(text="hello")]
    assert (asking.outcome, asking.waits) == ((code, True), [])


async def test_a_connection_lost_after_the_finish_reason_loses_nothing(http: httpx.AsyncClient) -> None:
    asking = await ask(http, [GEMINI.cut_after(HELLO, LAST)])
    assert (asking.chunks, asking.failure) == (HELLO_CHUNKS, None)


async def test_a_filtered_answer_keeps_what_was_said(http: httpx.AsyncClient) -> None:
    asking = await ask(http, [Stream([FIRST, event(finish="SAFETY")])])
    assert asking.chunks == [TextChunk(text="hello")]
    assert asking.outcome == ("content_filter", False)


async def test_nobody_listening_is_retried_and_then_reported(http: httpx.AsyncClient) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        asking = await ask_url(http, f"http://127.0.0.1:{unused.getsockname()[1]}")
    assert asking.outcome == ("max_retries", True)
    assert asking.has_waited(1.0, 2.0)


async def test_closing_the_generator_closes_the_connection(http: httpx.AsyncClient) -> None:
    silent = GEMINI.stall_after(HELLO, 1, release=asyncio.Event())
    async with serve(GEMINI.by_turn([silent])) as server, asyncio.timeout(60):
        assert await stop_early(make_model(http, server.base_url), make_request()) == TextChunk(text="hello")
        await server.disconnected.wait()


async def test_cancelling_the_caller_closes_the_connection(http: httpx.AsyncClient) -> None:
    holding = hold_turn(0, release=asyncio.Event())
    async with (
        serve(GEMINI.by_turn([HELLO]), before_turn=holding) as server,
        asyncio.timeout(60),
        asyncio.TaskGroup() as group,
    ):
        asking = group.create_task(stop_early(make_model(http, server.base_url), make_request()))
        await server.asked.wait()
        asking.cancel()
        await server.disconnected.wait()
