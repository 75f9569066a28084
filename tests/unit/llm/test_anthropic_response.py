"""Streamed messages read into chunks, and the state that brings a reply back as it was."""

from collections.abc import Iterable
from typing import Any

import pytest

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import AssistantMessage, Message, ToolMessage, Usage, UserMessage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.model import CallChunk, Chunk, StateChunk, TextChunk, ThinkingChunk, UsageChunk
from midwatch.llm.providers.anthropic.abilities import find_ability
from midwatch.llm.providers.anthropic.request import RequestEncoder
from midwatch.llm.providers.anthropic.response import StreamDecoder
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.llm.toolnames import build_names
from tests.fakes.anthropic_events import (
    PING,
    block_events,
    call_block,
    event,
    list_events,
    start_event,
    stop_event,
    text_block,
    thinking_block,
)
from tests.unit.llm.conversations import make_request

NAMES = build_names([ToolDefinition(server="k8s", name="top.nodes", description="", schema={})])
USAGE = Usage(input_tokens=90, output_tokens=20, cache_read_tokens=64, cache_write_tokens=6)
TURN = ScriptedTurn(
    thinking="Hm, «so»",
    text="Ich prüfe das.",
    calls=(ScriptedCall(name="k8s.top.nodes", arguments={"all": True}), ScriptedCall(name="k8s.pods", arguments={})),
    usage=USAGE,
    chunk_size=9,
)
STATE = json.encode(
    {
        "anthropic": [
            {"type": "thinking", "thinking": "Hm, «so»", "signature": "sig-0"},
            {"type": "text", "text": "Ich prüfe das."},
            {"type": "tool_use", "id": "call_0_0"},
            {"type": "tool_use", "id": "call_0_1"},
        ]
    }
)
CHUNKS: list[Chunk] = [
    ThinkingChunk(text="Hm, «so»"),
    TextChunk(text="Ich prüfe"),
    TextChunk(text=" das."),
    CallChunk(provider_id="call_0_0", name="k8s.top.nodes", arguments='{"all":true}'),
    CallChunk(provider_id="call_0_1", name="k8s.pods", arguments="{}"),
    StateChunk(state=STATE),
    UsageChunk(usage=USAGE),
]
END = event({"type": "message_stop"})
DONE = [stop_event("end_turn"), END]
NO_USAGE = UsageChunk(usage=Usage())


def read(pieces: Iterable[bytes]) -> list[Chunk]:
    decoder = StreamDecoder(NAMES)
    chunks = [chunk for piece in pieces for chunk in decoder.feed(piece)]
    return [*chunks, *decoder.finish()]


def fail(pieces: Iterable[bytes]) -> ModelUnavailable:
    with pytest.raises(ModelUnavailable) as caught:
        read(pieces)
    return caught.value


def take_reply(chunks: Iterable[Chunk]) -> AssistantMessage:
    """As the agent gathers it."""
    reply = AssistantMessage(text="")
    for chunk in chunks:
        match chunk:
            case TextChunk():
                reply = AssistantMessage(
                    text=reply.text + chunk.text, calls=reply.calls, provider_state=reply.provider_state
                )
            case CallChunk():
                call = ToolCall(
                    call_id=new_id(), provider_id=chunk.provider_id, name=chunk.name, arguments=chunk.arguments
                )
                reply = AssistantMessage(
                    text=reply.text, calls=(*reply.calls, call), provider_state=reply.provider_state
                )
            case StateChunk():
                reply = AssistantMessage(text=reply.text, calls=reply.calls, provider_state=chunk.state)
            case _:
                pass
    return reply


def send_back(reply: AssistantMessage) -> list[dict[str, Any]]:
    results = (ToolMessage(provider_id=call.provider_id, name=call.name, content="ok") for call in reply.calls)
    messages: list[Message] = [UserMessage(text="go"), reply, *results]
    encoder = RequestEncoder({"model": "m"}, ability=find_ability("claude-sonnet-5"))
    return json.decode(encoder.encode(make_request(messages)))["messages"][1]["content"]


def test_however_the_bytes_are_cut_the_chunks_are_the_same() -> None:
    data = b"".join(list_events(TURN))
    assert read([data]) == CHUNKS
    for position in range(len(data)):
        assert read([data[:position], data[position:]]) == CHUNKS
    assert read(data[position : position + 1] for position in range(len(data))) == CHUNKS


def test_line_ends_pings_and_unknown_events_make_no_difference() -> None:
    events = [piece for each in list_events(TURN) for piece in (each, PING, event({"type": "brand_new"}))]
    data = b"".join(events).replace(b"\n", b"\r\n")
    assert read([data]) == CHUNKS


