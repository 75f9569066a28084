"""Streamed responses read into chunks, and the state that brings a reply back as it was."""

from collections.abc import Iterable
from typing import Any

import pytest

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Usage
from midwatch.domain.tools import ToolDefinition
from midwatch.kit import json
from midwatch.llm.model import CallChunk, Chunk, StateChunk, TextChunk, ThinkingChunk, UsageChunk
from midwatch.llm.provider_state import unpack_state
from midwatch.llm.providers.openai.responses_response import ResponsesDecoder
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.llm.toolnames import build_names
from tests.fakes.responses_events import (
    call_events,
    end_event,
    event,
    fail_event,
    list_events,
    reasoning_events,
    text_events,
)

NAMES = build_names([ToolDefinition(server="k8s", name="top.nodes", description="", schema={})])
USAGE = Usage(input_tokens=90, output_tokens=20, thinking_tokens=7, cache_read_tokens=64)
TURN = ScriptedTurn(
    thinking="Hm, «so»",
    text="Ich prüfe das.",
    calls=(ScriptedCall(name="k8s.top.nodes", arguments={"all": True}), ScriptedCall(name="k8s.pods", arguments={})),
    usage=USAGE,
    chunk_size=9,
)
MESSAGE: dict[str, Any] = {
    "id": "msg_0",
    "type": "message",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Ich prüfe das.", "annotations": []}],
}
PARTS: list[dict[str, Any]] = [
    {
        "id": "rs_0",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "Hm, «so»"}],
        "encrypted_content": "enc-0",
    },
    MESSAGE,
    {"id": "fc_2", "type": "function_call", "call_id": "call_0_0", "status": "completed"},
    {"id": "fc_3", "type": "function_call", "call_id": "call_0_1", "status": "completed"},
]
CHUNKS: list[Chunk] = [
    ThinkingChunk(text="Hm, «so»"),
    TextChunk(text="Ich prüfe"),
    TextChunk(text=" das."),
    CallChunk(provider_id="call_0_0", name="k8s.top.nodes", arguments='{"all":true}'),
    CallChunk(provider_id="call_0_1", name="k8s.pods", arguments="{}"),
    StateChunk(state=json.encode({"openai": PARTS})),
    UsageChunk(usage=USAGE),
]
NO_USAGE = UsageChunk(usage=Usage())


def read(pieces: Iterable[bytes]) -> list[Chunk]:
    decoder = ResponsesDecoder(NAMES)
    chunks = [chunk for piece in pieces for chunk in decoder.feed(piece)]
    return [*chunks, *decoder.finish()]


def fail(pieces: Iterable[bytes]) -> tuple[str, bool]:
    with pytest.raises(ModelUnavailable) as caught:
        read(pieces)
    return caught.value.code, caught.value.retryable


def test_however_the_bytes_are_cut_the_chunks_are_the_same() -> None:
    data = b"".join(list_events(TURN))
    assert read([data]) == CHUNKS
    for position in range(len(data)):
        assert read([data[:position], data[position:]]) == CHUNKS
    assert read(data[position : position + 1] for position in range(len(data))) == CHUNKS


def test_line_ends_and_unknown_events_make_no_difference() -> None:
    events = [piece for each in list_events(TURN) for piece in (each, event({"type": "response.brand_new"}))]
    assert read([b"".join(events).replace(b"\n", b"\r\n")]) == CHUNKS
    assert read([b"".join(list_events(TURN)).rstrip()]) == CHUNKS


def test_parts_of_a_summary_and_several_messages_are_told_apart_by_an_empty_line() -> None:
    events = [
        *reasoning_events(0, "one", "two"),
        *text_events(1, "a", item_id="msg_1"),
        *text_events(2, "b", item_id="msg_2"),
        end_event(),
    ]
    chunks = read(events)
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ThinkingChunk)) == "one\n\ntwo"
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)) == "a\n\nb"


def test_words_alone_need_no_state_unless_they_have_a_phase() -> None:
    assert read([*text_events(0, "hello"), end_event()]) == [TextChunk(text="hello"), NO_USAGE]
    state = next(
        chunk.state
        for chunk in read([*text_events(0, "hello", phase="final_answer"), end_event()])
        if isinstance(chunk, StateChunk)
    )
    assert [part["phase"] for part in unpack_state("openai", state)] == ["final_answer"]


def test_reasoning_that_did_not_come_along_does_not_go_back() -> None:
    events = [*reasoning_events(0, "hm", encrypted=None), *text_events(1, "so"), end_event()]
    assert read(events) == [ThinkingChunk(text="hm"), TextChunk(text="so"), NO_USAGE]


