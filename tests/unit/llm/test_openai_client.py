"""The OpenAI model against a real server on loopback: what is sent, what is retried, what is hidden."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Iterable

import httpx
import pytest

from midwatch.domain.messages import AssistantMessage, Message, Usage, UserMessage
from midwatch.domain.tools import ToolDefinition
from midwatch.kit import json
from midwatch.llm.http import new_http_client
from midwatch.llm.model import CallChunk, Chunk, ModelRequest, TextChunk, ThinkingChunk, UsageChunk
from midwatch.llm.providers.openai.client import open_chat_completions
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.llm.wire import HttpModel
from tests.fakes.openai_events import DONE, delta_event, list_events
from tests.fakes.openai_server import (
    Cut,
    Reply,
    Status,
    Stream,
    by_turn,
    cut_after,
    hold_turn,
    in_order,
    malformed_after,
    serve,
    stall_after,
)
from tests.unit.llm.asking import Asking, FakeSleep, ask_once, collect, stop_early

KEY = "sk-secret-0123456789"
TOOL = ToolDefinition(server="k8s", name="pods", description="", schema={})
HELLO = ScriptedTurn(text="hello", usage=Usage(input_tokens=2, output_tokens=1))
HELLO_CHUNKS: list[Chunk] = [TextChunk(text="hello"), UsageChunk(usage=HELLO.usage)]


@pytest.fixture
async def http() -> AsyncGenerator[httpx.AsyncClient]:
    async with new_http_client() as client:
        yield client


def make_request(*messages: Message) -> ModelRequest:
    return ModelRequest(messages=messages or (UserMessage(text="go"),), tools=(TOOL,), agent="A")


def make_model(
    http: httpx.AsyncClient, base_url: str, *, api_key: str | None = KEY, sleep: FakeSleep | None = None
) -> HttpModel:
    time = sleep or FakeSleep()
    return open_chat_completions(
        provider="local",
        name="gpt",
        base_url=base_url,
        api_key=api_key,
        http=http,
        sleep=time,
        breaker=time.new_breaker("local"),
    )


async def ask_url(http: httpx.AsyncClient, base_url: str, *, api_key: str | None = KEY) -> Asking:
    sleep = FakeSleep()
    return await ask_once(make_model(http, base_url, api_key=api_key, sleep=sleep), make_request(), sleep=sleep)


async def ask(http: httpx.AsyncClient, replies: Iterable[Reply]) -> Asking:
    async with serve(in_order(replies)) as server:
        return await ask_url(http, server.base_url)


async def test_a_conversation_runs_over_one_connection(http: httpx.AsyncClient) -> None:
    calling = ScriptedTurn(thinking="hm", calls=(ScriptedCall(name="k8s.pods", arguments={"n": 1}),))
    async with serve(by_turn([calling, HELLO])) as server:
        model = make_model(http, server.base_url)
        first: list[Chunk] = []
        assert await collect(model, make_request(UserMessage(text="go")), first) is None
        second: list[Chunk] = []
        again = make_request(UserMessage(text="go"), AssistantMessage(text="so"), UserMessage(text="and?"))
        assert await collect(model, again, second) is None
    assert first == [
        ThinkingChunk(text="hm"),
        CallChunk(provider_id="call_0_0", name="k8s.pods", arguments='{"n":1}'),
        UsageChunk(usage=Usage()),
    ]
    assert second == HELLO_CHUNKS
    assert server.connections == 1
    assert [received.body["messages"] for received in server.requests] == [
        [{"role": "user", "content": "go"}],
        [
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "so"},
            {"role": "user", "content": "and?"},
        ],
    ]


@pytest.mark.parametrize(
    ("ending", "path"),
    [
        ("", "/v1/chat/completions"),
        ("/", "/v1/chat/completions"),
        ("/?api-version=1", "/v1/chat/completions?api-version=1"),
    ],
)
async def test_the_path_is_added_to_the_base_url(http: httpx.AsyncClient, ending: str, path: str) -> None:
    async with serve(by_turn([HELLO])) as server:
        asking = await ask_url(http, server.base_url + ending)
    assert asking.chunks == HELLO_CHUNKS
    assert [received.path for received in server.requests] == [path]


@pytest.mark.parametrize(("api_key", "sent"), [(KEY, f"Bearer {KEY}"), (f" {KEY}\n", f"Bearer {KEY}"), (None, None)])
async def test_the_key_is_sent_only_if_there_is_one(
    http: httpx.AsyncClient, api_key: str | None, sent: str | None
) -> None:
    async with serve(by_turn([HELLO])) as server:
        asking = await ask_url(http, server.base_url, api_key=api_key)
    assert asking.chunks == HELLO_CHUNKS
    assert server.requests[0].headers.get("authorization") == sent
    assert server.requests[0].headers["content-type"] == "application/json"


@pytest.mark.parametrize("api_key", ["sk-“quoted”", "sk-a\nb"])
async def test_a_key_no_header_can_carry_is_a_matter_of_credentials(http: httpx.AsyncClient, api_key: str) -> None:
    async with serve(by_turn([HELLO])) as server:
        asking = await ask_url(http, server.base_url, api_key=api_key)
    assert asking.outcome == ("credentials", False)
    assert "sk-" not in str(asking.failure)
    assert server.requests == []


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (401, ("credentials", False)),
        (403, ("credentials", False)),
        (400, ("invalid_request", False)),
        (404, ("invalid_request", False)),
        (422, ("invalid_request", False)),
        (307, ("invalid_request", False)),
    ],
)
async def test_a_refusal_is_not_asked_again(http: httpx.AsyncClient, status: int, outcome: tuple[str, bool]) -> None:
    body = json.encode({"error": {"message": "because"}})
    asking = await ask(http, [Status(status=status, body=body, headers=(("location", "/elsewhere"),))])
    assert asking.outcome == outcome
    assert str(asking.failure) == f"HTTP {status}: because"
    assert asking.waits == []


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_a_passing_trouble_is_asked_again(http: httpx.AsyncClient, status: int) -> None:
    asking = await ask(http, [Status(status=status), Status(status=status), HELLO])
    assert asking.chunks == HELLO_CHUNKS
    assert asking.has_waited(1.0, 2.0)


async def test_after_three_attempts_it_gives_up(http: httpx.AsyncClient) -> None:
    body = json.encode({"error": {"message": "overloaded"}})
    async with serve(in_order([Status(status=503, body=body)] * 4)) as server:
        asking = await ask_url(http, server.base_url)
    assert asking.outcome == ("max_retries", True)
    assert str(asking.failure) == "gave up after 3 attempts: HTTP 503: overloaded"
    assert len(server.requests) == 3
    assert asking.has_waited(1.0, 2.0)


@pytest.mark.parametrize(
    ("asked", "wait"), [("7", 7.0), ("20", 20.0), ("0", 1.0), ("inf", 1.0), ("nan", 1.0), ("-1", 1.0), ("soon", 1.0)]
)
async def test_the_provider_may_name_the_wait_within_reason(http: httpx.AsyncClient, asked: str, wait: float) -> None:
    asking = await ask(http, [Status(status=429, headers=(("Retry-After", asked),)), HELLO])
    assert asking.chunks == HELLO_CHUNKS
    assert asking.has_waited(wait)


@pytest.mark.parametrize(
    "first", [Stream([Cut()]), cut_after(HELLO, 1), malformed_after(HELLO, 1), Stream([]), Stream([b"<html>"])]
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
        (cut_after(HELLO, 2), "partial_stream_error"),
        (Stream(list_events(HELLO)[:2]), "partial_stream_error"),
        (malformed_after(HELLO, 2), "provider_error"),
    ],
)
async def test_a_stream_that_breaks_after_the_first_chunk_is_not(
    http: httpx.AsyncClient, broken: Reply, code: str
) -> None:
    asking = await ask(http, [broken, HELLO])
    assert asking.chunks == [TextChunk(text="hello")]
    assert asking.outcome == (code, True)
    assert asking.waits == []


async def test_a_connection_lost_after_the_finish_reason_loses_nothing(http: httpx.AsyncClient) -> None:
    calling = ScriptedTurn(calls=(ScriptedCall(name="k8s.pods", arguments={}),))
    asking = await ask(http, [cut_after(calling, len(list_events(calling)) - 2)])
    assert asking.failure is None
    assert asking.chunks == [CallChunk(provider_id="call_0_0", name="k8s.pods", arguments="{}")]


async def test_a_server_that_never_closes_its_stream_does_not_hold_the_answer_back(http: httpx.AsyncClient) -> None:
    endless = Stream([delta_event({"content": "hi"}, finish_reason="stop"), DONE, asyncio.Event()])
    asking = await ask(http, [endless])
    assert (asking.chunks, asking.failure) == ([TextChunk(text="hi")], None)


async def test_the_end_of_a_stream_is_waited_for_so_that_its_connection_serves_again(http: httpx.AsyncClient) -> None:
    def answer(_: object) -> Reply:
        soon = asyncio.Event()
        asyncio.get_running_loop().call_later(0.02, soon.set)
        return Stream([*list_events(HELLO), soon])

    async with serve(answer) as server:
        for _ in range(2):
            assert (await ask_url(http, server.base_url)).chunks == HELLO_CHUNKS
    assert server.connections == 1


async def test_nobody_listening_is_retried_and_then_reported(http: httpx.AsyncClient) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        asking = await ask_url(http, f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
    assert asking.outcome == ("max_retries", True)
    assert "ConnectError" in str(asking.failure)
    assert asking.has_waited(1.0, 2.0)


async def test_a_base_url_without_a_scheme_is_not_tried_again(http: httpx.AsyncClient) -> None:
    asking = await ask_url(http, "localhost/v1")
    assert asking.outcome == ("invalid_request", False)
    assert asking.waits == []


LONG = "x" * 290 + KEY + "y" * 300


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": f"Incorrect API key provided: {KEY}"}},
        {"error": f"bad {KEY}"},
        {"message": f"bad {KEY}"},
        {"detail": f"bad {KEY}"},
        [{"error": {"message": f"bad {KEY}"}}],
        {"error": {"message": LONG}},
    ],
)
@pytest.mark.parametrize("status", [401, 503])
async def test_no_part_of_the_key_is_in_an_error(http: httpx.AsyncClient, body: object, status: int) -> None:
    asking = await ask(http, [Status(status=status, body=json.encode(body))] * 3)
    text = str(asking.failure)
    assert f"HTTP {status}: " in text
    assert "sk-" not in text
    assert "[MASKED_" in text
    assert len(text) < 350


@pytest.mark.parametrize("body", [b"<html>502 for Bearer x</html>", b"", b"[]", b"7", b'{"error":{"message":[1]}}'])
async def test_an_error_body_without_a_message_is_not_quoted(http: httpx.AsyncClient, body: bytes) -> None:
    asking = await ask(http, [Status(status=400, body=body)])
    assert str(asking.failure) == "HTTP 400"


async def test_closing_the_generator_closes_the_connection(http: httpx.AsyncClient) -> None:
    async with serve(by_turn([stall_after(HELLO, 2, release=asyncio.Event())])) as server, asyncio.timeout(60):
        assert await stop_early(make_model(http, server.base_url), make_request()) == TextChunk(text="hello")
        await server.disconnected.wait()


class EndlessStream(httpx.AsyncByteStream):
    """Sends one event and would never end; knows whether it was closed."""

    def __init__(self) -> None:
        self.is_closed = False

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        yield delta_event({"content": "hello"})
        await asyncio.Event().wait()

    async def aclose(self) -> None:
        self.is_closed = True


async def test_the_response_is_closed_by_the_time_the_generator_is() -> None:
    endless = EndlessStream()
    transport = httpx.MockTransport(lambda _request: httpx.Response(200, stream=endless))
    async with httpx.AsyncClient(transport=transport) as http:
        stream = make_model(http, "http://fake/v1").stream(make_request())
        assert await anext(stream) == TextChunk(text="hello")
        assert not endless.is_closed
        await stream.aclose()
        assert endless.is_closed


async def test_cancelling_the_caller_closes_the_connection(http: httpx.AsyncClient) -> None:
    holding = hold_turn(0, release=asyncio.Event())
    async with (
        serve(by_turn([HELLO]), before_turn=holding) as server,
        asyncio.timeout(60),
        asyncio.TaskGroup() as group,
    ):
        asking = group.create_task(stop_early(make_model(http, server.base_url), make_request()))
        await server.asked.wait()
        asking.cancel()
        await server.disconnected.wait()
