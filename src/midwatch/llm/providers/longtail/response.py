"""The events of pydantic-ai's streams, read into chunks. Pure: knows nothing of the network."""

from collections.abc import Iterator
from dataclasses import replace

from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
    ToolCallPart,
)
from pydantic_ai.usage import RequestUsage

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Usage
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.failures import cut_in_a_call, declined
from midwatch.llm.loose_json import read_count, read_object
from midwatch.llm.model import CallChunk, Chunk, StateChunk, TextChunk, ThinkingChunk, UsageChunk
from midwatch.llm.provider_state import pack_state
from midwatch.llm.providers.longtail.request import LABEL
from midwatch.llm.toolnames import ToolNames
from midwatch.llm.voices import Voice

_TACITURN = frozenset({"snowflake", "xai"})
"""Providers of which the library does not hand on what they said themselves about the end."""
_LEFT_OUT = frozenset({"usage", "provider_url"})


class AnswerReader:
    """Reads one answer: words and thoughts as they come, calls and counts when it is whole."""

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._text = Voice(TextChunk)
        self._thinking = Voice(ThinkingChunk)

    def read(self, event: ModelResponseStreamEvent) -> Iterator[Chunk]:
        match event:
            case PartStartEvent(index=index, part=TextPart(content=piece)):
                yield from self._text.say(piece, block=index)
            case PartStartEvent(index=index, part=ThinkingPart(content=piece)):
                yield from self._thinking.say(piece, block=index)
            case PartDeltaEvent(index=index, delta=TextPartDelta(content_delta=piece)):
                yield from self._text.say(piece, block=index)
            case PartDeltaEvent(index=index, delta=ThinkingPartDelta(content_delta=piece)):
                yield from self._thinking.say(piece, block=index)
            case _:
                pass

    def finish(self, response: ModelResponse) -> Iterator[Chunk]:
        """Raises ModelUnavailable if the answer broke off, was cut in a call, or was declined."""
        _judge_finish(response)
        response = _with_distinct_ids(response)
        for call in _list_calls(response):
            name = self._names.decode(call.tool_name)
            yield CallChunk(provider_id=call.tool_call_id, name=name, arguments=_write_arguments(call))
        if state := _pack(response):
            yield StateChunk(state=state)
        if usage := _read_usage(response.usage):
            yield UsageChunk(usage=usage)


def is_whole(response: ModelResponse) -> bool:
    """The provider itself said why it ended. Where it said nothing, the library fills in that all is well."""
    if response.finish_reason != "stop" or response.provider_name in _TACITURN:
        return response.finish_reason is not None
    return "finish_reason" in (response.provider_details or {})


def _judge_finish(response: ModelResponse) -> None:
    """An answer cut for length is an answer, unless the cut went through a call."""
    if response.finish_reason == "content_filter":
        raise declined()
    if not is_whole(response):
        raise ModelUnavailable("the answer broke off", code="partial_stream_error", retryable=True)
    if response.finish_reason == "length" and _ends_in_half_a_call(response):
        raise cut_in_a_call()


def _ends_in_half_a_call(response: ModelResponse) -> bool:
    last = response.parts[-1] if response.parts else None
    return isinstance(last, ToolCallPart) and read_object(_write_arguments(last)) is None


def _list_calls(response: ModelResponse) -> list[ToolCallPart]:
    return [part for part in response.parts if isinstance(part, ToolCallPart)]


def _with_distinct_ids(response: ModelResponse) -> ModelResponse:
    used: set[str] = set()
    parts: list[ModelResponsePart] = []
    for part in response.parts:
        if not isinstance(part, ToolCallPart):
            parts.append(part)
            continue
        is_free = part.tool_call_id and part.tool_call_id not in used
        call_id = part.tool_call_id if is_free else f"call_{new_id().hex}"
        used.add(call_id)
        parts.append(replace(part, tool_call_id=call_id))
    return replace(response, parts=parts)


def _write_arguments(call: ToolCallPart) -> str:
    if isinstance(call.args, dict):
        return json.encode_text(call.args)
    return call.args if call.args and call.args.strip() else "{}"


def _pack(response: ModelResponse) -> bytes | None:
    """None where the provider wants nothing back. Arguments stand with the calls already; an address may be secret."""
    if not any(_is_wanted_back(part) for part in response.parts):
        return None
    parts = [replace(part, args=None) if isinstance(part, ToolCallPart) else part for part in response.parts]
    (dumped,) = ModelMessagesTypeAdapter.dump_python([replace(response, parts=parts)], mode="json", exclude_none=True)
    return pack_state(LABEL, [{key: value for key, value in dumped.items() if key not in _LEFT_OUT}])


def _is_wanted_back(part: ModelResponsePart) -> bool:
    marks = ("signature", "id", "provider_details")
    return any(getattr(part, mark, None) for mark in marks)


def _read_usage(usage: RequestUsage) -> Usage | None:
    """None where nothing was counted, which is not the same as nothing used."""
    fields = vars(usage)
    read = Usage(
        input_tokens=read_count(fields, "input_tokens"),
        output_tokens=read_count(fields, "output_tokens"),
        thinking_tokens=read_count(fields, "output_reasoning_tokens"),
        cache_read_tokens=read_count(fields, "cache_read_tokens"),
        cache_write_tokens=read_count(fields, "cache_write_tokens"),
    )
    return read if read.total_tokens else None
