"""Streamed Gemini answers read into chunks, in every shape they are known to come."""

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Usage
from midwatch.domain.tools import ToolDefinition
from midwatch.kit import json
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
from midwatch.llm.provider_state import pack_state
from midwatch.llm.providers.google.response import StreamDecoder
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.llm.toolnames import build_names, encode_name
from tests.fakes.gemini_events import event, list_events, write

TOP = ToolDefinition(server="k8s", name="top.nodes", description="", schema={})
NAMES = build_names([TOP])
LABEL = "google/gemini-3-pro"
USAGE = Usage(input_tokens=90, output_tokens=20, thinking_tokens=7, cache_read_tokens=64)
TURN = ScriptedTurn(
    thinking="Hm, «so» und so",
    text="Ich prüfe das.",
    calls=(ScriptedCall(name="k8s.top.nodes", arguments={"all": True}), ScriptedCall(name="k8s.pods", arguments={})),
    usage=USAGE,
    chunk_size=9,
)
STATE = pack_state(
    LABEL,
    [
        {"text": "Hm, «so» und so", "thought": True},
        {"text": "Ich prüfe das."},
        {
            "functionCall": {"id": "call_0_0", "name": encode_name("k8s.top.nodes"), "args": {"all": True}},
            "thoughtSignature": "signature-0",
        },
        {"functionCall": {"id": "call_0_1", "name": "k8s__pods", "args": {}}},
    ],
)
CHUNKS: list[Chunk] = [
    ThinkingChunk(text="Hm, «so» "),
    ThinkingChunk(text="und so"),
    TextChunk(text="Ich prüfe"),
    TextChunk(text=" das."),
    CallChunk(provider_id="call_0_0", name="k8s.top.nodes", arguments='{"all":true}'),
    CallChunk(provider_id="call_0_1", name="k8s.pods", arguments="{}"),
    StateChunk(state=STATE),
    UsageChunk(usage=USAGE),
]


def read(pieces: Iterable[bytes], *, notices: tuple[NoticeChunk, ...] = ()) -> list[Chunk]:
    decoder = StreamDecoder(NAMES, label=LABEL, notices=notices)
    chunks = [chunk for piece in pieces for chunk in decoder.feed(piece)]
    return [*chunks, *decoder.finish()]


def fail(pieces: Iterable[bytes]) -> tuple[list[Chunk], ModelUnavailable]:
    """What was given out before the failure, and the failure."""
    decoder = StreamDecoder(NAMES, "sk-1", label=LABEL)
    chunks: list[Chunk] = []

    def read_all() -> None:
        for piece in pieces:
            chunks.extend(decoder.feed(piece))
        for chunk in decoder.finish():
            chunks.append(chunk)  # noqa: PERF402 - what came before a failure counts

    with pytest.raises(ModelUnavailable) as caught:
        read_all()
    return chunks, caught.value


def read_state(*parts: dict[str, Any]) -> list[dict[str, Any]] | None:
    states = [
        chunk.state for chunk in read([*map(event, parts), event(finish="STOP")]) if isinstance(chunk, StateChunk)
    ]
    return json.decode(states[0])[LABEL] if states else None


def test_an_answer_is_read_whole() -> None:
    assert read(list_events(TURN)) == CHUNKS


@given(cuts=st.lists(st.integers(min_value=0, max_value=len(b"".join(list_events(TURN)))), max_size=8).map(sorted))
def test_however_the_bytes_are_cut_the_chunks_are_the_same(cuts: list[int]) -> None:
    data = b"".join(list_events(TURN))
    edges = [0, *cuts, len(data)]
    assert read(data[start:end] for start, end in pairwise(edges)) == CHUNKS


def test_even_byte_by_byte_and_without_the_last_line_end() -> None:
    data = b"".join(list_events(TURN)).rstrip().replace(b"\r\n", b"\n: hello\nid: 7\n")
    assert read(data[position : position + 1] for position in range(len(data))) == CHUNKS


def test_no_call_is_given_out_before_the_answer_is_over() -> None:
    events = list_events(TURN)
    chunks, failure = fail(events[:-1])
    assert chunks == CHUNKS[:4]
    assert (failure.code, failure.retryable) == ("partial_stream_error", True)


