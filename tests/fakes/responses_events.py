"""Scripted turns written out as the events of a streamed response, in OpenAI's own shapes."""

from collections.abc import Iterator, Mapping
from typing import Any

from midwatch.domain.messages import Usage
from midwatch.kit import json
from midwatch.llm.scripted import ScriptedTurn, cut, provider_id
from midwatch.llm.toolnames import encode_name

Payload = Mapping[str, Any]


def list_events(turn: ScriptedTurn, number: int = 0) -> list[bytes]:
    """The n-th turn, event by event."""
    return [
        event({"type": "response.created", "response": {"id": "resp_fake", "status": "in_progress"}}),
        *_list_items(turn, number),
        end_event(usage=turn.usage),
    ]


def event(payload: Payload) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (str(payload["type"]).encode(), json.encode(dict(payload)))


def end_event(*, usage: Usage | None = None, incomplete: str | None = None) -> bytes:
    status = "incomplete" if incomplete else "completed"
    response: dict[str, Any] = {"id": "resp_fake", "status": status, "error": None, "usage": _count(usage or Usage())}
    response["incomplete_details"] = {"reason": incomplete} if incomplete else None
    return event({"type": f"response.{status}", "response": response})


def fail_event(code: str, message: str) -> bytes:
    response = {"id": "resp_fake", "status": "failed", "error": {"code": code, "message": message}}
    return event({"type": "response.failed", "response": response})


def reasoning_events(index: int, *parts: str, item_id: str = "rs_0", encrypted: str | None = "enc") -> list[bytes]:
    item: dict[str, Any] = {"id": item_id, "type": "reasoning", "summary": []}
    delta: dict[str, Any] = {"type": "response.reasoning_summary_text.delta", "item_id": item_id, "output_index": index}
    deltas = [{**delta, "summary_index": place, "delta": part} for place, part in enumerate(parts)]
    summary = [{"type": "summary_text", "text": part} for part in parts]
    whole = {**item, "summary": summary, "encrypted_content": encrypted, "status": None}
    return [_added(index, item), *map(event, deltas), _done(index, whole)]


def text_events(index: int, *pieces: str, item_id: str = "msg_0", **more: Any) -> list[bytes]:
    item: dict[str, Any] = {"id": item_id, "type": "message", "role": "assistant", "status": "in_progress", **more}
    delta = {"type": "response.output_text.delta", "item_id": item_id, "output_index": index, "content_index": 0}
    content: list[Any] = [{"type": "output_text", "text": "".join(pieces), "annotations": []}]
    whole = {**item, "status": "completed", "content": content}
    return [
        _added(index, {**item, "content": []}),
        *(event({**delta, "delta": piece}) for piece in pieces),
        _done(index, whole),
    ]


def call_events(index: int, call_id: str, name: str, *pieces: str, is_whole: bool = True) -> list[bytes]:
    item_id = f"fc_{index}"
    item: dict[str, Any] = {"id": item_id, "type": "function_call", "call_id": call_id, "name": encode_name(name)}
    item |= {"arguments": "", "status": "in_progress"}
    delta = {"type": "response.function_call_arguments.delta", "item_id": item_id, "output_index": index}
    begun = [_added(index, item), *(event({**delta, "delta": piece}) for piece in pieces)]
    if not is_whole:
        return begun
    return [*begun, _done(index, {**item, "arguments": "".join(pieces), "status": "completed"})]


def _added(index: int, item: Payload) -> bytes:
    return event({"type": "response.output_item.added", "output_index": index, "item": dict(item)})


def _done(index: int, item: Payload) -> bytes:
    return event({"type": "response.output_item.done", "output_index": index, "item": dict(item)})


def _list_items(turn: ScriptedTurn, number: int) -> Iterator[bytes]:
    index = 0
    if turn.thinking:
        yield from reasoning_events(index, turn.thinking, item_id=f"rs_{number}", encrypted=f"enc-{number}")
        index += 1
    if turn.text:
        yield from text_events(index, *cut(turn.text, turn.chunk_size), item_id=f"msg_{number}")
        index += 1
    for place, call in enumerate(turn.calls):
        pieces = cut(call.arguments_text, turn.chunk_size)
        yield from call_events(index + place, provider_id(number, place), call.name, *pieces)


def _count(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.thinking_tokens},
        "total_tokens": usage.total_tokens,
    }