def test_a_reply_goes_back_block_by_block_as_it_came() -> None:
    events = [
        start_event(),
        *thinking_block(0, "first ", "thought", signature="s1"),
        *block_events(1, {"type": "redacted_thinking", "data": "opaque"}),
        *text_block(2, "Let me look."),
        *call_block(3, "toolu_a", "k8s.top.nodes", '{"al', 'l": true}'),
        *thinking_block(4, "second", signature="s2"),
        *call_block(5, "toolu_b", "k8s.pods"),
        stop_event("tool_use"),
        END,
    ]
    assert send_back(take_reply(read(events))) == [
        {"type": "thinking", "thinking": "first thought", "signature": "s1"},
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "toolu_a", "name": NAMES_WIRE, "input": {"all": True}},
        {"type": "thinking", "thinking": "second", "signature": "s2"},
        {"type": "tool_use", "id": "toolu_b", "name": "k8s__pods", "input": {}},
    ]


NAMES_WIRE = next(iter(NAMES.by_wire))


def test_thinking_that_is_not_shown_goes_back_all_the_same() -> None:
    events = [*thinking_block(0, signature="s1"), *call_block(1, "toolu_a", "k8s.pods"), *DONE]
    chunks = read(events)
    assert not any(isinstance(chunk, ThinkingChunk) for chunk in chunks)
    assert send_back(take_reply(chunks))[0] == {"type": "thinking", "thinking": "", "signature": "s1"}


def test_thinking_cut_before_its_signature_does_not_go_back() -> None:
    events = [*thinking_block(0, "hm", signature=""), *text_block(1, "so"), stop_event("max_tokens"), END]
    assert read(events) == [ThinkingChunk(text="hm"), TextChunk(text="so"), NO_USAGE]


def test_words_alone_need_no_state() -> None:
    assert read([*text_block(0, "hello"), *DONE]) == [TextChunk(text="hello"), NO_USAGE]


def test_blocks_of_one_kind_are_told_apart_by_an_empty_line() -> None:
    events = [*text_block(0, "one"), *text_block(1, ""), *text_block(2, "two", "!"), *DONE]
    text = "".join(chunk.text for chunk in read(events) if isinstance(chunk, TextChunk))
    assert text == "one\n\ntwo!"


def test_counts_are_totals_and_the_last_word_counts() -> None:
    late = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}}
    counts = {"input_tokens": 30, "output_tokens": 9, "cache_read_input_tokens": None}
    details = {"output_tokens_details": {"thinking_tokens": 4}}
    events = [start_event(USAGE), *text_block(0, "a"), event({**late, "usage": counts | details}), END]
    usage = Usage(input_tokens=100, output_tokens=9, thinking_tokens=4, cache_read_tokens=64, cache_write_tokens=6)
    assert read(events)[-1] == UsageChunk(usage=usage)


def test_an_answer_with_a_stop_reason_needs_no_end() -> None:
    assert read(list_events(TURN)[:-1]) == CHUNKS
    assert read([b"".join(list_events(TURN)).rstrip()]) == CHUNKS


def test_what_comes_after_the_end_is_not_read() -> None:
    assert read([*text_block(0, "a"), *DONE, *text_block(1, "b"), *DONE]) == [TextChunk(text="a"), NO_USAGE]


def test_no_call_is_given_out_before_the_answer_is_whole() -> None:
    decoder = StreamDecoder(NAMES)
    assert list(decoder.feed(b"".join(call_block(0, "x", "a.b", "{}")))) == []
    assert not decoder.is_whole
    with pytest.raises(ModelUnavailable) as caught:
        list(decoder.finish())
    assert (caught.value.code, caught.value.retryable) == ("partial_stream_error", True)


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_an_answer_cut_for_length_is_an_answer(reason: str) -> None:
    assert read([*text_block(0, "a"), stop_event(reason), END]) == [TextChunk(text="a"), NO_USAGE]


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [("max_tokens", ("answer_too_long", True)), ("model_context_window_exceeded", ("context_too_long", False))],
)
@pytest.mark.parametrize("pieces", [(), ('{"all": tr',), ('"x"',)])
def test_half_a_call_is_never_given_out(reason: str, outcome: tuple[str, bool], pieces: tuple[str, ...]) -> None:
    decoder = StreamDecoder(NAMES)
    begun = [*text_block(0, "so"), *call_block(1, "x", "a.b", "{}"), *call_block(2, "y", "a.b", *pieces)]
    assert list(decoder.feed(b"".join(begun))) == [TextChunk(text="so")]
    with pytest.raises(ModelUnavailable) as caught:
        list(decoder.feed(stop_event(reason) + END))
    assert (caught.value.code, caught.value.retryable) == outcome


