"""Callers that know nothing of Midwatch: the proto's own messages sent to the method's path, as TARSy sends them."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import grpc
import grpc.aio
import httpx
import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from midwatch.config.llm import OpenAiProvider, Provider
from midwatch.domain.messages import Usage
from midwatch.llm.grpc import llm_pb2 as pb
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.documents import list_failure_codes
from tests.fakes.llm_service import serve_models
from tests.fakes.protocols import CHAT, CLAUDE, GOOGLE, Spoken
from tests.fakes.provider_server import Answer, ProviderServer, Status, Stream, in_order, serve_dialect
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("one_loop")

T = TypeVar("T")
PATH = "/llm.v1.LLMService/Generate"
SECRET = "sk-secret-0123456789"
CALLING = ScriptedTurn(
    thinking="hm",
    calls=(ScriptedCall(name="deck.echo", arguments={"b": 1, "a": 2}),),
    usage=Usage(input_tokens=7, output_tokens=5, thinking_tokens=2, cache_read_tokens=3),
)
ENDING = ScriptedTurn(text="so it is", chunk_size=3, usage=Usage(input_tokens=7, output_tokens=5))
TOOL = pb.ToolDefinition(name="deck.echo", description="Says it again", parameters_schema='{"type":"object"}')
Stub = grpc.aio.UnaryStreamMultiCallable[T, pb.GenerateResponse]
TYPES = {"chat": "openai", "messages": "anthropic", "gemini": "google"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """One caller, one provider behind the service."""

    spoken: Spoken
    server: ProviderServer
    channel: grpc.aio.Channel
    address: str

    def configure(self, **others: Any) -> pb.LLMConfig:
        fields: dict[str, Any] = {
            "provider": TYPES[self.spoken.name],
            "model": self.spoken.model,
            "api_key_env": "KEY",
            "base_url": self.spoken.address(self.server),
            "backend": "google-native" if self.spoken is GOOGLE else "langchain",
            **others,
        }
        return pb.LLMConfig(**fields)

    async def generate(self, request: pb.GenerateRequest) -> list[pb.GenerateResponse]:
        stub = self.channel.unary_stream(
            PATH,
            request_serializer=pb.GenerateRequest.SerializeToString,
            response_deserializer=pb.GenerateResponse.FromString,
        )
        async with asyncio.timeout(60):
            return [response async for response in stub(request)]

    def ask(self, *messages: pb.ConversationMessage, **others: Any) -> pb.GenerateRequest:
        fields: dict[str, Any] = {"session_id": "s-1", "execution_id": "e-1", "llm_config": self.configure(), **others}
        said = messages or (pb.ConversationMessage(role="user", content="go"),)
        return pb.GenerateRequest(messages=said, tools=[TOOL], **fields)


@asynccontextmanager
async def open_desk(
    spoken: Spoken, answer: Answer, *, providers: Mapping[str, Provider] | None = None, allow: bool = True
) -> AsyncGenerator[Desk]:
    async with (
        serve_dialect(answer, dialect=spoken.dialect) as server,
        httpx.AsyncClient(timeout=None) as http,  # a silence must not end what a caller should
        serve_models(
            http,
            *([spoken.address(server)] if allow else []),
            environ={"KEY": SECRET, "OTHER": "other"},
            providers=providers,
        ) as service,
        grpc.aio.insecure_channel(service.address) as channel,
    ):
        yield Desk(spoken=spoken, server=server, channel=channel, address=service.address)


def read_error(responses: list[pb.GenerateResponse]) -> tuple[str, bool]:
    error = responses[-1].error
    assert responses[-1].is_final
    assert error.code in list_failure_codes()
    assert SECRET not in error.message
    return error.code, error.retryable


def read_call(responses: list[pb.GenerateResponse]) -> pb.ToolCallDelta:
    [call] = [response.tool_call for response in responses if response.HasField("tool_call")]
    return call


def go_on(call: pb.ToolCallDelta, arguments: str) -> list[pb.ConversationMessage]:
    asked = pb.ToolCall(id=call.call_id, name=call.name, arguments=arguments)
    return [
        pb.ConversationMessage(role="user", content="go"),
        pb.ConversationMessage(role="assistant", tool_calls=[asked]),
        pb.ConversationMessage(role="tool", content="two", tool_call_id=call.call_id, tool_name=call.name),
    ]


@pytest.mark.parametrize("spoken", [CHAT, CLAUDE, GOOGLE], ids=lambda spoken: spoken.name)
async def test_a_turn_is_streamed_in_the_fields_of_the_proto(spoken: Spoken) -> None:
    async with open_desk(spoken, spoken.dialect.by_turn([CALLING, ENDING])) as desk:
        first = await desk.generate(desk.ask())
        second = await desk.generate(desk.ask(*go_on(read_call(first), '{"a": 2, "b": 1}')))
    call = read_call(first)
    assert (call.name, call.arguments) == ("deck.echo", '{"b":1,"a":2}')
    assert "".join(response.thinking.content for response in first) == "hm"
    assert "".join(response.text.content for response in second) == "so it is"
    [usage] = [response.usage for response in first if response.HasField("usage")]
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (7, 5, 12)
    for responses in (first, second):
        assert [response.is_final for response in responses] == [False] * (len(responses) - 1) + [True]
        # Nothing that only Midwatch would understand.
        assert not any(response.bundle or response.HasField("provider_state") for response in responses)


@pytest.mark.parametrize(
    ("spoken", "trace"), [(CLAUDE, "'signature': 'sig-0'"), (GOOGLE, "'thoughtSignature': 'signature-0'")]
)
async def test_what_the_provider_wants_back_is_kept_for_the_caller(spoken: Spoken, trace: str) -> None:
    """Although the caller writes the arguments anew, in another order."""
    async with open_desk(spoken, spoken.dialect.by_turn([CALLING, ENDING])) as desk:
        first = await desk.generate(desk.ask())
        messages = go_on(read_call(first), '{"a": 2, "b": 1}')
        await desk.generate(desk.ask(*messages))
        await desk.generate(desk.ask(*messages, execution_id="e-2"))
        await desk.generate(desk.ask(*messages, clear_cache=True))
        await desk.generate(desk.ask(*messages))
    kept = [trace in str(request.body) for request in desk.server.requests]
    assert kept == [False, True, False, False, False]


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ({"backend": "anthropic-native"}, ("invalid_backend", False)),
        ({"backend": "google-native"}, ("invalid_backend", False)),
        ({"provider": "bedrock"}, ("invalid_request", False)),
        ({"provider": "scripted"}, ("invalid_request", False)),
        ({"model": ""}, ("invalid_request", False)),
        ({"base_url": "ftp://x"}, ("invalid_request", False)),
        ({"provider": "vertexai", "base_url": ""}, ("credentials", False)),
    ],
)
async def test_what_makes_no_sense_is_refused_in_the_stream(others: dict[str, str], expected: tuple[str, bool]) -> None:
    async with open_desk(CHAT, lambda _: ENDING) as desk:
        responses = await desk.generate(desk.ask(llm_config=desk.configure(**others)))
    assert read_error(responses) == expected
    assert desk.server.requests == []


async def test_no_backend_is_any_backend() -> None:
    async with open_desk(CHAT, lambda _: ENDING) as desk:
        responses = await desk.generate(desk.ask(llm_config=desk.configure(backend="")))
    assert "".join(response.text.content for response in responses) == "so it is"


async def test_a_key_is_sent_to_no_address_that_the_operator_did_not_name() -> None:
    async with open_desk(CHAT, lambda _: ENDING, allow=False) as desk:
        responses = await desk.generate(desk.ask())
    assert read_error(responses) == ("invalid_request", False)
    assert "--allow-address" in responses[-1].error.message
    assert desk.server.requests == []


@dataclass
class Own:
    """The service's own entry for an address that is known only later."""

    providers: dict[str, Provider] = field(default_factory=dict[str, Provider])

    def add(self, name: str, desk: Desk) -> None:
        url = desk.server.base_url
        self.providers[name] = OpenAiProvider(type="openai", model="m", base_url=url, api_key_env="KEY")