def test_a_finish_reason_with_every_event_ends_nothing() -> None:
    assert read([event({"text": "a"}, finish="STOP"), event({"text": "b"}, finish="STOP")]) == [
        TextChunk(text="a"),
        TextChunk(text="b"),
    ]


def test_an_answer_cut_for_length_is_an_answer() -> None:
    assert read([event({"text": "a"}, finish="MAX_TOKENS")]) == [TextChunk(text="a")]


def test_signatures_stay_on_their_own_parts() -> None:
    assert read_state(
        {"text": "a", "thought": True},
        {"text": "b", "thought": True, "thoughtSignature": "s1"},
        {"text": "c", "thought": True},
        {"text": "d"},
        {"text": ""},
        {"text": "e"},
        {"text": "f", "thoughtSignature": "s2"},
        {"text": "", "thoughtSignature": "s3"},
    ) == [
        {"text": "a", "thought": True},
        {"text": "b", "thought": True, "thoughtSignature": "s1"},
        {"text": "c", "thought": True},
        {"text": "de"},
        {"text": "f", "thoughtSignature": "s2"},
        {"text": "", "thoughtSignature": "s3"},
    ]


def test_plain_text_leaves_nothing_to_be_sent_back() -> None:
    assert read_state({"text": "a"}, {"text": "b"}) is None


def test_pictures_are_not_kept() -> None:
    assert read_state({"inlineData": {"data": "x"}}, {"text": "a", "thoughtSignature": "s"}) == [
        {"text": "a", "thoughtSignature": "s"}
    ]


def test_parts_of_an_unknown_kind_are_sent_back_as_they_came() -> None:
    assert read_state({"toolCall": {"id": "7"}}) == [{"toolCall": {"id": "7"}}]


def test_calls_without_ids_or_with_one_id_get_different_ones_and_keep_their_parts() -> None:
    call: dict[str, Any] = {"functionCall": {"name": "a__b", "args": {}}}
    twice: dict[str, Any] = {"functionCall": {"id": "x", "name": "a__b"}}
    chunks = read([event(call, call, twice, twice, finish="STOP")])
    calls = [chunk for chunk in chunks if isinstance(chunk, CallChunk)]
    assert [(call.name, call.arguments) for call in calls] == [("a.b", "{}")] * 4
    assert len({call.provider_id for call in calls}) == 4
    assert calls[2].provider_id == "x"
    assert chunks[-1] == StateChunk(state=pack_state(LABEL, [call, call, twice, twice]))


def test_code_is_paired_with_what_came_out_of_it() -> None:
    parts = [
        {"executableCode": {"language": "PYTHON", "code": "1 + 1"}},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "2"}},
        {"executableCode": {"id": "a", "code": "first"}},
        {"executableCode": {"id": "b", "code": "second"}},
        {"codeExecutionResult": {"id": "b", "outcome": "OUTCOME_FAILED", "output": "NameError"}},
        {"codeExecutionResult": {"id": "a", "outcome": "OUTCOME_OK"}},
        {"executableCode": {"code": "without result"}},
    ]
    chunks = read([*(event(part) for part in parts), event(finish="STOP")])
    assert [chunk for chunk in chunks if isinstance(chunk, CodeChunk)] == [
        CodeChunk(code="1 + 1", output="2"),
        CodeChunk(code="second", output="NameError", is_error=True),
        CodeChunk(code="first", output=""),
        CodeChunk(code="without result", output=""),
    ]


def web(name: str) -> dict[str, Any]:
    return {"web": {"uri": f"https://{name}", "title": name}}


def support(text: str, *indices: int) -> dict[str, Any]:
    return {"segment": {"text": text, "startIndex": 0}, "groundingChunkIndices": list(indices)}


def source(name: str) -> Source:
    return Source(uri=f"https://{name}", title=name)


def read_lookups(*candidates: dict[str, Any]) -> list[GroundingChunk]:
    events = [event({"text": "a"}, candidate=candidate) for candidate in candidates]
    chunks = read([*events, event(finish="STOP")])
    return [chunk for chunk in chunks if isinstance(chunk, GroundingChunk)]


