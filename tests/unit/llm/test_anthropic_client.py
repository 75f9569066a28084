"""Claude behind a real server on loopback: what is sent, what is retried, what is given up, what is hidden."""

import asyncio
from collections.abc import AsyncGenerator, Iterable

import httpx
import pytest

from midwatch.domain.messages import AssistantMessage, Message, ToolMessage, Usage, UserMessage
from midwatch.domain.tools import ToolDefinition
from midwatch.kit import json
from midwatch.llm.http import new_http_client
from midwatch.llm.model import (
    CallChunk,
    Chunk,
    Model,
    ModelRequest,
    NoticeChunk,
    StateChunk,
    TextChunk,
    ThinkingChunk,
    UsageChunk,
)
from midwatch.llm.provider_state import pack_state
from midwatch.llm.providers.anthropic.client import extend_base, open_messages
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.fakes.anthropic_events import event, list_events, stop_event, text_block
from tests.fakes.anthropic_server import MESSAGES, serve
from tests.fakes.provider_server import Cut, Reply, Status, Stream, hold_turn, in_order
from tests.unit.llm.asking import Asking, FakeSleep, ask_once, stop_early
from tests.unit.llm.conversations import make_call

KEY = "sk-ant-secret-0123456789"
TOOL = ToolDefinition(server="k8s", name="pods", description="", schema={})
HELLO = ScriptedTurn(text="hello", usage=Usage(input_tokens=2, output_tokens=1))
HELLO_CHUNKS: list[Chunk] = [TextChunk(text="hello"), UsageChunk(usage=HELLO.usage)]
# Before the first word: the start of the message, a ping, the start of the block.
BEFORE_WORDS = 3


@pytest.fixture
async def http() -> AsyncGenerator[httpx.AsyncClient]:
    async with new_http_client() as client:
        yield client


def make_request(*messages: Message) -> ModelRequest:
    return ModelRequest(messages=messages or (UserMessage(text="go"),), tools=(TOOL,), agent="A")


def make_model(
    http: httpx.AsyncClient,
    base_url: str,
    *,
    name: str = "claude-sonnet-5",
    api_key: str | None = KEY,
    sleep: FakeSleep | None = None,
) -> Model:
    time = sleep or FakeSleep()
    return open_messages(
        provider="claude",
        name=name,
        base_url=base_url,
        api_key=api_key,
        http=http,
        sleep=time,
        breaker=time.new_breaker("claude"),
    )


async def ask(http: httpx.AsyncClient, replies: Iterable[Reply], *messages: Message) -> Asking:
    sleep = FakeSleep()
    async with serve(in_order(replies)) as server:
        return await ask_once(make_model(http, server.base_url, sleep=sleep), make_request(*messages), sleep=sleep)


def refuse(status: int, kind: str, message: str, *headers: tuple[str, str]) -> Status:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}
    return Status(status=status, body=json.encode(body), headers=headers)


async def test_a_conversation_runs_over_one_connection_and_thinking_goes_back(http: httpx.AsyncClient) -> None:
    calling = ScriptedTurn(thinking="hm", calls=(ScriptedCall(name="k8s.pods", arguments={"n": 1}),))
    async with serve(MESSAGES.by_turn([calling, HELLO])) as server:
        model = make_model(http, server.base_url)
        first = await ask_once(model, make_request())
        call = make_call("k8s.pods", '{"n":1}', provider_id="call_0_0")
        state = next(chunk.state for chunk in first.chunks if isinstance(chunk, StateChunk))
        reply = AssistantMessage(text="", calls=(call,), provider_state=state)
        result = ToolMessage(provider_id="call_0_0", name="k8s.pods", content="two pods")
        second = await ask_once(model, make_request(UserMessage(text="go"), reply, result))
    assert first.chunks[:2] == [
        ThinkingChunk(text="hm"),
        CallChunk(provider_id="call_0_0", name="k8s.pods", arguments='{"n":1}'),
    ]
    assert second.chunks == HELLO_CHUNKS
    assert server.connections == 1
    assert server.requests[1].body["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "hm", "signature": "sig-0"},
        {"type": "tool_use", "id": "call_0_0", "name": "k8s__pods", "input": {"n": 1}},
    ]


