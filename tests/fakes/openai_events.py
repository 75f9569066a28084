"""Scripted turns written out as the events of a streamed chat completion, in OpenAI's own shapes."""

from collections.abc import Iterator, Mapping
from typing import Any

from midwatch.domain.messages import Usage
from midwatch.kit import json
from midwatch.llm.scripted import ScriptedTurn, cut, provider_id
from midwatch.llm.toolnames import encode_name
from tests import canaries

DONE = b"data: [DONE]\n\n"


def list_events(turn: ScriptedTurn, *, number: int = 0) -> list[bytes]:
    """The n-th turn, event by event."""
    reason = "tool_calls" if turn.calls else "stop"
    return [
        delta_event({"role": "assistant", "content": ""}),
        *(delta_event({"reasoning_content": piece}) for piece in cut(turn.thinking, turn.chunk_size)),
        *(delta_event({"content": piece}) for piece in cut(turn.text, turn.chunk_size)),
        *(delta_event({"tool_calls": [delta]}) for delta in _call_deltas(turn, number)),
        delta_event({}, finish_reason=reason),
        usage_event(turn.usage),
        DONE,
    ]


def delta_event(delta: Mapping[str, Any], *, finish_reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": dict(delta), "finish_reason": finish_reason}
    return event({"id": "chatcmpl-fake", "object": "chat.completion.chunk", "choices": [choice]})


def usage_event(usage: Usage) -> bytes:
    counts = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "completion_tokens_details": {"reasoning_tokens": usage.thinking_tokens},
        "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
    }
    return event({"id": "chatcmpl-fake", "object": "chat.completion.chunk", "choices": [], "usage": counts})


def event(payload: Mapping[str, Any]) -> bytes:
    return b"data: " + json.encode({**payload, "system_fingerprint": canaries.RAW}) + b"\n\n"


def _call_deltas(turn: ScriptedTurn, number: int) -> Iterator[dict[str, Any]]:
    for index, call in enumerate(turn.calls):
        opening = {"name": encode_name(call.name), "arguments": ""}
        yield {"index": index, "id": provider_id(number, index), "type": "function", "function": opening}
        for piece in cut(call.arguments_text, turn.chunk_size):
            yield {"index": index, "function": {"arguments": piece}}
