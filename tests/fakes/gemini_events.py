"""Scripted turns written out as the events of a streamed generateContent answer, in Google's own shapes."""

from collections.abc import Iterator, Mapping
from typing import Any

from midwatch.domain.messages import Usage
from midwatch.kit import json
from midwatch.llm.providers.google.request import wire_name
from midwatch.llm.scripted import ScriptedTurn, cut, provider_id

Part = Mapping[str, Any]


def list_events(turn: ScriptedTurn, number: int = 0) -> list[bytes]:
    """The n-th turn, event by event. The last one has the finish reason and the usage, as with Google."""
    parts = [
        *({"text": piece, "thought": True} for piece in cut(turn.thinking, turn.chunk_size)),
        *({"text": piece} for piece in cut(turn.text, turn.chunk_size)),
        *_call_parts(turn, number),
    ]
    return [*(event(part) for part in parts), event(finish="STOP", usageMetadata=count(turn.usage))]


def event(*parts: Part, finish: str | None = None, candidate: Mapping[str, Any] | None = None, **others: Any) -> bytes:
    said: dict[str, Any] = {"content": {"role": "model", "parts": [dict(part) for part in parts]}, "index": 0}
    if finish is not None:
        said["finishReason"] = finish
    return write({"candidates": [{**said, **(candidate or {})}], "modelVersion": "fake", **others})


def write(payload: object) -> bytes:
    return b"data: " + json.encode(payload) + b"\r\n\r\n"


def count(usage: Usage) -> dict[str, int]:
    return {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": usage.output_tokens - usage.thinking_tokens,
        "thoughtsTokenCount": usage.thinking_tokens,
        "cachedContentTokenCount": usage.cache_read_tokens,
        "totalTokenCount": usage.total_tokens,
    }


def _call_parts(turn: ScriptedTurn, number: int) -> Iterator[Part]:
    """Only the first of several calls is signed."""
    for index, call in enumerate(turn.calls):
        name, arguments = wire_name(call.name), json.decode(call.arguments_text)
        part: dict[str, Any] = {"functionCall": {"id": provider_id(number, index), "name": name, "args": arguments}}
        yield {**part, "thoughtSignature": f"signature-{number}"} if index == 0 else part
