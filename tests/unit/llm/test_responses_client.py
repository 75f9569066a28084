"""OpenAI's Responses API behind a real server on loopback: when it is spoken, what is sent, what is given up."""

import asyncio
from collections.abc import AsyncGenerator, Iterable

import httpx
import pytest

from midwatch.domain.messages import AssistantMessage, Message, ToolMessage, Usage, UserMessage
from midwatch.domain.tools import ToolDefinition
from midwatch.kit import json
from midwatch.llm.http import new_http_client
from midwatch.llm.model import CallChunk, Chunk, Model, ModelRequest, NoticeChunk, StateChunk, TextChunk, UsageChunk
from midwatch.llm.provider_state import pack_state
from midwatch.llm.providers.openai.responses_client import needs_responses, open_responses
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.fakes.provider_server import Cut, Reply, Status, Stream, hold_turn, in_order
from tests.fakes.responses_events import fail_event, list_events
from tests.fakes.responses_server import RESPONSES, serve
from tests.unit.llm.asking import Asking, FakeSleep, ask_once, stop_early
from tests.unit.llm.conversations import make_call

KEY = "sk-secret-0123456789"
TOOL = ToolDefinition(server="k8s", name="pods", description="", schema={})
HELLO = ScriptedTurn(text="hello", usage=Usage(input_tokens=2, output_tokens=1))
HELLO_CHUNKS: list[Chunk] = [TextChunk(text="hello"), UsageChunk(usage=HELLO.usage)]
# Before the first word: the response, the start of the message.
BEFORE_WORDS = 2


@pytest.fixture
async def http() -> AsyncGenerator[httpx.AsyncClient]:
    async with new_http_client() as client:
        yield client


def make_request(*messages: Message) -> ModelRequest:
    return ModelRequest(messages=messages or (UserMessage(text="go"),), tools=(TOOL,), agent="A")


def make_model(http: httpx.AsyncClient, base_url: str, *, sleep: FakeSleep | None = None) -> Model:
    time = sleep or FakeSleep()
    return open_responses(
        provider="openai",
        name="gpt-5.2",
        base_url=base_url,
        api_key=KEY,
        http=http,
        sleep=time,
        breaker=time.new_breaker("openai"),
    )


async def ask(http: httpx.AsyncClient, replies: Iterable[Reply], *messages: Message) -> Asking:
    sleep = FakeSleep()
    async with serve(in_order(replies)) as server:
        return await ask_once(make_model(http, server.base_url, sleep=sleep), make_request(*messages), sleep=sleep)


def refuse(status: int, message: str, *, code: str | None = None, headers: tuple[tuple[str, str], ...] = ()) -> Status:
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return Status(status=status, body=json.encode({"error": error}), headers=headers)


@pytest.mark.parametrize(
    ("name", "base_url", "expected"),
    [
        ("gpt-5.2", "https://api.openai.com/v1", True),
        ("o3-mini", "https://api.openai.com/v1/", True),
        ("o4-mini", "https://eu.api.openai.com/v1", True),
        ("gpt-4.1", "https://api.openai.com/v1", False),
        ("gpt-5.2", "http://localhost:11434/v1", False),
        ("gpt-5.2", "https://api.openai.com.example.net/v1", False),
        ("gpt-5.2", "https://notapi.openai.com/v1", False),
    ],
)
def test_it_is_spoken_with_reasoning_models_at_openai_only(name: str, base_url: str, *, expected: bool) -> None:
    assert needs_responses(name, base_url=base_url) is expected