def test_a_refusal_is_read_as_text() -> None:
    refusal = event({"type": "response.refusal.delta", "item_id": "m", "delta": "no"})
    assert read([refusal, end_event()])[0] == TextChunk(text="no")


def test_what_comes_after_the_end_is_not_read() -> None:
    events = [*text_events(0, "a"), end_event(), *text_events(1, "b"), b"data: [DONE]\n\n"]
    assert read(events) == [TextChunk(text="a"), NO_USAGE]


def test_no_call_is_given_out_before_the_answer_is_whole() -> None:
    decoder = ResponsesDecoder(NAMES)
    assert list(decoder.feed(b"".join(call_events(0, "x", "a.b", "{}")))) == []
    assert not decoder.is_whole
    assert fail(call_events(0, "x", "a.b", "{}")) == ("partial_stream_error", True)


def test_an_answer_cut_for_length_is_an_answer() -> None:
    events = [*text_events(0, "a"), *call_events(1, "x", "a.b", "{}"), end_event(incomplete="max_output_tokens")]
    assert [type(chunk) for chunk in read(events)] == [TextChunk, CallChunk, StateChunk, UsageChunk]


@pytest.mark.parametrize("is_whole", [True, False])
def test_half_a_call_is_never_given_out(*, is_whole: bool) -> None:
    half = call_events(1, "y", "a.b", '{"n": ', is_whole=is_whole)
    events = [*call_events(0, "x", "a.b", "{}"), *half, end_event(incomplete="max_output_tokens")]
    assert fail(events) == ("answer_too_long", True)


def test_a_filtered_answer_is_an_end_with_a_reason() -> None:
    assert fail([*text_events(0, "a"), end_event(incomplete="content_filter")]) == ("content_filter", False)


@pytest.mark.parametrize(
    ("code", "message", "outcome"),
    [
        ("server_error", "oops", ("provider_error", True)),
        ("rate_limit_exceeded", "slow down", ("provider_error", True)),
        ("context_length_exceeded", "Your input exceeds the context window", ("context_too_long", False)),
        ("invalid_prompt", "flagged", ("content_filter", False)),
        ("insufficient_quota", "pay first", ("credentials", False)),
    ],
)
def test_an_error_inside_the_stream_has_its_code(code: str, message: str, outcome: tuple[str, bool]) -> None:
    assert fail([fail_event(code, message)]) == outcome
    assert fail([event({"type": "error", "code": code, "message": message})]) == outcome
    assert fail([event({"type": "error", "error": {"code": code, "message": message}})]) == outcome


def test_an_error_inside_the_stream_does_not_repeat_the_key() -> None:
    decoder = ResponsesDecoder(NAMES, api_key="sk-1")
    with pytest.raises(ModelUnavailable) as caught:
        list(decoder.feed(fail_event("server_error", "bad sk-1")))
    assert str(caught.value) == "the provider reported: bad [MASKED_API_KEY]"


@pytest.mark.parametrize("payload", [b'{"type": ', b"[]", b"null", b"<html>"])
def test_an_event_that_is_no_json_object_is_the_providers_fault(payload: bytes) -> None:
    assert fail([b"data: " + payload + b"\n\n"]) == ("provider_error", True)


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "response.output_text.delta", "delta": 7},
        {"type": "response.output_item.added"},
        {"type": "response.output_item.done", "item": []},
        {"type": "response.output_item.done", "item": {"type": "web_search_call"}},
        {"type": None},
        {},
    ],
)
def test_odd_shapes_inside_an_event_say_nothing(payload: dict[str, Any]) -> None:
    odd = b"data: %b\n\n" % json.encode(payload)
    assert read([odd, *text_events(0, "a"), end_event()]) == [TextChunk(text="a"), NO_USAGE]


def test_calls_with_no_id_or_one_that_is_taken_get_their_own_and_go_back_with_it() -> None:
    calls = [*call_events(0, "x", "a.b"), *call_events(1, "x", "a.b"), *call_events(2, "", "a.b")]
    chunks = read([*calls, end_event()])
    ids = [chunk.provider_id for chunk in chunks if isinstance(chunk, CallChunk)]
    assert ids[0] == "x"
    assert len(set(ids)) == 3
    state = next(chunk.state for chunk in chunks if isinstance(chunk, StateChunk))
    assert [part["call_id"] for part in unpack_state("openai", state)] == ids


def test_arguments_that_are_not_json_are_passed_on_for_the_gate_to_refuse() -> None:
    (call, *_) = read([*call_events(0, "x", "made up", '{"n": '), end_event()])
    assert isinstance(call, CallChunk)
    assert call.arguments == '{"n": '
