"""The gateway behind `llm.v1.LLMService`: the keys stay in this process."""

import asyncio
import hmac
import socket
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast, final

import grpc
import grpc.aio
import structlog

from midwatch.domain.errors import ModelUnavailable
from midwatch.kit.clock import boottime
from midwatch.llm.gateway import Gateway
from midwatch.llm.grpc import messages as wire
from midwatch.llm.grpc.probe import Probe
from midwatch.llm.grpc.recollection import Answer, Conversation, Recollection, States, digest_messages
from midwatch.llm.grpc.targets import Shelf, Target
from midwatch.llm.grpc.translation import decode_tool, encode_chunk, encode_failure
from midwatch.llm.model import Chunk, ModelRequest, NoticeChunk, StateChunk

_WAITING = 32
"""Chunks that may wait for a slow reader, beside what gRPC itself has under way."""
_MOST_TARGETS, _MOST_DOORS = 1024, 256
_LOGGED_LENGTH = 100
_OPTIONS = (
    ("grpc.max_receive_message_length", wire.MESSAGE_LIMIT),
    ("grpc.max_send_message_length", wire.MESSAGE_LIMIT),
    # Two services on one port would share its callers, and neither would know.
    ("grpc.so_reuseport", 0),
    # Whoever vanished without a word must not keep a provider busy.
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
)

log = structlog.get_logger()

Lane = asyncio.Queue[Chunk | None]
"""From the provider to the caller; None is the end."""
Context = grpc.aio.ServicerContext[wire.GenerateRequest, wire.GenerateResponse]


@dataclass(slots=True, kw_only=True)
class _Question:
    """One call from its request to its last word."""

    request: wire.GenerateRequest
    answer: Answer = field(default_factory=Answer)
    failure: ModelUnavailable | None = None
    is_over: bool = False
    provider: str = ""
    began: float = field(default_factory=boottime)

    def log(self, _context: object) -> None:
        log.info(
            "generated",
            session_id=self.request.session_id[:_LOGGED_LENGTH],
            provider=self.provider,
            model=self.request.llm_config.model[:_LOGGED_LENGTH],
            seconds=round(boottime() - self.began, 3),
            code=self._judge(),
        )

    def _judge(self) -> str:
        if self.failure is not None:
            return self.failure.code
        return "ok" if self.is_over else "cancelled"


@final
class Servicer:
    def __init__(self, gateway: Gateway, shelf: Shelf, *, token: str | None = None) -> None:
        self._gateway = gateway
        self._shelf = shelf
        self._expected = f"Bearer {token}".encode() if token else None
        self._targets: dict[bytes, Target] = {}
        self._doors: dict[tuple[Any, ...], Gateway] = {}
        self._conversations = Recollection[Conversation]()
        self._states = Recollection[States]()

    async def generate(self, request: wire.GenerateRequest, context: Context) -> None:
        if not self._is_admitted(context):
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "the LLM service asks for a token")
        question = _Question(request=request)
        # Written once the caller has its answer: nobody should wait for a log. The stubs take no function here.
        context.add_done_callback(cast("Any", question.log))
        async with asyncio.TaskGroup() as group:
            lane: Lane = asyncio.Queue(_WAITING)
            group.create_task(self._ask(question, lane), name="provider")
            # A caller that goes away cancels this task, and with the group whoever listens to the provider.
            while not question.is_over:
                for response in await _next_responses(question, lane):
                    await context.write(response)

    def _is_admitted(self, context: Context) -> bool:
        if self._expected is None:
            return True
        given = next((value for key, value in context.invocation_metadata() or () if key == "authorization"), "")
        return hmac.compare_digest(given if isinstance(given, bytes) else given.encode(), self._expected)

    async def _ask(self, question: _Question, lane: Lane) -> None:
        try:
            await self._listen(question, lane)
        except ModelUnavailable as failure:
            question.failure = failure
        except Exception as error:  # the border: this caller is told, and the others are served on
            log.exception("generate_failed", provider=question.provider)
            told = f"the LLM service failed: {type(error).__name__}"
            question.failure = ModelUnavailable(told, code="internal", retryable=False)
        await lane.put(None)

    async def _listen(self, question: _Question, lane: Lane) -> None:
        request = question.request
        target = self._find_target(request.llm_config)
        question.provider = target.name
        self._put_back_states(request)
        key = (request.execution_id, target.door, target.provider.model, target.native_tools)
        digests = digest_messages(request.messages)
        conversation = self._resume(key, target, digests)
        asked = ModelRequest(
            messages=conversation.read(request, digests),
            tools=[decode_tool(tool) for tool in request.tools],
            agent=request.agent,
        )
        try:
            async with aclosing(conversation.model.stream(asked)) as chunks:
                async for chunk in chunks:
                    question.answer.hear(chunk)
                    await lane.put(chunk)
        finally:
            if request.execution_id:
                self._conversations.keep(key, conversation, size=request.ByteSize())
        self._keep_state(question)

    def _find_target(self, config: wire.LLMConfig) -> Target:
        written = config.SerializeToString(deterministic=True)
        if written not in self._targets:
            if len(self._targets) >= _MOST_TARGETS:
                self._targets.clear()
            self._targets[written] = self._shelf.find(config)
        return self._targets[written]

    def _resume(self, key: tuple[Any, ...], target: Target, digests: Sequence[bytes]) -> Conversation:
        """One that somebody is asking right now is not there, and another is opened beside it."""
        kept = self._conversations.take(key)
        if kept is not None and kept.goes_on(digests):
            return kept
        gateway = self._open_door(target)
        return Conversation(gateway.open(target.name, target.provider, native_tools=target.native_tools))

    def _open_door(self, target: Target) -> Gateway:
        """One gateway for each address and key, since what fails behind one of them says nothing of the others."""
        if target.door not in self._doors:
            if len(self._doors) >= _MOST_DOORS:
                self._doors.pop(next(iter(self._doors)))
            environ = {**self._gateway.environ, **dict(target.extra)}
            self._doors[target.door] = replace(self._gateway, environ=environ, breakers={})
        return self._doors[target.door]

    def _put_back_states(self, request: wire.GenerateRequest) -> None:
        if request.clear_cache:
            self._states.take(request.execution_id)
        elif (states := self._states.find(request.execution_id)) is not None:
            states.put_back(request.messages)

    def _keep_state(self, question: _Question) -> None:
        """For a caller that cannot keep it."""
        request = question.request
        if request.execution_id and not request.extended and question.answer.state is not None:
            states = self._states.find(request.execution_id) or States()
            question.answer.remember(states)
            self._states.keep(request.execution_id, states, size=states.size)


