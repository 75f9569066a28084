"""Our words for a conversation and an answer, and those of `llm.proto`, both ways. Pure."""

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any, TypeVar, assert_never, cast
from uuid import UUID

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import (
    AssistantMessage,
    Message,
    Role,
    SystemMessage,
    ToolMessage,
    Usage,
    UserMessage,
)
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit import json
from midwatch.kit.json import clean_text
from midwatch.llm.failures import ProviderFailure
from midwatch.llm.grpc import messages as wire
from midwatch.llm.model import (
    CallChunk,
    Chunk,
    CodeChunk,
    GroundingChunk,
    NoticeChunk,
    Source,
    StateChunk,
    Support,
    TextChunk,
    ThinkingChunk,
    UsageChunk,
)

_NATIVE = "native"
_PYTHON = "python"
_MOST = 2**31 - 1
_UUID_BYTES = 16

T = TypeVar("T")
Clean = Callable[[str], str]


class Untranslatable(ModelUnavailable):
    """The caller sent what is no conversation."""

    def __init__(self, message: str) -> None:
        super().__init__(message, code="invalid_request", retryable=False)


def encode_message(message: Message) -> wire.ConversationMessage:
    return _with_whole_texts(lambda clean: _encode_message(message, clean))


def decode_message(message: wire.ConversationMessage, *, place: int, bare: Container[str] = ()) -> Message:
    """`place` is where it stands in the conversation; `bare` are tools of no server. Raises Untranslatable."""
    match message.role:
        case Role.SYSTEM:
            return SystemMessage(text=message.content)
        case Role.USER:
            return UserMessage(text=message.content)
        case Role.ASSISTANT:
            return AssistantMessage(
                text=message.content,
                thinking=message.thinking,
                calls=tuple(
                    _decode_call(call, f"{place}.{index}", bare) for index, call in enumerate(message.tool_calls)
                ),
                provider_state=message.provider_state if message.HasField("provider_state") else None,
            )
        case Role.TOOL:
            return ToolMessage(
                provider_id=message.tool_call_id,
                name=_decode_name(message.tool_name, bare),
                content=message.content,
                is_error=message.is_error,
            )
        case role:
            raise Untranslatable(f"message {place} has the role {role[:50]!r}, which nobody has")


def encode_tool(tool: ToolDefinition) -> wire.ToolDefinition:
    return _with_whole_texts(
        lambda clean: wire.ToolDefinition(
            name=clean(_encode_name(tool.full_name)),
            description=clean(tool.description),
            parameters_schema=json.encode_text(tool.schema),
        )
    )


def decode_tool(tool: wire.ToolDefinition) -> ToolDefinition:
    """Raises Untranslatable."""
    server, _, name = _decode_name(tool.name, (tool.name,)).partition(".")
    return ToolDefinition(server=server, name=name, description=tool.description, schema=_decode_schema(tool))


def list_bare(tools: Iterable[wire.ToolDefinition]) -> frozenset[str]:
    """The tools that belong to no server: their names have no dot, and ours one in front."""
    return frozenset(tool.name for tool in tools if "." not in tool.name)


def encode_chunk(chunk: Chunk) -> wire.GenerateResponse:
    return _with_whole_texts(lambda clean: _encode_chunk(chunk, clean))


def decode_chunks(response: wire.GenerateResponse) -> Iterator[Chunk]:
    """Nothing for what only a newer service could say. Raises ModelUnavailable for an error."""
    if response.bundle:
        for piece in response.bundle:
            yield from decode_chunks(piece)
        return
    chunk = _decode_content(response)
    if chunk is not None:
        yield chunk
    if response.HasField("provider_state"):
        yield StateChunk(state=response.provider_state)


def encode_failure(failure: ModelUnavailable) -> wire.ErrorInfo:
    asked = failure.retry_after if isinstance(failure, ProviderFailure) else None
    return _with_whole_texts(
        lambda clean: wire.ErrorInfo(
            message=clean(str(failure)),
            code=failure.code,
            retryable=failure.retryable,
            feedback=clean(failure.feedback or ""),
            retry_after=asked,
        )
    )


def decode_failure(error: wire.ErrorInfo) -> ProviderFailure:
    asked = error.retry_after if error.HasField("retry_after") else None
    failure = ProviderFailure(error.message, code=error.code, retryable=error.retryable, retry_after=asked)
    failure.feedback = error.feedback or None
    return failure


def _encode_message(message: Message, clean: Clean) -> wire.ConversationMessage:
    match message:
        case SystemMessage():
            return wire.ConversationMessage(role=Role.SYSTEM, content=clean(message.text))
        case UserMessage():
            return wire.ConversationMessage(role=Role.USER, content=clean(message.text))
        case AssistantMessage():
            return wire.ConversationMessage(
                role=Role.ASSISTANT,
                content=clean(message.text),
                tool_calls=[_encode_call(call, clean) for call in message.calls],
                provider_state=message.provider_state,
                thinking=clean(message.thinking),
            )
        case ToolMessage():
            return wire.ConversationMessage(
                role=Role.TOOL,
                content=clean(message.content),
                tool_call_id=clean(message.provider_id),
                tool_name=clean(_encode_name(message.name)),
                is_error=message.is_error,
            )
        case _ as never:
            assert_never(never)


def _encode_call(call: ToolCall, clean: Clean) -> wire.ToolCall:
    return wire.ToolCall(
        id=clean(call.provider_id),
        name=clean(_encode_name(call.name)),
        arguments=clean(call.arguments),
        call_id=call.call_id.bytes,
    )


