"""Events in the right frame with the wrong things in them: read without harm, or refused as the provider's failure."""

import json
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Usage
from midwatch.llm.model import CallChunk, Chunk, UsageChunk
from midwatch.llm.providers.anthropic.response import StreamDecoder as MessagesDecoder
from midwatch.llm.providers.google.response import StreamDecoder as GeminiDecoder
from midwatch.llm.providers.openai.response import StreamDecoder as ChatDecoder
from midwatch.llm.providers.openai.responses_response import ResponsesDecoder
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.llm.toolnames import build_names
from midwatch.llm.wire import Decoder
from tests.fakes.protocols import ALL, Spoken

Path = tuple[str | int, ...]

EVERYTHING = ScriptedTurn(
    thinking="hm",
    text="hello",
    calls=(ScriptedCall(name="deck.echo", arguments={"n": 1}), ScriptedCall(name="deck.echo", arguments={"m": [2]})),
    usage=Usage(input_tokens=3, output_tokens=4, thinking_tokens=1),
)
DECODERS: dict[str, Callable[[], Decoder]] = {
    "chat": lambda: ChatDecoder(build_names(())),
    "responses": lambda: ResponsesDecoder(build_names(())),
    "messages": lambda: MessagesDecoder(build_names(())),
    "gemini": lambda: GeminiDecoder(build_names(()), label="google/gemini"),
}
COUNTS = ("input_tokens", "output_tokens", "thinking_tokens", "cache_read_tokens", "cache_write_tokens")
MOST_STORED = 2**31 - 1


def bury(depth: int) -> object:
    value: object = {}
    for _ in range(depth):
        value = {"a": [value]}
    return value


ODD: tuple[Any, ...] = (None, 7, -1, 2**63, 1.5, True, "", "x\ud800", [], [[]], {}, {"a": [1]}, [None], bury(150))


def list_paths(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from list_paths(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(cast("list[Any]", value)):
            yield from list_paths(inner, (*path, index))


def put(value: Any, path: Path, odd: object) -> Any:
    if not path:
        return odd
    changed = value.copy()
    changed[path[0]] = put(value[path[0]], path[1:], odd)
    return changed


def list_odd_streams(events: list[bytes]) -> Iterator[list[bytes]]:
    """Every place of every event, with every odd thing in it."""
    for index, event in enumerate(events):
        frame, _, payload = event.partition(b"data: ")
        if payload.startswith(b"[DONE]"):
            continue
        whole = json.loads(payload)
        for path in list_paths(whole):
            for odd in ODD:
                changed = frame + b"data: " + json.dumps(put(whole, path, odd)).encode() + b"\n\n"
                yield [*events[:index], changed, *events[index + 1 :]]


def read(decoder: Decoder, events: list[bytes]) -> list[Chunk]:
    chunks: list[Chunk] = []
    try:
        for event in events:
            chunks += decoder.feed(event)
        chunks += decoder.finish()
    except ModelUnavailable as failure:
        assert failure.code in {"provider_error", "partial_stream_error", "answer_too_long", "content_filter"}  # noqa: PT017
    return chunks


@pytest.mark.parametrize("spoken", ALL, ids=lambda spoken: spoken.name)
def test_odd_things_in_an_answer_do_no_harm(spoken: Spoken) -> None:
    tried = 0
    for events in list_odd_streams(spoken.dialect.list_events(EVERYTHING, 0)):
        tried += 1
        for chunk in read(DECODERS[spoken.name](), events):
            if isinstance(chunk, UsageChunk):
                counts = [getattr(chunk.usage, name) for name in COUNTS]
                assert all(count >= 0 for count in counts)
                assert chunk.usage.total_tokens <= MOST_STORED
            if isinstance(chunk, CallChunk):
                chunk.arguments.encode()
    assert tried > 500