async def test_an_entry_of_the_service_names_an_address_and_the_key_for_it_alone() -> None:
    own = Own()
    async with open_desk(CHAT, lambda _: ENDING, providers=own.providers, allow=False) as desk:
        own.add("main", desk)
        right = await desk.generate(desk.ask())
        wrong = await desk.generate(desk.ask(llm_config=desk.configure(api_key_env="OTHER")))
        filled = await desk.generate(desk.ask(llm_config=desk.configure(api_key_env="", base_url="")))
    assert right[-1].is_final
    assert read_error(wrong) == ("invalid_request", False)
    assert "".join(response.text.content for response in filled) == "so it is"
    assert [request.headers["authorization"] for request in desk.server.requests] == [f"Bearer {SECRET}"] * 2


async def test_a_provider_that_fails_is_an_error_in_the_stream() -> None:
    async with open_desk(CHAT, lambda _: Status(status=401, body=b'{"error": {"message": "no"}}')) as desk:
        responses = await desk.generate(desk.ask())
    assert read_error(responses) == ("credentials", False)


async def test_fields_that_we_do_not_know_are_passed_over() -> None:
    async with open_desk(CHAT, lambda _: ENDING) as desk:
        # Field 1999, a text.
        data = desk.ask().SerializeToString() + b"\xfa\x7c\x03new"
        stub: Stub[bytes] = desk.channel.unary_stream(
            PATH, request_serializer=bytes, response_deserializer=pb.GenerateResponse.FromString
        )
        responses = [response async for response in stub(data)]
    assert "".join(response.text.content for response in responses) == "so it is"


