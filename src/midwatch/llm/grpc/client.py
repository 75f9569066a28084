"""Models behind an LLM service in another process: the same chunks and the same failures, and no key here."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import final

import grpc
import grpc.aio
import structlog

from midwatch.config.llm import Provider
from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Message
from midwatch.domain.tools import ToolDefinition
from midwatch.kit.clock import boottime
from midwatch.kit.ids import new_id
from midwatch.llm.breaker import Breaker
from midwatch.llm.failures import ProviderFailure, quote_provider
from midwatch.llm.grpc import messages as wire
from midwatch.llm.grpc.targets import encode_config
from midwatch.llm.grpc.translation import decode_chunks, encode_message, encode_tool
from midwatch.llm.model import Chunk, Model, ModelRequest, NoteSent, Sent
from midwatch.llm.retry import BACKOFF, Sleep, stream_with_retries

DEADLINE = 600.0
"""Seconds. Whoever asks has shorter limits of its own; this one is for a service that outlives them."""
_PATH = f"/{wire.SERVICE}/{wire.GENERATE}"
_OPTIONS = (
    ("grpc.max_receive_message_length", wire.MESSAGE_LIMIT),
    ("grpc.max_send_message_length", wire.MESSAGE_LIMIT),
    # A service that was restarted is found again within about a second.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.min_reconnect_backoff_ms", 1_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    # Several replicas behind one name share the calls.
    ("grpc.service_config", '{"loadBalancingConfig": [{"round_robin": {}}]}'),
)
_REFUSED = frozenset({grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED})
_NOT_UNDERSTOOD = frozenset(
    {grpc.StatusCode.UNIMPLEMENTED, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND}
)

Generate = grpc.aio.UnaryStreamMultiCallable[bytes, wire.GenerateResponse]


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """One channel to the LLM service, shared by all conversations of this process."""

    address: str
    generate: Generate = field(repr=False)
    token: str | None = field(default=None, repr=False)
    environ: Mapping[str, str] = field(repr=False)
    """Where the names of projects and locations may be."""
    breaker: Breaker
    backoff: Sequence[float] = BACKOFF
    sleep: Sleep = asyncio.sleep
    deadline: float = DEADLINE

    def open(self, name: str, provider: Provider, *, native_tools: frozenset[str] = frozenset()) -> Model:
        config = encode_config(name, provider, native_tools=native_tools, environ=self.environ)
        return GrpcModel(service=self, config=config)


@asynccontextmanager
async def connect(
    address: str,
    *,
    environ: Mapping[str, str],
    token: str | None = None,
    roots: bytes | None = None,
    backoff: Sequence[float] = BACKOFF,
    sleep: Sleep = asyncio.sleep,
    deadline: float = DEADLINE,
) -> AsyncGenerator[Service]:
    """Nobody is called yet. With `roots`, certificates to trust, the channel is encrypted."""
    channel = (
        grpc.aio.insecure_channel(address, options=_OPTIONS)
        if roots is None
        else grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(roots or None), options=_OPTIONS)
    )
    async with channel:
        generate: Generate = channel.unary_stream(
            _PATH, request_serializer=bytes, response_deserializer=wire.GenerateResponse.FromString
        )
        yield Service(
            address=address,
            generate=generate,
            token=token,
            environ=environ,
            breaker=Breaker(provider=f"LLM service {address}"),
            backoff=backoff,
            sleep=sleep,
            deadline=deadline,
        )


@final
class GrpcModel:
    """One conversation, whose encoded messages are kept."""

    def __init__(self, *, service: Service, config: wire.LLMConfig) -> None:
        self.provider = config.entry
        self.name = config.model
        self._service = service
        self._config = config
        self._execution_id = new_id().hex
        self._kept: dict[int, tuple[Message, bytes]] = {}
        self._tools: tuple[tuple[ToolDefinition, ...], bytes] = ((), b"")

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """The service itself has asked again where that could help: only a service that is away is tried again."""
        body = self._encode(request)
        sent = Sent(provider=self.provider, model=self.name, host=self._service.address, path=_PATH, body=body)
        attempt = _Attempt(self._service, sent, request.note_sent)
        trying = stream_with_retries(
            attempt.run, breaker=self._service.breaker, backoff=self._service.backoff, sleep=self._service.sleep
        )
        async with aclosing(trying) as chunks:
            async for chunk in chunks:
                yield chunk
        if attempt.reported is not None:
            raise attempt.reported

    def _encode(self, request: ModelRequest) -> bytes:
        """Messages are fields of their own on the wire, so each is written once and all are joined."""
        head = wire.GenerateRequest(
            session_id=str(structlog.contextvars.get_contextvars().get("session_id", "")),
            execution_id=self._execution_id,
            llm_config=self._config,
            extended=True,
            agent=request.agent,
        )
        pieces = [self._encode_message(message) for message in request.messages]
        body = b"".join((head.SerializeToString(), self._encode_tools(request.tools), *pieces))
        if len(body) > wire.MESSAGE_LIMIT:
            told = f"the conversation takes {len(body)} bytes, and the LLM service takes {wire.MESSAGE_LIMIT}"
            raise ModelUnavailable(told, code="context_too_long", retryable=False)
        return body

    def _encode_message(self, message: Message) -> bytes:
        # A message is kept with its piece, so that no other can take over its identity.
        kept = self._kept.get(id(message))
        if kept is None:
            piece = wire.GenerateRequest(messages=[encode_message(message)]).SerializeToString()
            kept = self._kept[id(message)] = (message, piece)
        return kept[1]

    def _encode_tools(self, tools: Sequence[ToolDefinition]) -> bytes:
        if self._tools[0] != tuple(tools):
            encoded = wire.GenerateRequest(tools=[encode_tool(tool) for tool in tools]).SerializeToString()
            self._tools = (tuple(tools), encoded)
        return self._tools[1]


@dataclass(slots=True)
class _Attempt:
    service: Service
    sent: Sent
    note_sent: NoteSent
    reported: ModelUnavailable | None = None
    """What the service said of the provider."""

    async def run(self) -> AsyncGenerator[Chunk]:
        service = self.service
        metadata = (("authorization", f"Bearer {service.token}"),) if service.token else None
        self.note_sent(replace(self.sent, sent_at=boottime()))
        call = service.generate(self.sent.body, timeout=service.deadline, metadata=metadata)
        is_answering = False
        try:
            async for response in call:
                for chunk in decode_chunks(response):
                    yield chunk
                is_answering = True
        except ProviderFailure as failure:
            self.reported = failure
        except grpc.aio.AioRpcError as error:
            raise _explain(error, service, is_answering=is_answering) from error
        finally:
            call.cancel()


def _explain(error: grpc.aio.AioRpcError, service: Service, *, is_answering: bool) -> ProviderFailure:
    code, retryable = _judge(error.code(), is_answering=is_answering)
    said = quote_provider(error.details() or "no reason given", api_key=service.token)
    return ProviderFailure(f"LLM service {service.address}: {said}", code=code, retryable=retryable)


def _judge(status: grpc.StatusCode, *, is_answering: bool) -> tuple[str, bool]:
    if status in _REFUSED:
        return "credentials", False
    if status in _NOT_UNDERSTOOD:
        return "invalid_request", False
    if status is grpc.StatusCode.RESOURCE_EXHAUSTED and not is_answering:
        return "context_too_long", False
    if status is grpc.StatusCode.DEADLINE_EXCEEDED:
        return "call_timeout", True
    return ("partial_stream_error" if is_answering else "provider_error"), True