async def test_a_conversation_runs_over_one_connection_and_reasoning_goes_back(http: httpx.AsyncClient) -> None:
    calling = ScriptedTurn(thinking="hm", calls=(ScriptedCall(name="k8s.pods", arguments={"n": 1}),))
    async with serve(RESPONSES.by_turn([calling, HELLO])) as server:
        model = make_model(http, server.base_url)
        first = await ask_once(model, make_request())
        call = make_call("k8s.pods", '{"n":1}', provider_id="call_0_0")
        state = next(chunk.state for chunk in first.chunks if isinstance(chunk, StateChunk))
        reply = AssistantMessage(text="", calls=(call,), provider_state=state)
        result = ToolMessage(provider_id="call_0_0", name="k8s.pods", content="two pods")
        second = await ask_once(model, make_request(UserMessage(text="go"), reply, result))
    assert CallChunk(provider_id="call_0_0", name="k8s.pods", arguments='{"n":1}') in first.chunks
    assert second.chunks == HELLO_CHUNKS
    assert server.connections == 1
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert server.requests[1].body["input"] == [
        {"role": "user", "content": "go"},
        {
            "id": "rs_0",
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": "hm"}],
            "encrypted_content": "enc-0",
        },
        {
            "id": "fc_1",
            "type": "function_call",
            "call_id": "call_0_0",
            "status": "completed",
            "name": "k8s__pods",
            "arguments": '{"n":1}',
        },
        {"type": "function_call_output", "call_id": "call_0_0", "output": "two pods"},
    ]


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (refuse(401, f"Incorrect API key provided: {KEY}", code="invalid_api_key"), ("credentials", False)),
        (refuse(429, f"You exceeded your current quota {KEY}", code="insufficient_quota"), ("credentials", False)),
        (refuse(404, f"The model `gpt-9` does not exist {KEY}", code="model_not_found"), ("invalid_request", False)),
        (refuse(400, f"too much {KEY}", code="context_length_exceeded"), ("context_too_long", False)),
        (refuse(400, f"Your input exceeds the context window of this model {KEY}"), ("context_too_long", False)),
        (refuse(400, f"flagged {KEY}", code="content_filter"), ("content_filter", False)),
    ],
)
async def test_a_refusal_is_not_asked_again(http: httpx.AsyncClient, reply: Status, outcome: tuple[str, bool]) -> None:
    asking = await ask(http, [reply])
    assert asking.outcome == outcome
    assert str(asking.failure).startswith(f"HTTP {reply.status}: ")
    assert KEY not in str(asking.failure)
    assert asking.waits == []


@pytest.mark.parametrize(
    ("first", "wait"),
    [
        (refuse(429, "slow down", headers=(("Retry-After", "7"),)), 7.0),
        (refuse(500, "oops"), 1.0),
        (Stream([Cut()]), 1.0),
        (Stream([]), 1.0),
        (Stream([b"<html>502</html>"]), 1.0),
        (Stream([fail_event("server_error", "oops")]), 1.0),
        (RESPONSES.cut_after(HELLO, BEFORE_WORDS), 1.0),
        (RESPONSES.malformed_after(HELLO, BEFORE_WORDS), 1.0),
    ],
)
async def test_a_passing_trouble_before_the_first_chunk_is_asked_again(
    http: httpx.AsyncClient, first: Reply, wait: float
) -> None:
    asking = await ask(http, [first, HELLO])
    assert asking.chunks == HELLO_CHUNKS
    assert asking.has_waited(wait)


@pytest.mark.parametrize(
    ("broken", "outcome"),
    [
        (RESPONSES.cut_after(HELLO, BEFORE_WORDS + 1), ("partial_stream_error", True)),
        (Stream(list_events(HELLO)[:-1]), ("partial_stream_error", True)),
        (RESPONSES.malformed_after(HELLO, BEFORE_WORDS + 1), ("provider_error", True)),
        (Stream([*list_events(HELLO)[:-1], fail_event("server_error", "oops")]), ("provider_error", True)),
    ],
)
async def test_a_stream_that_breaks_after_the_first_chunk_is_not(
    http: httpx.AsyncClient, broken: Reply, outcome: tuple[str, bool]
) -> None:
    asking = await ask(http, [broken, HELLO])
    assert asking.chunks == [TextChunk(text="hello")]
    assert asking.outcome == outcome
    assert asking.waits == []