def test_a_whole_call_before_the_limit_is_given_out() -> None:
    chunks = read([*call_block(0, "x", "a.b", '{"n": 1}'), stop_event("max_tokens"), END])
    assert chunks[0] == CallChunk(provider_id="x", name="a.b", arguments='{"n": 1}')


def test_a_window_that_is_full_without_a_word_is_too_long_a_conversation() -> None:
    failure = fail([*thinking_block(0, "hm"), stop_event("model_context_window_exceeded"), END])
    assert (failure.code, failure.retryable) == ("context_too_long", False)


@pytest.mark.parametrize(
    ("details", "text"),
    [
        ({}, "the provider declined to answer"),
        (
            {"stop_details": {"type": "refusal", "explanation": "It could do harm."}},
            "the provider declined to answer: It could do harm.",
        ),
    ],
)
def test_a_refusal_is_an_end_with_a_reason(details: dict[str, Any], text: str) -> None:
    failure = fail([*text_block(0, "Hello.."), stop_event("refusal", **details), END])
    assert (failure.code, failure.retryable, str(failure)) == ("content_filter", False, text)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        ({"type": "overloaded_error", "message": "Overloaded sk-1"}, ("provider_error", True)),
        ({"type": "rate_limit_error", "message": "slow down sk-1"}, ("provider_error", True)),
        ({"type": "api_error", "message": "oops sk-1"}, ("provider_error", True)),
        ({"type": "invalid_request_error", "message": "bad sk-1"}, ("invalid_request", False)),
        (
            {"type": "invalid_request_error", "message": "prompt is too long: 9 tokens > 8 sk-1"},
            ("context_too_long", False),
        ),
        ({"type": "authentication_error", "message": "invalid x-api-key sk-1"}, ("credentials", False)),
        ({"type": "permission_error", "message": "not yours sk-1"}, ("credentials", False)),
    ],
)
def test_an_error_inside_the_stream_is_raised_without_the_key(error: dict[str, str], outcome: tuple[str, bool]) -> None:
    decoder = StreamDecoder(NAMES, api_key="sk-1")
    with pytest.raises(ModelUnavailable) as caught:
        list(decoder.feed(event({"type": "error", "error": error})))
    assert (caught.value.code, caught.value.retryable) == outcome
    assert str(caught.value).endswith("[MASKED_API_KEY]")


@pytest.mark.parametrize("payload", [b'{"type": ', b"[]", b"null", b"<html>"])
def test_an_event_that_is_no_json_object_is_the_providers_fault(payload: bytes) -> None:
    failure = fail([b"data: " + payload + b"\n\n"])
    assert (failure.code, failure.retryable) == ("provider_error", True)


@pytest.mark.parametrize(
    "payload",
    [
        {"type": "message_start", "message": None},
        {"type": "content_block_start", "index": 0, "content_block": []},
        {"type": "content_block_start", "index": None, "content_block": {"type": "text", "text": 7}},
        {"type": "content_block_delta", "index": 9, "delta": {"type": "text_delta", "text": "lost"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "citations_delta"}},
        {"type": "content_block_delta"},
        {"type": "message_delta", "delta": None, "usage": []},
        {"type": ["odd"]},
        {},
    ],
)
def test_odd_shapes_inside_an_event_say_nothing(payload: dict[str, Any]) -> None:
    assert read([b"data: %b\n\n" % json.encode(payload), *text_block(0, "a"), *DONE])[0] == TextChunk(text="a")


def test_calls_with_no_id_or_one_that_is_taken_get_their_own_and_go_back_with_it() -> None:
    events = [*call_block(0, "x", "a.b"), *call_block(1, "x", "a.b"), *call_block(2, "", "a.b"), *DONE]
    reply = take_reply(read(events))
    ids = [call.provider_id for call in reply.calls]
    assert ids[0] == "x"
    assert len(set(ids)) == 3
    assert [block["id"] for block in send_back(reply)] == ids


def test_arguments_that_are_not_json_are_passed_on_for_the_gate_to_refuse_and_go_back_as_none() -> None:
    reply = take_reply(read([*call_block(0, "x", "made up", '{"n": '), stop_event("tool_use"), END]))
    assert reply.calls[0].arguments == '{"n": '
    assert send_back(reply)[0]["input"] == {}


def test_arguments_that_come_whole_with_the_start_are_taken() -> None:
    content = {"type": "tool_use", "id": "x", "name": "a__b", "input": {"n": [1]}}
    (call, *_) = read([*block_events(0, content), *DONE])
    assert call == CallChunk(provider_id="x", name="a.b", arguments='{"n":[1]}')
