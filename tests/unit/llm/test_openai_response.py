"""Streamed answers read into chunks, in every shape servers are known to send."""

from collections.abc import Iterable
from typing import Any

import pytest

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Usage
from midwatch.domain.tools import ToolDefinition
from midwatch.kit import json
from midwatch.llm.model import CallChunk, Chunk, TextChunk, ThinkingChunk, UsageChunk
from midwatch.llm.providers.openai.response import StreamDecoder
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.llm.toolnames import build_names
from tests.fakes.openai_events import DONE, delta_event, event, list_events

NAMES = build_names([ToolDefinition(server="k8s", name="top.nodes", description="", schema={})])
USAGE = Usage(input_tokens=90, output_tokens=20, thinking_tokens=7, cache_read_tokens=64)
TURN = ScriptedTurn(
    thinking="Hm, «so»",
    text="Ich prüfe das.",
    calls=(ScriptedCall(name="k8s.top.nodes", arguments={"all": True}), ScriptedCall(name="k8s.pods", arguments={})),
    usage=USAGE,
    chunk_size=9,
)
CHUNKS: list[Chunk] = [
    ThinkingChunk(text="Hm, «so»"),
    TextChunk(text="Ich prüfe"),
    TextChunk(text=" das."),
    CallChunk(provider_id="call_0_0", name="k8s.top.nodes", arguments='{"all":true}'),
    CallChunk(provider_id="call_0_1", name="k8s.pods", arguments="{}"),
    UsageChunk(usage=USAGE),
]


def read(pieces: Iterable[bytes]) -> list[Chunk]:
    decoder = StreamDecoder(NAMES)
    chunks = [chunk for piece in pieces for chunk in decoder.feed(piece)]
    return [*chunks, *decoder.finish()]


def read_calls(*deltas: dict[str, Any]) -> list[CallChunk]:
    events = [delta_event({"tool_calls": [delta]}) for delta in deltas]
    chunks = read([*events, delta_event({}, finish_reason="tool_calls"), DONE])
    return [chunk for chunk in chunks if isinstance(chunk, CallChunk)]


def function(name: str | None, arguments: object, **rest: object) -> dict[str, Any]:
    fields = {"name": name, "arguments": arguments}
    return {"function": {key: value for key, value in fields.items() if value is not None}, **rest}


def test_however_the_bytes_are_cut_the_chunks_are_the_same() -> None:
    data = b"".join(list_events(TURN))
    assert read([data]) == CHUNKS
    for position in range(len(data)):
        assert read([data[:position], data[position:]]) == CHUNKS
    assert read(data[position : position + 1] for position in range(len(data))) == CHUNKS


def test_line_ends_comments_and_other_fields_make_no_difference() -> None:
    data = b"".join(list_events(TURN)).replace(b"\n", b"\r\n").replace(b"data: ", b": hi\r\nevent: x\r\ndata:")
    assert read([data]) == CHUNKS
    assert read([data.rstrip()]) == CHUNKS


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_thinking_has_two_names(field: str) -> None:
    assert read([delta_event({field: "hm", "content": None}), DONE]) == [ThinkingChunk(text="hm")]


def test_a_refusal_is_read_as_text() -> None:
    assert read([delta_event({"refusal": "no"}), DONE]) == [TextChunk(text="no")]


