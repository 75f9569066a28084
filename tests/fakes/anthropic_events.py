"""Scripted turns written out as the events of a streamed message, in Anthropic's own shapes."""

from collections.abc import Iterator, Mapping
from typing import Any

from midwatch.domain.messages import Usage
from midwatch.kit import json
from midwatch.llm.scripted import ScriptedTurn, cut, provider_id
from midwatch.llm.toolnames import encode_name

PING = b'event: ping\ndata: {"type": "ping"}\n\n'


def list_events(turn: ScriptedTurn, number: int = 0) -> list[bytes]:
    """The n-th turn, event by event."""
    return [
        start_event(turn.usage),
        PING,
        *_list_blocks(turn, number),
        stop_event("tool_use" if turn.calls else "end_turn", usage=turn.usage),
        event({"type": "message_stop"}),
    ]


def event(payload: Mapping[str, Any]) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (str(payload["type"]).encode(), json.encode(dict(payload)))


def start_event(usage: Usage | None = None) -> bytes:
    message: dict[str, Any] = {
        "id": "msg_fake",
        "type": "message",
        "role": "assistant",
        "content": [],
        "stop_reason": None,
    }
    return event({"type": "message_start", "message": {**message, "usage": _count_input(usage or Usage())}})


def stop_event(reason: str, *, usage: Usage | None = None, **details: Any) -> bytes:
    counts = {"output_tokens": (usage or Usage()).output_tokens}
    return event({"type": "message_delta", "delta": {"stop_reason": reason, **details}, "usage": counts})


def block_events(index: int, content: Mapping[str, Any], *deltas: Mapping[str, Any], stop: bool = True) -> list[bytes]:
    events = [{"type": "content_block_start", "index": index, "content_block": dict(content)}]
    events += [{"type": "content_block_delta", "index": index, "delta": dict(delta)} for delta in deltas]
    if stop:
        events.append({"type": "content_block_stop", "index": index})
    return [event(payload) for payload in events]


def text_block(index: int, *pieces: str) -> list[bytes]:
    deltas = ({"type": "text_delta", "text": piece} for piece in pieces)
    return block_events(index, {"type": "text", "text": ""}, *deltas)


def thinking_block(index: int, *pieces: str, signature: str = "sig") -> list[bytes]:
    deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces]
    if signature:
        deltas.append({"type": "signature_delta", "signature": signature})
    return block_events(index, {"type": "thinking", "thinking": "", "signature": ""}, *deltas)


def call_block(index: int, call_id: str, name: str, *pieces: str, stop: bool = True) -> list[bytes]:
    content: dict[str, Any] = {"type": "tool_use", "id": call_id, "name": encode_name(name), "input": {}}
    deltas = ({"type": "input_json_delta", "partial_json": piece} for piece in pieces)
    return block_events(index, content, *deltas, stop=stop)


def _list_blocks(turn: ScriptedTurn, number: int) -> Iterator[bytes]:
    index = 0
    if turn.thinking:
        yield from thinking_block(index, *cut(turn.thinking, turn.chunk_size), signature=f"sig-{number}")
        index += 1
    if turn.text:
        yield from text_block(index, *cut(turn.text, turn.chunk_size))
        index += 1
    for place, call in enumerate(turn.calls):
        pieces = ["", *cut(call.arguments_text, turn.chunk_size)]
        yield from call_block(index + place, provider_id(number, place), call.name, *pieces)


def _count_input(usage: Usage) -> dict[str, int]:
    """What went through the cache is counted apart."""
    cached = usage.cache_read_tokens + usage.cache_write_tokens
    return {
        "input_tokens": usage.input_tokens - cached,
        "cache_read_input_tokens": usage.cache_read_tokens,
        "cache_creation_input_tokens": usage.cache_write_tokens,
        "output_tokens": 1,
    }