REASONED = AssistantMessage(
    text="so",
    provider_state=pack_state(
        "openai",
        [
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "enc"},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "so"}]},
        ],
    ),
)
UNVERIFIED = refuse(
    400, "Your organization must be verified to generate reasoning summaries.", code="unsupported_value"
)
UNREADABLE = refuse(400, "The encrypted content gAA could not be verified.", code="invalid_encrypted_content")
UNSUPPORTED = refuse(400, "Unsupported parameter: 'reasoning' is not supported with this model.")


async def test_without_the_right_to_summaries_it_goes_on_without_them(http: httpx.AsyncClient) -> None:
    async with serve(in_order([UNVERIFIED, HELLO, HELLO])) as server:
        model = make_model(http, server.base_url)
        first = await ask_once(model, make_request())
        second = await ask_once(model, make_request())
    assert [chunk.code for chunk in first.chunks if isinstance(chunk, NoticeChunk)] == ["no_summaries"]
    assert first.chunks[1:] == second.chunks == HELLO_CHUNKS
    assert [received.body["reasoning"] for received in server.requests] == [{"summary": "auto"}, {}, {}]


async def test_reasoning_that_is_not_taken_back_is_left_out(http: httpx.AsyncClient) -> None:
    request = make_request(UserMessage(text="go"), REASONED, UserMessage(text="and?"))
    async with serve(in_order([UNREADABLE, HELLO])) as server:
        asking = await ask_once(make_model(http, server.base_url), request)
    assert [chunk.code for chunk in asking.chunks if isinstance(chunk, NoticeChunk)] == ["thinking_left_out"]
    kinds = [[item.get("type") for item in received.body["input"]] for received in server.requests]
    assert kinds == [[None, "reasoning", "message", None], [None, "message", None]]
    assert "reasoning" in server.requests[1].body


async def test_a_model_that_does_not_reason_is_asked_without(http: httpx.AsyncClient) -> None:
    async with serve(in_order([UNSUPPORTED, HELLO])) as server:
        asking = await ask_once(make_model(http, server.base_url), make_request())
    assert [chunk.code for chunk in asking.chunks if isinstance(chunk, NoticeChunk)] == ["thinking_off"]
    assert not {"reasoning", "include"} & server.requests[1].body.keys()


async def test_a_provider_that_refuses_everything_is_not_asked_for_ever(http: httpx.AsyncClient) -> None:
    async with serve(in_order([UNVERIFIED] * 9)) as server:
        request = make_request(UserMessage(text="go"), REASONED, UserMessage(text="and?"))
        asking = await ask_once(make_model(http, server.base_url), request)
    assert (asking.chunks, asking.outcome) == ([], ("invalid_request", False))
    assert [received.body.get("reasoning") for received in server.requests] == [{"summary": "auto"}, {}, {}, None]


async def test_nothing_is_given_up_once_the_answer_has_begun(http: httpx.AsyncClient) -> None:
    refused = fail_event("unsupported_value", "reasoning summaries are for others")
    broken = Stream([*list_events(HELLO)[: BEFORE_WORDS + 1], refused])
    asking = await ask(http, [broken, HELLO])
    assert asking.chunks == [TextChunk(text="hello")]
    assert asking.failure is not None


async def test_silence_is_not_mistaken_for_an_end_and_closing_closes_the_connection(http: httpx.AsyncClient) -> None:
    silent = RESPONSES.stall_after(HELLO, BEFORE_WORDS + 1, release=asyncio.Event())
    async with serve(RESPONSES.by_turn([silent])) as server, asyncio.timeout(60):
        assert await stop_early(make_model(http, server.base_url), make_request()) == TextChunk(text="hello")
        await server.disconnected.wait()


async def test_cancelling_the_caller_closes_the_connection(http: httpx.AsyncClient) -> None:
    holding = hold_turn(0, release=asyncio.Event())
    async with (
        serve(RESPONSES.by_turn([HELLO]), before_turn=holding) as server,
        asyncio.timeout(60),
        asyncio.TaskGroup() as group,
    ):
        asking = group.create_task(stop_early(make_model(http, server.base_url), make_request()))
        await server.asked.wait()
        asking.cancel()
        await server.disconnected.wait()