async def test_a_message_over_the_limit_is_refused_by_its_size() -> None:
    async with (
        open_desk(CHAT, lambda _: ENDING) as desk,
        grpc.aio.insecure_channel(desk.address, options=[("grpc.max_send_message_length", -1)]) as channel,
    ):
        huge = pb.ConversationMessage(role="user", content="x" * (64 * 1024 * 1024))
        stub = channel.unary_stream(
            PATH,
            request_serializer=pb.GenerateRequest.SerializeToString,
            response_deserializer=pb.GenerateResponse.FromString,
        )
        with pytest.raises(grpc.aio.AioRpcError, match="larger than max") as refused:
            async for _ in stub(desk.ask(huge)):
                pass
    assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_an_unknown_method_is_said_to_be_unknown() -> None:
    async with open_desk(CHAT, lambda _: ENDING) as desk:
        stub: Stub[bytes] = desk.channel.unary_stream(
            f"{PATH}WithThinking", request_serializer=bytes, response_deserializer=pb.GenerateResponse.FromString
        )
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            async for _ in stub(b""):
                pass
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_every_question_is_logged_once_with_how_it_went_and_without_a_word_of_it() -> None:
    refused = Status(status=401, body=b'{"error": {"message": "no"}}')
    endless = Stream([*CHAT.dialect.list_events(ENDING, 0)[:2], asyncio.Event()])
    with capture_logs() as everything:
        async with open_desk(CHAT, in_order([ENDING, refused, endless])) as desk:
            await desk.generate(desk.ask(session_id="s-logged"))
            await desk.generate(desk.ask(session_id="s-logged"))
            stub: Stub[pb.GenerateRequest] = desk.channel.unary_stream(
                PATH,
                request_serializer=pb.GenerateRequest.SerializeToString,
                response_deserializer=pb.GenerateResponse.FromString,
            )
            call = stub(desk.ask(session_id="s-logged"))
            async with asyncio.timeout(60):
                await anext(aiter(call))
                call.cancel()
                logs = await eventually(lambda: _three_of(everything, "s-logged"))
    assert [entry["event"] for entry in logs] == ["generated"] * 3
    assert [entry["code"] for entry in logs] == ["ok", "credentials", "cancelled"]
    assert {(entry["session_id"], entry["provider"], entry["model"]) for entry in logs} == {
        ("s-logged", "openai", CHAT.model)
    }
    assert "so it is" not in str(logs)


def _three_of(logs: Sequence[EventDict], session_id: str) -> list[EventDict] | None:
    """Questions of other tests may end meanwhile."""
    ours = [entry for entry in logs if entry.get("session_id") == session_id]
    return ours if len(ours) >= 3 else None


async def test_a_caller_that_leaves_closes_the_connection_to_the_provider() -> None:
    endless = Stream([*CHAT.dialect.list_events(ENDING, 0)[:2], asyncio.Event()])
    async with open_desk(CHAT, lambda _: endless) as desk:
        stub = desk.channel.unary_stream(
            PATH,
            request_serializer=pb.GenerateRequest.SerializeToString,
            response_deserializer=pb.GenerateResponse.FromString,
        )
        call = stub(desk.ask())
        async with asyncio.timeout(60):
            await anext(aiter(call))
            call.cancel()
            await desk.server.disconnected.wait()
