"""Models behind pydantic-ai against a real server on loopback: what is sent, what is retried, what is hidden."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from pydantic_ai.messages import ToolCallPart, ToolReturnPart

from midwatch.config.llm import PydanticAiProvider
from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, Usage, UserMessage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.model import (
    CallChunk,
    Chunk,
    Model,
    ModelRequest,
    NoticeChunk,
    Sent,
    StateChunk,
    TextChunk,
    ThinkingChunk,
    UsageChunk,
)
from midwatch.llm.providers.longtail.client import open_longtail
from midwatch.llm.providers.longtail.library import share_library
from midwatch.llm.providers.longtail.request import fit_ids, translate_conversation
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
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
from tests.waiting import eventually

KEY = "sk-secret-0123456789"
TOOL = ToolDefinition(server="k8s", name="pods", description="Lists pods", schema={})
ODD = ToolDefinition(server="k8s", name="käse/holen" * 10, description="", schema={"anyOf": [{"type": "object"}]})
HELLO = ScriptedTurn(text="hello", usage=Usage(input_tokens=2, output_tokens=1))
HELLO_CHUNKS: list[Chunk] = [TextChunk(text="hello"), UsageChunk(usage=HELLO.usage)]
CALLING = ScriptedTurn(
    thinking="hm",
    text="so",
    calls=(ScriptedCall(name="k8s.pods", arguments={"n": 1}), ScriptedCall(name=ODD.full_name, arguments={})),
    usage=Usage(input_tokens=9, output_tokens=5, thinking_tokens=3, cache_read_tokens=4),
    chunk_size=1,
)


def make_request(*messages: Message, tools: tuple[ToolDefinition, ...] = (TOOL,)) -> ModelRequest:
    return ModelRequest(messages=messages or (UserMessage(text="go"),), tools=tools, agent="A")


@asynccontextmanager
async def open_model(
    base_url: str, *, kind: str = "openai-chat:gpt", api_key: str | None = KEY, sleep: FakeSleep | None = None
) -> AsyncGenerator[Model]:
    time = sleep or FakeSleep()
    entry = PydanticAiProvider.model_construct(type="pydantic-ai", model=kind, base_url=base_url)
    async with AsyncExitStack() as closing:
        library = share_library(entry, name="local", api_key=api_key, libraries={}, closing=closing)
        yield open_longtail(
            provider="local",
            name=kind,
            library=library,
            sleep=time,
            breaker=time.new_breaker("local"),
        )


async def ask_url(base_url: str, *, api_key: str | None = KEY) -> Asking:
    sleep = FakeSleep()
    async with open_model(base_url, api_key=api_key, sleep=sleep) as model:
        return await ask_once(model, make_request(), sleep=sleep)


async def ask(replies: Iterable[Reply]) -> Asking:
    async with serve(in_order(replies)) as server:
        return await ask_url(server.base_url)


def answer_calls(chunks: list[Chunk]) -> list[Message]:
    """The conversation goes on as the agent would let it."""
    calls = tuple(
        ToolCall(call_id=new_id(), provider_id=chunk.provider_id, name=chunk.name, arguments=chunk.arguments)
        for chunk in chunks
        if isinstance(chunk, CallChunk)
    )
    states = [chunk.state for chunk in chunks if isinstance(chunk, StateChunk)]
    said = AssistantMessage(text="so", thinking="hm", calls=calls, provider_state=states[0] if states else None)
    results = [ToolMessage(provider_id=call.provider_id, name=call.name, content="", is_error=False) for call in calls]
    return [said, *results]


async def test_a_conversation_with_calls_runs_over_one_connection() -> None:
    asked: list[Message] = [SystemMessage(text="be brief"), UserMessage(text="go")]
    first: list[Chunk] = []
    second: list[Chunk] = []
    async with serve(by_turn([CALLING, HELLO])) as server, open_model(server.base_url) as model:
        assert await collect(model, make_request(*asked, tools=(TOOL, ODD)), first) is None
        again = make_request(*asked, *answer_calls(first), UserMessage(text="and?"), tools=(TOOL, ODD))
        assert await collect(model, again, second) is None
    assert [chunk for chunk in first if not isinstance(chunk, StateChunk)] == [
        *(ThinkingChunk(text=letter) for letter in "hm"),
        *(TextChunk(text=letter) for letter in "so"),
        CallChunk(provider_id="call_0_0", name="k8s.pods", arguments='{"n":1}'),
        CallChunk(provider_id="call_0_1", name=ODD.full_name, arguments="{}"),
        UsageChunk(usage=CALLING.usage),
    ]
    assert second == HELLO_CHUNKS
    assert server.connections == 1
    opening, going_on = (received.body for received in server.requests)
    assert opening["messages"] == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "go"},
    ]
    reply, *heard = going_on["messages"][2:]
    assert (reply["role"], reply["content"]) == ("assistant", "so")
    assert [call["function"]["arguments"] for call in reply["tool_calls"]] == ['{"n":1}', "{}"]
    assert [message["role"] for message in heard] == ["tool", "tool", "user"]
    assert [message["tool_call_id"] for message in heard[:2]] == [call["id"] for call in reply["tool_calls"]]
    assert heard[0]["content"] == "(no output)"


async def test_tool_names_are_legal_on_the_wire_and_ours_again_afterwards() -> None:
    async with serve(by_turn([CALLING])) as server, open_model(server.base_url) as model:
        asking = await ask_once(model, make_request(tools=(TOOL, ODD)))
    (received,) = server.requests
    names = [tool["function"]["name"] for tool in received.body["tools"]]
    assert names[0] == "k8s__pods"
    assert len(names[1]) <= 64
    assert names[1].isascii()
    assert received.body["tools"][1]["function"]["parameters"]["type"] == "object"
    assert [chunk.name for chunk in asking.chunks if isinstance(chunk, CallChunk)] == ["k8s.pods", ODD.full_name]


async def test_what_the_provider_wants_back_is_sent_back_to_it_and_to_nobody_else() -> None:
    async with serve(by_turn([CALLING, HELLO])) as server, open_model(server.base_url) as model:
        first: list[Chunk] = []
        await collect(model, make_request(), first)
        said, *results = answer_calls(first)
        assert isinstance(said, AssistantMessage)
        await collect(model, make_request(UserMessage(text="go"), said, *results), [])
        foreign = AssistantMessage(text="so", calls=said.calls, provider_state=b'{"anthropic":[{"type":"text"}]}')
        await collect(model, make_request(UserMessage(text="go"), foreign, *results), [])
    replayed, composed = (received.body["messages"][1] for received in server.requests[1:])
    assert [call["id"] for call in replayed["tool_calls"]] == ["call_0_0", "call_0_1"]
    assert [call["id"] for call in composed["tool_calls"]] == [f"call_{call.call_id.hex}" for call in said.calls]


async def test_without_tools_past_calls_are_still_declared_and_none_is_asked_for() -> None:
    said = AssistantMessage(
        text="", calls=(ToolCall(call_id=new_id(), provider_id="a", name="k8s.pods", arguments="{"),)
    )
    async with serve(in_order([HELLO])) as server, open_model(server.base_url) as model:
        await ask_once(model, make_request(UserMessage(text="go"), said, tools=()))
    (received,) = server.requests
    assert received.body["tool_choice"] == "none"
    assert [tool["function"]["name"] for tool in received.body["tools"]] == ["k8s__pods"]
    assert received.body["messages"][1]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert received.body["messages"][2]["content"] == '{"error":"(no output)"}'


async def test_broken_letters_do_not_break_the_request() -> None:
    async with serve(in_order([HELLO])) as server, open_model(server.base_url) as model:
        asking = await ask_once(model, make_request(UserMessage(text="käse \ud800\x00")))
    assert asking.chunks == HELLO_CHUNKS
    assert server.requests[0].body["messages"] == [{"role": "user", "content": "käse \ufffd\ufffd"}]


async def test_a_conversation_without_tools_sends_none() -> None:
    async with serve(in_order([HELLO])) as server, open_model(server.base_url) as model:
        await ask_once(model, make_request(UserMessage(text=" "), tools=()))
    (received,) = server.requests
    assert "tools" not in received.body
    assert "tool_choice" not in received.body
    assert received.body["messages"] == [{"role": "user", "content": "Go on."}]


async def test_a_model_that_may_not_think_goes_on_without_thinking() -> None:
    refused = Status(status=400, body=json.encode({"error": {"message": "Unrecognized argument: reasoning_effort"}}))
    async with (
        serve(in_order([refused, HELLO, HELLO])) as server,
        open_model(server.base_url, kind="openai-chat:o3") as model,
    ):
        first, second = await ask_once(model, make_request()), await ask_once(model, make_request())
    assert [chunk.code for chunk in first.chunks if isinstance(chunk, NoticeChunk)] == ["thinking_off"]
    assert second.chunks == HELLO_CHUNKS
    assert ["reasoning_effort" in received.body for received in server.requests] == [True, False, False]


async def test_what_was_sent_is_noted_once_for_each_attempt() -> None:
    sent: list[Sent] = []
    sleep = FakeSleep()
    request = ModelRequest(messages=(UserMessage(text="go"),), tools=(TOOL,), agent="A", note_sent=sent.append)
    async with (
        serve(in_order([Status(status=503), HELLO])) as server,
        open_model(server.base_url, sleep=sleep) as model,
    ):
        await ask_once(model, request, sleep=sleep)
    assert [(note.provider, note.model) for note in sent] == [("local", "openai-chat:gpt")] * 2
    assert f"http://{sent[0].host}{sent[0].path}" == f"{server.base_url}/"
    assert b"k8s__pods" in sent[0].body
    assert KEY.encode() not in sent[0].body


@pytest.mark.parametrize(("api_key", "sent"), [(KEY, f"Bearer {KEY}"), (None, "Bearer api-key-not-set")])
async def test_the_key_goes_into_a_header(
    monkeypatch: pytest.MonkeyPatch, api_key: str | None, sent: str | None
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with serve(by_turn([HELLO])) as server:
        asking = await ask_url(server.base_url, api_key=api_key)
    assert asking.chunks == HELLO_CHUNKS
    assert server.requests[0].headers.get("authorization") == sent


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (401, ("credentials", False)),
        (402, ("credentials", False)),
        (403, ("credentials", False)),
        (400, ("invalid_request", False)),
        (404, ("invalid_request", False)),
        (422, ("invalid_request", False)),
        (307, ("invalid_request", False)),
    ],
)
async def test_a_refusal_is_not_asked_again(status: int, outcome: tuple[str, bool]) -> None:
    body = json.encode({"error": {"message": "because"}})
    replies = [Status(status=status, body=body, headers=(("location", "/elsewhere"),))]
    async with serve(in_order(replies)) as server:
        asking = await ask_url(server.base_url)
    assert asking.outcome == outcome
    assert str(asking.failure) == f"HTTP {status}: because"
    assert len(server.requests) == 1
    assert asking.waits == []


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"message": "too much", "code": "context_length_exceeded"}, "context_too_long"),
        ({"message": "no money", "code": "insufficient_quota"}, "credentials"),
        ({"message": "flagged", "code": "content_policy_violation"}, "content_filter"),
    ],
)
async def test_names_of_errors_say_more_than_their_status(error: dict[str, str], code: str) -> None:
    asking = await ask([Status(status=400, body=json.encode({"error": error}))])
    assert asking.outcome == (code, False)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
async def test_a_passing_trouble_is_asked_again_by_us_and_nobody_else(status: int) -> None:
    async with serve(in_order([Status(status=status), Status(status=status), HELLO])) as server:
        asking = await ask_url(server.base_url)
    assert asking.chunks == HELLO_CHUNKS
    assert asking.has_waited(1.0, 2.0)
    assert len(server.requests) == 3


def test_ids_of_calls_are_fitted_for_who_wants_them_short() -> None:
    call = ToolCall(call_id=new_id(), provider_id="a", name="k8s.pods", arguments="{}")
    said = AssistantMessage(text="", calls=(call,))
    messages = translate_conversation([UserMessage(text="go"), said])
    (made,), (answered,) = (message.parts for message in fit_ids(messages, length=9)[1:])
    assert isinstance(made, ToolCallPart)
    assert isinstance(answered, ToolReturnPart)
    assert made.tool_call_id == answered.tool_call_id
    assert len(made.tool_call_id) == 9
    assert fit_ids(fit_ids(messages, length=9), length=9) == fit_ids(messages, length=9)


async def test_a_key_that_the_library_found_for_itself_is_hidden_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    body = json.encode({"error": {"message": f"bad {KEY}"}})
    async with serve(in_order([Status(status=401, body=body)])) as server:
        asking = await ask_url(server.base_url, api_key=None)
    assert str(asking.failure) == "HTTP 401: bad [MASKED_API_KEY]"


async def test_after_three_attempts_it_gives_up() -> None:
    body = json.encode({"error": {"message": "overloaded"}})
    async with serve(in_order([Status(status=503, body=body)] * 4)) as server:
        asking = await ask_url(server.base_url)
    assert asking.outcome == ("max_retries", True)
    assert str(asking.failure) == "gave up after 3 attempts: HTTP 503: overloaded"
    assert len(server.requests) == 3


@pytest.mark.parametrize(("asked", "wait"), [("7", 7.0), ("20", 20.0), ("soon", 1.0)])
async def test_the_provider_may_name_the_wait(asked: str, wait: float) -> None:
    asking = await ask([Status(status=429, headers=(("Retry-After", asked),)), HELLO])
    assert asking.chunks == HELLO_CHUNKS
    assert asking.has_waited(wait)


@pytest.mark.parametrize(
    "first", [Stream([Cut()]), cut_after(HELLO, 1), malformed_after(HELLO, 1), Stream([]), Stream([b"<html>"])]
)
async def test_a_stream_that_breaks_before_the_first_chunk_is_asked_again(first: Reply) -> None:
    asking = await ask([first, HELLO])
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
async def test_a_stream_that_breaks_after_the_first_chunk_is_not(broken: Reply, code: str) -> None:
    asking = await ask([broken, HELLO])
    assert asking.chunks == [TextChunk(text="hello")]
    assert asking.outcome == (code, True)
    assert asking.waits == []


async def test_an_error_inside_the_stream_is_told_in_the_providers_words() -> None:
    error = b'data: {"error":{"message":"bad ' + KEY.encode() + b'","type":"server_error"}}\n\n'
    asking = await ask([Stream([*list_events(HELLO)[:2], error])])
    assert asking.outcome == ("provider_error", True)
    assert str(asking.failure) == "the provider reported: bad [MASKED_API_KEY]"


async def test_a_connection_lost_after_the_finish_reason_loses_nothing() -> None:
    calling = ScriptedTurn(calls=(ScriptedCall(name="k8s.pods", arguments={}),))
    asking = await ask([cut_after(calling, len(list_events(calling)) - 2)])
    assert asking.failure is None
    assert asking.chunks == [CallChunk(provider_id="call_0_0", name="k8s.pods", arguments="{}")]


@pytest.mark.parametrize(
    ("reason", "arguments", "outcome"),
    [
        ("length", '{"n":', ("answer_too_long", True)),
        ("content_filter", "{}", ("content_filter", False)),
    ],
)
async def test_an_answer_that_ended_badly_has_no_calls(reason: str, arguments: str, outcome: tuple[str, bool]) -> None:
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "k8s__pods", "arguments": arguments}}
    ended = Stream([delta_event({"tool_calls": [call]}), delta_event({}, finish_reason=reason), DONE])
    asking = await ask([ended] * 3)
    assert [chunk for chunk in asking.chunks if isinstance(chunk, CallChunk)] == []
    code = "max_retries" if outcome[1] else outcome[0]
    assert asking.outcome == (code, outcome[1])


async def test_a_server_that_never_closes_its_stream_does_not_hold_the_answer_back() -> None:
    endless = Stream([delta_event({"content": "hi"}, finish_reason="stop"), DONE, asyncio.Event()])
    asking = await ask([endless])
    assert (asking.chunks, asking.failure) == ([TextChunk(text="hi")], None)


async def test_nobody_listening_is_retried_and_then_reported() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        asking = await ask_url(f"http://127.0.0.1:{unused.getsockname()[1]}/v1")
    assert asking.outcome == ("max_retries", True)
    assert "ConnectError" in str(asking.failure)
    assert asking.has_waited(1.0, 2.0)


async def test_a_base_url_without_a_scheme_is_not_tried_again() -> None:
    asking = await ask_url("localhost/v1")
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
async def test_no_part_of_the_key_is_in_an_error(body: object, status: int) -> None:
    asking = await ask([Status(status=status, body=json.encode(body))] * 3)
    text = str(asking.failure)
    assert f"HTTP {status}: " in text
    assert "sk-" not in text
    assert "[MASKED_" in text
    assert len(text) < 350


@pytest.mark.parametrize("body", [b"<html>502 for Bearer x</html>", b"", b"[]", b"7", b'{"error":{"message":[1]}}'])
async def test_an_error_body_without_a_message_is_not_quoted(body: bytes) -> None:
    asking = await ask([Status(status=400, body=body)])
    assert str(asking.failure) == "HTTP 400"


async def test_closing_the_generator_closes_the_connection_at_once() -> None:
    async with (
        serve(by_turn([stall_after(HELLO, 2, release=asyncio.Event())])) as server,
        open_model(server.base_url) as model,
        asyncio.timeout(60),
    ):
        assert await stop_early(model, make_request()) == TextChunk(text="hello")
        await server.disconnected.wait()


@pytest.mark.parametrize("is_answering", [False, True])
async def test_cancelling_the_caller_closes_the_connection_at_once(*, is_answering: bool) -> None:
    never = asyncio.Event()
    reply = stall_after(HELLO, 2, release=never) if is_answering else HELLO
    holding = None if is_answering else hold_turn(0, release=never)
    chunks: list[Chunk] = []
    async with (
        serve(by_turn([reply]), before_turn=holding) as server,
        open_model(server.base_url) as model,
        asyncio.timeout(60),
        asyncio.TaskGroup() as group,
    ):
        asking = group.create_task(collect(model, make_request(), chunks))
        await server.asked.wait()
        await eventually(lambda: len(chunks) == is_answering)
        asking.cancel()
        await server.disconnected.wait()


async def test_no_connection_is_left_when_the_gateway_is_closed() -> None:
    async with serve(in_order([HELLO] * 4)) as server:
        async with open_model(server.base_url) as model, asyncio.TaskGroup() as group:
            for _ in range(4):
                group.create_task(collect(model, make_request(), []))
        assert server.connections >= 1
        await eventually(lambda: server.open_connections == 0, within=60)