@pytest.mark.parametrize(
    ("base_url", "url"),
    [
        ("https://api.anthropic.com", "https://api.anthropic.com/v1/messages"),
        ("https://proxy/claude/", "https://proxy/claude/v1/messages"),
        ("https://proxy/v1", "https://proxy/v1/messages"),
        ("https://proxy/v1/?tenant=1", "https://proxy/v1/messages?tenant=1"),
    ],
)
def test_the_path_is_added_to_the_base_url(base_url: str, url: str) -> None:
    assert str(extend_base(base_url)) == url


async def test_the_key_and_the_version_are_in_the_headers(http: httpx.AsyncClient) -> None:
    async with serve(MESSAGES.by_turn([HELLO])) as server:
        await ask_once(make_model(http, server.base_url), make_request())
        await ask_once(make_model(http, server.base_url, name="claude-sonnet-4-5", api_key=None), make_request())
    first, second = (received.headers for received in server.requests)
    assert (first["x-api-key"], first["anthropic-version"]) == (KEY, "2023-06-01")
    assert "anthropic-beta" not in first
    assert "authorization" not in first
    assert "x-api-key" not in second
    assert second["anthropic-beta"] == "interleaved-thinking-2025-05-14"


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (refuse(401, "authentication_error", f"invalid x-api-key {KEY}"), ("credentials", False)),
        (refuse(403, "permission_error", f"{KEY} may not"), ("credentials", False)),
        (refuse(400, "invalid_request_error", f"Your credit balance is too low {KEY}"), ("credentials", False)),
        (refuse(404, "not_found_error", f"model: claude-nine {KEY}"), ("invalid_request", False)),
        (refuse(400, "invalid_request_error", f"messages: odd {KEY}"), ("invalid_request", False)),
        (refuse(400, "invalid_request_error", f"prompt is too long: 9 > 8 {KEY}"), ("context_too_long", False)),
        (
            refuse(400, "invalid_request_error", f"input length and `max_tokens` exceed context limit {KEY}"),
            ("context_too_long", False),
        ),
        (refuse(413, "request_too_large", f"too large {KEY}"), ("context_too_long", False)),
        (
            refuse(400, "invalid_request_error", f"Output blocked by content filtering policy {KEY}"),
            ("content_filter", False),
        ),
    ],
)
async def test_a_refusal_is_not_asked_again(http: httpx.AsyncClient, reply: Status, outcome: tuple[str, bool]) -> None:
    asking = await ask(http, [reply])
    assert asking.outcome == outcome
    assert str(asking.failure).startswith(f"HTTP {reply.status}: ")
    assert KEY not in str(asking.failure)
    assert asking.waits == []


async def test_a_rate_limit_and_an_overload_are_waited_for(http: httpx.AsyncClient) -> None:
    limited = refuse(429, "rate_limit_error", "too many input tokens", ("Retry-After", "7"))
    overloaded = refuse(529, "overloaded_error", "Overloaded")
    asking = await ask(http, [limited, overloaded, HELLO])
    assert asking.chunks == HELLO_CHUNKS
    assert asking.has_waited(7.0, 2.0)


OVERLOADED = event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}})


@pytest.mark.parametrize(
    "first",
    [
        Stream([Cut()]),
        Stream([]),
        Stream([b"<html>502</html>"]),
        Stream([OVERLOADED]),
        MESSAGES.cut_after(HELLO, BEFORE_WORDS),
        MESSAGES.malformed_after(HELLO, BEFORE_WORDS),
    ],
)
async def test_a_stream_that_breaks_before_the_first_chunk_is_asked_again(
    http: httpx.AsyncClient, first: Reply
) -> None:
    asking = await ask(http, [first, HELLO])
    assert asking.chunks == HELLO_CHUNKS
    assert asking.has_waited(1.0)