def test_a_search_is_told_with_its_sources_and_what_rests_on_them() -> None:
    metadata = {
        "webSearchQueries": ["why", "how"],
        "groundingChunks": [web("a"), web("b")],
        "groundingSupports": [support("It is so.", 0, 1), support("And so.", 1, 9, -1)],
    }
    assert read_lookups({"groundingMetadata": metadata}) == [
        GroundingChunk(
            queries=("why", "how"),
            sources=(source("a"), source("b")),
            supports=(Support(text="It is so.", sources=(0, 1)), Support(text="And so.", sources=(1,))),
        )
    ]


def test_lookups_that_come_in_pieces_are_counted_together() -> None:
    first = {"webSearchQueries": ["why"], "groundingChunks": [web("a")], "groundingSupports": [support("One.", 0)]}
    second = {"groundingChunks": [web("b"), web("a")], "groundingSupports": [support("Two.", 0, 1)]}
    third = {"webSearchQueries": ["why"], "groundingSupports": [support("Three.", 1)]}
    assert read_lookups(*({"groundingMetadata": each} for each in (first, second, third))) == [
        GroundingChunk(
            queries=("why",),
            sources=(source("a"), source("b")),
            supports=(
                Support(text="One.", sources=(0,)),
                Support(text="Two.", sources=(1, 0)),
                Support(text="Three.", sources=(1,)),
            ),
        )
    ]


def page(name: str, status: str = "URL_RETRIEVAL_STATUS_SUCCESS") -> dict[str, Any]:
    return {"retrievedUrl": f"https://{name}", "urlRetrievalStatus": status}


def test_pages_that_were_read_are_told_without_queries() -> None:
    pages = {"urlMetadata": [page("a"), page("b", "URL_RETRIEVAL_STATUS_ERROR"), page("c")]}
    read_pages = GroundingChunk(sources=(Source(uri="https://a"), Source(uri="https://c")))
    assert read_lookups({"urlContextMetadata": pages}) == [read_pages]
    search = {"webSearchQueries": ["why"]}
    assert read_lookups({"urlContextMetadata": pages, "groundingMetadata": search}) == [
        GroundingChunk(queries=("why",)),
        read_pages,
    ]


def test_a_page_that_the_answer_rests_on_is_told_once() -> None:
    grounding = {"groundingChunks": [web("a")], "groundingSupports": [support("So.", 0)]}
    assert read_lookups({"groundingMetadata": grounding, "urlContextMetadata": {"urlMetadata": [page("a")]}}) == [
        GroundingChunk(sources=(source("a"),), supports=(Support(text="So.", sources=(0,)),))
    ]


def test_thoughts_count_as_output_and_what_native_tools_read_as_input() -> None:
    first = event({"text": "a"}, usageMetadata={"promptTokenCount": 5, "candidatesTokenCount": 1})
    counts = {
        "promptTokenCount": 5,
        "toolUsePromptTokenCount": 100,
        "candidatesTokenCount": 3,
        "thoughtsTokenCount": 40,
        "cachedContentTokenCount": 4,
        "totalTokenCount": 148,
    }
    usage = Usage(input_tokens=105, output_tokens=43, thinking_tokens=40, cache_read_tokens=4)
    assert usage.total_tokens == counts["totalTokenCount"]
    assert read([first, event(finish="STOP", usageMetadata=counts)]) == [TextChunk(text="a"), UsageChunk(usage=usage)]


def test_notices_come_with_the_whole_answer() -> None:
    notice = NoticeChunk(code="c", message="m")
    assert read([event({"text": "a"}, finish="STOP")], notices=(notice,)) == [TextChunk(text="a"), notice]


