"""Models behind the LLM service: the same chunks, the same failures and the same manners as in this process."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from typing import Any, cast

import httpx
import pytest

from midwatch.config.llm import OpenAiProvider
from midwatch.domain.messages import AssistantMessage, ToolMessage, Usage, UserMessage
from midwatch.llm.grpc import messages as wire
from midwatch.llm.grpc.client import connect
from midwatch.llm.model import CallChunk, ModelRequest, Sent, StateChunk, TextChunk, ThinkingChunk, UsageChunk
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.documents import list_failure_codes
from tests.fakes.llm_service import NO_WAITS, serve_models
from tests.fakes.protocols import CHAT, CLAUDE, Detour, Spoken
from tests.fakes.provider_server import Body, Reply, Stream, serve_dialect
from tests.fakes.troubles import HELLO, SECRET, TROUBLES, Trouble
from tests.unit.llm.asking import ask_once
from tests.unit.llm.conversations import make_call
from tests.unit.llm.grpc.both import make_request, over_both, set_up, spoken_by_all

pytestmark = pytest.mark.usefixtures("one_loop")

USAGE = Usage(input_tokens=7, output_tokens=5, thinking_tokens=2)


@over_both
@spoken_by_all
async def test_a_conversation_with_thinking_calls_and_state(spoken: Spoken, transport: str) -> None:
    calling = ScriptedTurn(thinking="hm", calls=(ScriptedCall(name="deck.echo", arguments={"n": 1}),), usage=USAGE)
    ending = ScriptedTurn(text="so it is", chunk_size=3, usage=USAGE)
    async with set_up(spoken, transport, spoken.dialect.by_turn([calling, ending])) as setting:
        first = await ask_once(setting.model, make_request())
        [call] = [chunk for chunk in first.chunks if isinstance(chunk, CallChunk)]
        states = [chunk.state for chunk in first.chunks if isinstance(chunk, StateChunk)]
        reply = AssistantMessage(
            text="",
            thinking="hm",
            calls=(make_call(call.name, call.arguments, provider_id=call.provider_id),),
            provider_state=states[0] if states else None,
        )
        result = ToolMessage(provider_id=call.provider_id, name="deck.echo", content="two käse")
        second = await ask_once(setting.model, make_request(UserMessage(text="go"), reply, result))
    assert (setting.model.provider, setting.model.name) == ("main", spoken.model)
    assert (call.name, call.arguments) == ("deck.echo", '{"n":1}')
    assert first.chunks[0] == ThinkingChunk(text="hm")
    assert bool(states) is (spoken.name != "chat")
    assert "".join(chunk.text for chunk in second.chunks if isinstance(chunk, TextChunk)) == "so it is"
    assert [chunk.usage.output_tokens for chunk in second.chunks if isinstance(chunk, UsageChunk)] == [5]
    assert (first.failure, second.failure) == (None, None)


@spoken_by_all
async def test_the_provider_is_sent_the_same_over_both(spoken: Spoken) -> None:
    """State, thinking, tools, names and results included."""
    calling = ScriptedTurn(thinking="hm", calls=(ScriptedCall(name="deck.echo", arguments={"n": 1}),), usage=USAGE)
    bodies: dict[str, list[object]] = {}
    for transport in ("here", "grpc"):
        async with set_up(spoken, transport, spoken.dialect.by_turn([calling, HELLO])) as setting:
            first = await ask_once(setting.model, make_request())
            states = [chunk.state for chunk in first.chunks if isinstance(chunk, StateChunk)]
            [call] = [chunk for chunk in first.chunks if isinstance(chunk, CallChunk)]
            asked = make_call(call.name, call.arguments, provider_id=call.provider_id)
            reply = AssistantMessage(text="", calls=(asked,), provider_state=states[0] if states else None)
            result = ToolMessage(provider_id=call.provider_id, name="deck.echo", content="no", is_error=True)
            await ask_once(setting.model, make_request(UserMessage(text="go"), reply, result))
            bodies[transport] = [(request.path, request.body) for request in setting.server.requests]
    assert len(bodies["here"]) == 2
    assert bodies["grpc"] == bodies["here"]


@over_both
@spoken_by_all
@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.name)
async def test_a_trouble_ends_in_its_code(spoken: Spoken, trouble: Trouble, transport: str) -> None:
    async with set_up(spoken, transport, lambda _: trouble.reply(spoken)) as setting:
        asking = await ask_once(setting.model, make_request())
    code, text = trouble.expect(spoken)
    assert asking.failure is not None
    assert asking.failure.code == code
    assert code in list_failure_codes()
    assert text in str(asking.failure)
    assert not any(SECRET in told for told in (str(asking.failure), *asking.retries))
    assert len(asking.retries) == (2 if code == "max_retries" else 0)


@over_both
async def test_who_stops_listening_closes_the_connection_to_the_provider(transport: str) -> None:
    endless = Stream([*CHAT.dialect.list_events(HELLO, 0)[:2], asyncio.Event()])
    async with set_up(CHAT, transport, lambda _: endless, patience=None) as setting:
        async with asyncio.timeout(60), aclosing(setting.model.stream(make_request())) as chunks:
            assert await anext(chunks) == TextChunk(text="hello")
            assert not setting.server.disconnected.is_set()
        async with asyncio.timeout(60):
            await setting.server.disconnected.wait()


@over_both
async def test_a_cancelled_question_closes_the_connection_to_the_provider(transport: str) -> None:
    async with set_up(CHAT, transport, lambda _: Stream([asyncio.Event()]), patience=None) as setting:

        async def ask() -> None:
            await ask_once(setting.model, make_request())

        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            asking = group.create_task(ask())
            await setting.server.asked.wait()
            asking.cancel()
            await setting.server.disconnected.wait()


async def test_who_stops_listening_hangs_up_and_leaves_it_to_no_garbage_collector() -> None:
    endless = Stream([*CHAT.dialect.list_events(HELLO, 0)[:2], asyncio.Event()])
    kept: list[object] = []
    async with (
        serve_dialect(lambda _: endless, dialect=CHAT.dialect) as server,
        httpx.AsyncClient(timeout=None) as http,  # a silence must not end it
        serve_models(http, server.base_url, environ={}) as service,
    ):

        def generate(*request: Any, **options: Any) -> object:
            """A call that somebody else still knows is not hung up by being forgotten."""
            kept.append(service.client.generate(*request, **options))
            return kept[-1]

        client = replace(service.client, generate=cast("Any", generate))
        model = client.open("main", OpenAiProvider(type="openai", model="m", base_url=server.base_url))
        async with asyncio.timeout(60), aclosing(model.stream(make_request())) as chunks:
            assert await anext(chunks) == TextChunk(text="hello")
        async with asyncio.timeout(60):
            await server.disconnected.wait()


async def test_what_is_sent_is_noted() -> None:
    noted: list[Sent] = []
    request = ModelRequest(messages=(UserMessage(text="secretly"),), tools=(), agent="A", note_sent=noted.append)
    async with set_up(CHAT, "grpc", lambda _: HELLO) as setting:
        await ask_once(setting.model, request)
    [sent] = noted
    assert (sent.provider, sent.model, sent.path) == ("main", CHAT.model, "/llm.v1.LLMService/Generate")
    assert wire.GenerateRequest.FromString(sent.body).messages[0].content == "secretly"


async def test_the_key_stays_in_the_service() -> None:
    async with set_up(CHAT, "grpc", lambda _: HELLO) as setting:
        await ask_once(setting.model, make_request())
    [request] = setting.server.requests
    assert request.headers["authorization"] == f"Bearer {SECRET}"


async def test_a_concession_holds_for_the_rest_of_the_conversation() -> None:
    """The service remembers the conversation, and does not try what was refused again."""

    def answer(body: Body) -> Reply:
        return HELLO if "thinking" not in body else CLAUDE.refuse(400, "invalid_request_error", "thinking: not here")

    async with set_up(CLAUDE, "grpc", answer) as setting:
        first = await ask_once(setting.model, make_request())
        reply = AssistantMessage(text="hello")
        second = await ask_once(setting.model, make_request(UserMessage(text="go"), reply, UserMessage(text="on")))
    assert (first.failure, second.failure) == (None, None)
    asked = ["thinking" in request.body for request in setting.server.requests]
    assert asked[0]
    assert asked[-1] is False
    assert asked.count(True) == asked.index(False)


async def test_a_service_that_is_away_is_tried_again_and_then_given_up() -> None:
    provider = OpenAiProvider(type="openai", model="m")
    async with connect("127.0.0.1:1", environ={}, backoff=NO_WAITS) as service:
        asking = await ask_once(service.open("main", provider), make_request())
    assert asking.outcome == ("max_retries", True)
    assert "gave up after 3 attempts: LLM service 127.0.0.1:1: " in str(asking.failure)
    assert len(asking.retries) == 2


async def test_a_conversation_beyond_the_limit_is_not_sent() -> None:
    request = ModelRequest(messages=(UserMessage(text="x" * (wire.MESSAGE_LIMIT + 1)),), tools=(), agent="A")
    async with set_up(CHAT, "grpc", lambda _: HELLO) as setting:
        asking = await ask_once(setting.model, request)
        assert asking.outcome == ("context_too_long", False)
        assert str(wire.MESSAGE_LIMIT) in str(asking.failure)
        assert setting.server.requests == []


async def test_the_deadline_is_kept() -> None:
    async with (
        serve_dialect(lambda _: Stream([asyncio.Event()]), dialect=CHAT.dialect) as server,
        httpx.AsyncClient(timeout=None) as http,  # a silence must not end it
        serve_models(http, server.base_url, environ={}) as service,
        connect(service.address, environ={}, backoff=(), deadline=0.3) as hasty,
    ):
        entry = OpenAiProvider(type="openai", model="m", base_url=server.base_url)
        asking = await ask_once(hasty.open("main", entry), make_request())
        assert asking.failure is not None
        assert "Deadline" in str(asking.failure)
        async with asyncio.timeout(60):
            await server.disconnected.wait()


async def test_a_token_is_asked_for() -> None:
    async with (
        serve_dialect(lambda _: HELLO, dialect=CHAT.dialect) as server,
        httpx.AsyncClient(transport=Detour(server.base_url)) as http,
        serve_models(http, server.base_url, environ={}, token="right") as service,
        connect(service.address, environ={}, token="wrong") as wrong,
        connect(service.address, environ={}) as silent,
    ):
        entry = OpenAiProvider(type="openai", model="m", base_url=server.base_url)
        right = await ask_once(service.client.open("main", entry), make_request())
        refused = [await ask_once(each.open("main", entry), make_request()) for each in (wrong, silent)]
    assert right.failure is None
    assert [asking.outcome for asking in refused] == [("credentials", False)] * 2
    assert len(server.requests) == 1