def test_usage_that_comes_with_every_event_is_given_once_and_nulls_count_nothing() -> None:
    first = {"choices": [{"delta": {"content": "a"}}], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}
    last: dict[str, Any] = {
        "choices": [{"delta": {}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "prompt_tokens_details": None},
    }
    usage = UsageChunk(usage=Usage(input_tokens=1, output_tokens=2))
    assert read([event(first), event(last), DONE]) == [TextChunk(text="a"), usage]


def test_an_answer_cut_for_length_is_an_answer() -> None:
    assert read([delta_event({"content": "a"}, finish_reason="length"), DONE]) == [TextChunk(text="a")]


@pytest.mark.parametrize("arguments", ["", '{"n": '])
def test_half_a_call_is_never_given_out(arguments: str) -> None:
    calls = [function("a__b", "{}", index=0, id="x"), function("a__b", arguments, index=1, id="y")]
    with pytest.raises(ModelUnavailable) as caught:
        read([delta_event({"tool_calls": calls}, finish_reason="length"), DONE])
    assert (caught.value.code, caught.value.retryable) == ("answer_too_long", True)


def test_a_whole_call_before_the_limit_is_given_out() -> None:
    piece = delta_event({"tool_calls": [function("a__b", "{}", index=0, id="x")]}, finish_reason="length")
    assert read([piece, DONE]) == [CallChunk(provider_id="x", name="a.b", arguments="{}")]


def test_a_filtered_answer_is_an_end_with_a_reason() -> None:
    with pytest.raises(ModelUnavailable) as caught:
        read([delta_event({"content": "a"}, finish_reason="content_filter"), DONE])
    assert (caught.value.code, caught.value.retryable) == ("content_filter", False)


def test_an_answer_with_a_finish_reason_needs_no_done() -> None:
    piece = delta_event({"tool_calls": [function("a__b", "{}", index=0, id="x")]}, finish_reason="tool_calls")
    assert read([piece]) == [CallChunk(provider_id="x", name="a.b", arguments="{}")]


def test_the_last_line_needs_no_end() -> None:
    assert read([delta_event({"content": "a"}), b"data: [DONE]"]) == [TextChunk(text="a")]


def test_what_comes_after_done_is_not_read() -> None:
    assert read([delta_event({"content": "a"}), DONE, delta_event({"content": "b"}), DONE]) == [TextChunk(text="a")]


def test_no_call_is_given_out_before_the_answer_is_whole() -> None:
    decoder = StreamDecoder(NAMES)
    pieces = [function("a__b", "{}", index=0, id="x"), function("a__c", "{}", index=1, id="y")]
    assert list(decoder.feed(delta_event({"tool_calls": pieces}))) == []
    with pytest.raises(ModelUnavailable) as caught:
        list(decoder.finish())
    assert (caught.value.code, caught.value.retryable) == ("partial_stream_error", True)


@pytest.mark.parametrize("payload", [b'{"choices": [', b"[]", b"null", b"<html>"])
def test_an_event_that_is_no_json_object_is_the_providers_fault(payload: bytes) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        read([b"data: " + payload + b"\n\n"])
    assert (caught.value.code, caught.value.retryable) == ("provider_error", True)


@pytest.mark.parametrize(
    "payload",
    [
        {"choices": "x"},
        {"choices": [None]},
        {"choices": [{"delta": None}], "usage": []},
        {"choices": [{"delta": {"content": 7, "reasoning": {}, "tool_calls": {"a": 1}}}]},
        {"choices": [{"delta": {"tool_calls": [None, 7]}}]},
    ],
)
def test_odd_shapes_inside_an_event_say_nothing(payload: dict[str, Any]) -> None:
    assert read([event(payload), DONE]) == []


@pytest.mark.parametrize(
    ("error", "code", "retryable"),
    [
        ({"message": "overloaded sk-1"}, "provider_error", True),
        ({"message": "too long sk-1", "code": 400}, "invalid_request", False),
        ("busy sk-1", "provider_error", True),
    ],
)
def test_an_error_inside_the_stream_is_raised_without_the_key(error: object, code: str, *, retryable: bool) -> None:
    decoder = StreamDecoder(NAMES, api_key="sk-1")
    with pytest.raises(ModelUnavailable) as caught:
        list(decoder.feed(event({"error": error})))
    assert (caught.value.code, caught.value.retryable) == (code, retryable)
    assert str(caught.value).endswith("[MASKED_API_KEY]")


WHOLE = [
    CallChunk(provider_id="x", name="a.b", arguments='{"n": 1}'),
    CallChunk(provider_id="y", name="a.b", arguments='{"n": 2}'),
]


@pytest.mark.parametrize(
    "deltas",
    [
        pytest.param(
            [
                function("a__b", "", index=0, id="x"),
                function(None, '{"n":', index=0),
                function(None, " 1}", index=0),
                function(None, "", index=0),
                function("a__b", "", index=1, id="y"),
                function(None, '{"n": 2}', index=1),
            ],
            id="as OpenAI does",
        ),
        pytest.param(
            [function("a__b", '{"n": 1}', index=0, id="x"), function("a__b", '{"n": 2}', index=1, id="y")],
            id="whole calls",
        ),
        pytest.param(
            [function("a__b", '{"n": 1}', index=0, id="x"), function("a__b", '{"n": 2}', index=0, id="y")],
            id="whole calls with one index",
        ),
        pytest.param(
            [function("a__b", '{"n": 1}', id="x"), function("a__b", '{"n": 2}', id="y")],
            id="whole calls without index",
        ),
        pytest.param(
            [
                function("a__b", '{"n":', id="x"),
                function(None, " 1}"),
                function("a__b", "", id="y"),
                function(None, '{"n": 2}', id="y"),
            ],
            id="pieces without index",
        ),
        pytest.param(
            [
                function("a__b", "", index=0, id="x"),
                function("a__b", '{"n":', index=0, id="x"),
                function("a__b", " 1}", index=0),
                function("a__b", "", index=0),
                function("a__b", '{"n": 2}', index=1, id="y"),
                function("a__b", "", index=1, id="y"),
            ],
            id="the name repeated",
        ),
        pytest.param(
            [
                function("a__b", '{"n":', index=0, id="x"),
                function("a__b", '{"n":', index=1, id="y"),
                function(None, " 1}", index=0, id="z1"),
                function(None, " 2}", index=1, id="z2"),
            ],
            id="interleaved, with a new id in every piece",
        ),
    ],
)
def test_two_calls_are_put_together_from_any_pieces(deltas: list[dict[str, Any]]) -> None:
    assert read_calls(*deltas) == WHOLE


def test_several_calls_may_come_in_one_delta() -> None:
    pieces = [function("a__b", '{"n": 1}', index=0, id="x"), function("a__b", '{"n": 2}', index=1, id="y")]
    assert read([delta_event({"tool_calls": pieces}), DONE]) == WHOLE


def test_calls_without_ids_get_different_ones() -> None:
    first, second, third = read_calls(
        function("a__b", '{"n": 1}', index=0, id=""), function("a__b", '{"n": 2}', index=0), function("a__c", "")
    )
    assert [call.arguments for call in (first, second, third)] == ['{"n": 1}', '{"n": 2}', "{}"]
    assert [call.name for call in (first, second, third)] == ["a.b", "a.b", "a.c"]
    assert len({first.provider_id, second.provider_id, third.provider_id, ""}) == 4


def test_an_id_given_to_two_calls_is_kept_by_the_first() -> None:
    first, second = read_calls(function("a__b", "{}", index=0, id="x"), function("a__b", "{}", index=1, id="x"))
    assert first.provider_id == "x"
    assert second.provider_id not in {"x", ""}


def test_two_calls_without_arguments_are_told_apart_by_their_ids() -> None:
    calls = read_calls(function("a__b", "", index=0, id="x"), function("a__b", None, index=0, id="y"))
    assert [(call.provider_id, call.arguments) for call in calls] == [("x", "{}"), ("y", "{}")]


def test_arguments_sent_as_an_object_become_text() -> None:
    (call,) = read_calls(function("a__b", {"n": [1]}, index=0, id="x"))
    assert json.decode(call.arguments) == {"n": [1]}


def test_arguments_that_are_not_json_are_passed_on_for_the_gate_to_refuse() -> None:
    (call,) = read_calls(function("made_up", '{"n": ', index=0, id="x"))
    assert (call.name, call.arguments) == ("made_up", '{"n": ')