@pytest.mark.parametrize(
    ("broken", "outcome"),
    [
        (MESSAGES.cut_after(HELLO, BEFORE_WORDS + 1), ("partial_stream_error", True)),
        (Stream(list_events(HELLO)[: BEFORE_WORDS + 1]), ("partial_stream_error", True)),
        (MESSAGES.malformed_after(HELLO, BEFORE_WORDS + 1), ("provider_error", True)),
        (Stream([*list_events(HELLO)[: BEFORE_WORDS + 1], OVERLOADED]), ("provider_error", True)),
        (Stream([*text_block(0, "hello"), stop_event("refusal")]), ("content_filter", False)),
    ],
)
async def test_a_stream_that_breaks_after_the_first_chunk_is_not(
    http: httpx.AsyncClient, broken: Reply, outcome: tuple[str, bool]
) -> None:
    asking = await ask(http, [broken, HELLO])
    assert asking.chunks == [TextChunk(text="hello")]
    assert asking.outcome == outcome
    assert asking.waits == []


THINKER = AssistantMessage(
    text="so",
    provider_state=pack_state(
        "anthropic", [{"type": "thinking", "thinking": "hm", "signature": "old"}, {"type": "text", "text": "so"}]
    ),
)
BOUND = refuse(400, "invalid_request_error", "messages.1.content.0: Invalid `signature` in `thinking` block. Remove it")


async def test_thinking_that_is_not_taken_back_is_left_out_for_good(http: httpx.AsyncClient) -> None:
    request = make_request(UserMessage(text="go"), THINKER, UserMessage(text="and?"))
    async with serve(in_order([BOUND, HELLO, HELLO])) as server:
        model = make_model(http, server.base_url)
        first = await ask_once(model, request)
        second = await ask_once(model, request)
    notice = "the provider did not take the model's earlier thinking back; it was left out"
    assert first.chunks == [NoticeChunk(code="thinking_left_out", message=notice), *HELLO_CHUNKS]
    assert second.chunks == HELLO_CHUNKS
    kinds = [[block["type"] for block in received.body["messages"][1]["content"]] for received in server.requests]
    assert kinds == [["thinking", "text"], ["text"], ["text"]]
    assert all("thinking" in received.body for received in server.requests)


async def test_a_model_that_may_not_think_is_asked_without(http: httpx.AsyncClient) -> None:
    unsupported = refuse(400, "invalid_request_error", "adaptive thinking is not supported on this model")
    async with serve(in_order([unsupported, HELLO])) as server:
        asking = await ask_once(make_model(http, server.base_url), make_request())
    assert [chunk.code for chunk in asking.chunks if isinstance(chunk, NoticeChunk)] == ["thinking_off"]
    assert asking.chunks[1:] == HELLO_CHUNKS
    assert ["thinking" in received.body for received in server.requests] == [True, False]


async def test_a_provider_that_refuses_everything_is_not_asked_for_ever(http: httpx.AsyncClient) -> None:
    async with serve(in_order([BOUND] * 9)) as server:
        request = make_request(UserMessage(text="go"), THINKER, UserMessage(text="and?"))
        asking = await ask_once(make_model(http, server.base_url), request)
    assert (asking.chunks, asking.outcome) == ([], ("invalid_request", False))
    assert ["thinking" in received.body for received in server.requests] == [True, True, False]


async def test_silence_is_not_mistaken_for_an_end_and_closing_closes_the_connection(http: httpx.AsyncClient) -> None:
    silent = MESSAGES.stall_after(HELLO, BEFORE_WORDS + 1, release=asyncio.Event())
    async with serve(MESSAGES.by_turn([silent])) as server, asyncio.timeout(60):
        assert await stop_early(make_model(http, server.base_url), make_request()) == TextChunk(text="hello")
        await server.disconnected.wait()


async def test_cancelling_the_caller_closes_the_connection(http: httpx.AsyncClient) -> None:
    holding = hold_turn(0, release=asyncio.Event())
    async with (
        serve(MESSAGES.by_turn([HELLO]), before_turn=holding) as server,
        asyncio.timeout(60),
        asyncio.TaskGroup() as group,
    ):
        asking = group.create_task(stop_early(make_model(http, server.base_url), make_request()))
        await server.asked.wait()
        asking.cancel()
        await server.disconnected.wait()