async def _next_responses(question: _Question, lane: Lane) -> list[wire.GenerateResponse]:
    """What is there by now: one message for a caller that takes bundles, else one for each chunk."""
    waiting = [await lane.get()]
    while not lane.empty():
        waiting.append(lane.get_nowait())
    extended = question.request.extended
    responses = [
        encode_chunk(chunk)
        for chunk in waiting
        if chunk is not None and (extended or not isinstance(chunk, StateChunk | NoticeChunk))
    ]
    if waiting[-1] is None:
        question.is_over = True
        if question.failure is not None:
            responses.append(wire.GenerateResponse(error=encode_failure(question.failure)))
        elif not responses and not extended:
            responses.append(wire.GenerateResponse())
        if responses:
            responses[-1].is_final = True
    if extended and len(responses) > 1:
        return [wire.GenerateResponse(bundle=responses, is_final=question.is_over)]
    return responses


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    port: int
    probe: Probe
    server: grpc.aio.Server

    async def drain(self, seconds: float) -> None:
        """Tells probes, takes no more calls, and lets those under way end in time."""
        await self.probe.close()
        await self.server.stop(seconds)


@asynccontextmanager
async def serve(
    servicer: Servicer, address: str, *, credentials: grpc.ServerCredentials | None = None
) -> AsyncGenerator[Listening]:
    """Serves from here to the end of the block. Raises OSError when the address cannot be had."""
    server = grpc.aio.server(options=_OPTIONS)
    probe = Probe(wire.SERVICE)
    await probe.attach(server)
    server.add_generic_rpc_handlers((_describe(servicer),))
    port = _bind(server, address, credentials)
    await server.start()
    try:
        await probe.open()
        yield Listening(port=port, probe=probe, server=server)
    finally:
        await server.stop(None)


def _describe(servicer: Servicer) -> grpc.GenericRpcHandler:
    handler = grpc.unary_stream_rpc_method_handler(
        servicer.generate,
        request_deserializer=wire.GenerateRequest.FromString,
        response_serializer=wire.GenerateResponse.SerializeToString,
    )
    return grpc.method_handlers_generic_handler(wire.SERVICE, {wire.GENERATE: handler})


def _bind(server: grpc.aio.Server, address: str, credentials: grpc.ServerCredentials | None) -> int:
    try:
        if credentials is None:
            return server.add_insecure_port(address)
        return server.add_secure_port(address, credentials)
    except RuntimeError as error:
        raise OSError(f"cannot listen on {address}: {_find_reason(address)}") from error


def _find_reason(address: str) -> str:
    """The kernel says why; gRPC only that it could not."""
    host, _, port = address.rpartition(":")
    family = socket.AF_INET6 if host.startswith("[") else socket.AF_INET
    try:
        with socket.create_server((host.strip("[]"), int(port)), family=family):
            return "gRPC refused to"
    except OSError as error:
        return (error.strerror or str(error)).partition(" (")[0]