def _decode_call(call: wire.ToolCall, place: str, bare: Container[str]) -> ToolCall:
    # The same every time the conversation is sent: what depends on it may be cached by the provider.
    made_up = hashlib.sha256(f"{place}:{call.id}".encode()).digest()[:_UUID_BYTES]
    known = call.call_id if len(call.call_id) == _UUID_BYTES else made_up
    return ToolCall(
        call_id=UUID(bytes=known), provider_id=call.id, name=_decode_name(call.name, bare), arguments=call.arguments
    )


def _decode_schema(tool: wire.ToolDefinition) -> dict[str, Any]:
    try:
        schema = json.decode(tool.parameters_schema or "{}")
    except ValueError as error:
        raise Untranslatable(f"the schema of tool {tool.name[:100]} is not JSON") from error
    if not isinstance(schema, dict):
        raise Untranslatable(f"the schema of tool {tool.name[:100]} is no object")
    return cast("dict[str, Any]", schema)


def _encode_chunk(chunk: Chunk, clean: Clean) -> wire.GenerateResponse:
    match chunk:
        case TextChunk():
            return wire.GenerateResponse(text=wire.TextDelta(content=clean(chunk.text)))
        case ThinkingChunk():
            source = "" if chunk.source == _NATIVE else chunk.source
            return wire.GenerateResponse(thinking=wire.ThinkingDelta(content=clean(chunk.text), source=source))
        case CallChunk():
            call = wire.ToolCallDelta(
                call_id=clean(chunk.provider_id), name=clean(_encode_name(chunk.name)), arguments=clean(chunk.arguments)
            )
            return wire.GenerateResponse(tool_call=call)
        case UsageChunk():
            return wire.GenerateResponse(usage=_encode_usage(chunk.usage))
        case StateChunk():
            return wire.GenerateResponse(provider_state=chunk.state)
        case NoticeChunk() | CodeChunk() | GroundingChunk():
            return _encode_aside(chunk, clean)
        case _ as never:
            assert_never(never)


def _encode_aside(chunk: NoticeChunk | CodeChunk | GroundingChunk, clean: Clean) -> wire.GenerateResponse:
    match chunk:
        case NoticeChunk():
            return wire.GenerateResponse(notice=wire.NoticeInfo(code=chunk.code, message=clean(chunk.message)))
        case CodeChunk():
            code = wire.CodeExecutionDelta(
                code=clean(chunk.code),
                result=clean(chunk.output),
                language="" if chunk.language == _PYTHON else clean(chunk.language),
                is_error=chunk.is_error,
            )
            return wire.GenerateResponse(code_execution=code)
        case GroundingChunk():
            return wire.GenerateResponse(grounding=_encode_grounding(chunk, clean))
        case _ as never:
            assert_never(never)


def _encode_grounding(chunk: GroundingChunk, clean: Clean) -> wire.GroundingDelta:
    return wire.GroundingDelta(
        web_search_queries=[clean(query) for query in chunk.queries],
        grounding_chunks=[
            wire.GroundingChunkInfo(uri=clean(source.uri), title=clean(source.title)) for source in chunk.sources
        ],
        grounding_supports=[
            wire.GroundingSupport(text=clean(support.text), grounding_chunk_indices=map(_fit, support.sources))
            for support in chunk.supports
        ],
    )


def _encode_usage(usage: Usage) -> wire.UsageInfo:
    return wire.UsageInfo(
        input_tokens=_fit(usage.input_tokens),
        output_tokens=_fit(usage.output_tokens),
        total_tokens=_fit(usage.total_tokens),
        thinking_tokens=_fit(usage.thinking_tokens),
        cache_read_tokens=_fit(usage.cache_read_tokens),
        cache_creation_tokens=_fit(usage.cache_write_tokens),
    )


def _decode_content(response: wire.GenerateResponse) -> Chunk | None:
    match response.WhichOneof("content"):
        case "text":
            return TextChunk(text=response.text.content)
        case "thinking":
            return ThinkingChunk(text=response.thinking.content, source=response.thinking.source or _NATIVE)
        case "tool_call":
            call = response.tool_call
            return CallChunk(provider_id=call.call_id, name=call.name, arguments=call.arguments)
        case "usage":
            return UsageChunk(usage=_decode_usage(response.usage))
        case "error":
            raise decode_failure(response.error)
        case "notice" | "code_execution" | "grounding":
            return _decode_aside(response)
        case _:
            return None


def _decode_aside(response: wire.GenerateResponse) -> NoticeChunk | CodeChunk | GroundingChunk:
    if response.HasField("notice"):
        return NoticeChunk(code=response.notice.code, message=response.notice.message)
    if response.HasField("code_execution"):
        run = response.code_execution
        return CodeChunk(code=run.code, output=run.result, language=run.language or _PYTHON, is_error=run.is_error)
    found = response.grounding
    return GroundingChunk(
        queries=tuple(found.web_search_queries),
        sources=tuple(Source(uri=source.uri, title=source.title) for source in found.grounding_chunks),
        supports=tuple(
            Support(text=support.text, sources=tuple(support.grounding_chunk_indices))
            for support in found.grounding_supports
        ),
    )


def _decode_usage(usage: wire.UsageInfo) -> Usage:
    return Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        thinking_tokens=usage.thinking_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_creation_tokens,
    )


def _with_whole_texts(build: Callable[[Clean], T]) -> T:
    """Half characters, which no message can hold, are replaced where there are any; to look for them costs too much."""
    try:
        return build(_as_it_is)
    except UnicodeEncodeError:
        return build(clean_text)


def _as_it_is(text: str) -> str:
    return text


def _encode_name(name: str) -> str:
    return name.removeprefix(".")


def _decode_name(name: str, bare: Container[str]) -> str:
    return f".{name}" if "." not in name and name in bare else name


def _fit(number: int) -> int:
    return min(max(number, 0), _MOST)