@pytest.mark.parametrize(
    ("reason", "outcome"),
    [
        ("SAFETY", ("content_filter", False)),
        ("RECITATION", ("content_filter", False)),
        ("BLOCKLIST", ("content_filter", False)),
        ("PROHIBITED_CONTENT", ("content_filter", False)),
        ("SPII", ("content_filter", False)),
        ("MALFORMED_FUNCTION_CALL", ("provider_error", True)),
        ("UNEXPECTED_TOOL_CALL", ("provider_error", True)),
        ("OTHER", ("provider_error", True)),
        ("SOMETHING_NEW", ("provider_error", True)),
        ("MISSING_THOUGHT_SIGNATURE", ("invalid_request", False)),
    ],
)
def test_an_answer_that_ended_otherwise_is_a_failure_after_what_came(reason: str, outcome: tuple[str, bool]) -> None:
    call = {"functionCall": {"name": "a__b"}}
    chunks, failure = fail([event({"text": "Half"}, call, finish=reason, usageMetadata={"promptTokenCount": 3})])
    assert chunks == [TextChunk(text="Half"), UsageChunk(usage=Usage(input_tokens=3))]
    assert (failure.code, failure.retryable) == outcome
    assert reason in str(failure)


def test_a_call_that_could_not_be_read_is_explained_to_the_model() -> None:
    _, failure = fail([event(finish="MALFORMED_FUNCTION_CALL")])
    assert failure.feedback is not None
    assert "JSON" in failure.feedback


def test_a_question_that_was_blocked_is_filtered() -> None:
    chunks, failure = fail(
        [write({"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "usageMetadata": {"promptTokenCount": 3}})]
    )
    assert chunks == [UsageChunk(usage=Usage(input_tokens=3))]
    assert (failure.code, failure.retryable) == ("content_filter", False)
    assert str(failure) == "the provider blocked the question: PROHIBITED_CONTENT"


QUOTA = {
    "error": {
        "code": 429,
        "message": "Resource exhausted sk-1",
        "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "7.5s"}],
    }
}
PRETTY = json.encode(QUOTA).replace(b",", b",\n  ").replace(b"{", b"{\n ")


@pytest.mark.parametrize(
    "reported",
    [
        write(QUOTA),
        write([QUOTA]),
        PRETTY,
        b"[" + PRETTY + b"\n]\n",
        PRETTY + b"\r\n\r\n",
        b": hello\nid: 7\n" + PRETTY,
    ],
)
def test_an_error_inside_the_stream_is_raised_however_it_is_written(reported: bytes) -> None:
    chunks, failure = fail([event({"text": "a"}), *(reported[at : at + 5] for at in range(0, len(reported), 5))])
    assert chunks == [TextChunk(text="a")]
    assert (failure.code, failure.retryable) == ("provider_error", True)
    assert str(failure) == "the provider reported: Resource exhausted [MASKED_API_KEY]"
    assert getattr(failure, "retry_after", None) == 7.5


@pytest.mark.parametrize("payload", [b'{"candidates": [', b"[]", b"null", b"<html>", b'"text"'])
def test_an_event_that_is_no_json_object_is_the_providers_fault(payload: bytes) -> None:
    _, failure = fail([b"data: " + payload + b"\n\n"])
    assert (failure.code, failure.retryable) == ("provider_error", True)


@pytest.mark.parametrize("call", [None, {}, {"name": ""}, {"name": 7}, {"name": "a__b", "args": [1]}, "text"])
def test_half_a_call_is_the_providers_fault(call: Any) -> None:
    _, failure = fail([event({"functionCall": call}, finish="STOP")])
    assert (failure.code, failure.retryable) == ("provider_error", True)


@pytest.mark.parametrize("data", [b"", b"<html>\n502\n</html>", b'{"error": ', b"\n\n"])
def test_a_stream_that_says_nothing_broke_off(data: bytes) -> None:
    chunks, failure = fail([data])
    assert chunks == []
    assert (failure.code, failure.retryable) == ("partial_stream_error", True)


ODD: list[dict[str, Any]] = [
    {"candidates": "x", "usageMetadata": [], "promptFeedback": 7},
    {"candidates": [None, 7]},
    {"candidates": [{"content": None, "groundingMetadata": [], "urlContextMetadata": "x"}]},
    {"candidates": [{"content": {"parts": [None, {"text": 7}, {"text": None}]}, "finishReason": 7}]},
    {"candidates": [{"groundingMetadata": {"groundingChunks": "x", "groundingSupports": [7], "webSearchQueries": 7}}]},
]


@pytest.mark.parametrize("payload", ODD)
def test_odd_shapes_inside_an_event_say_nothing(payload: dict[str, Any]) -> None:
    assert read([write(payload), event(finish="STOP")]) == []
