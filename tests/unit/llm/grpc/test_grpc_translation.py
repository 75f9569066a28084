"""What is said in one process is what is heard in the other."""

import dataclasses
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import AssistantMessage, Message, ToolMessage, Usage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit.json import clean_text
from midwatch.llm.failures import ProviderFailure
from midwatch.llm.grpc import messages as wire
from midwatch.llm.grpc.translation import (
    Untranslatable,
    decode_chunks,
    decode_failure,
    decode_message,
    decode_tool,
    encode_chunk,
    encode_failure,
    encode_message,
    encode_tool,
    list_bare,
)
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
from tests.unit.llm.conversations import any_conversation, make_call

texts = st.text(max_size=20) | st.sampled_from(["", "käse", "\ud800 half", "\U0001f642"])
counts = st.integers(0, 2**31 - 1)
places = st.lists(st.integers(0, 99), max_size=3).map(tuple)
sources = st.lists(st.builds(Source, uri=texts, title=texts), max_size=2).map(tuple)
supports = st.lists(st.builds(Support, text=texts, sources=places), max_size=2).map(tuple)
usages = st.builds(
    Usage,
    input_tokens=st.integers(0, 2**30),
    output_tokens=st.integers(0, 2**30),
    thinking_tokens=counts,
    cache_read_tokens=counts,
    cache_write_tokens=counts,
)
chunks: st.SearchStrategy[Chunk] = st.one_of(
    st.builds(TextChunk, text=texts),
    st.builds(ThinkingChunk, text=texts, source=st.sampled_from(["native", "react"])),
    st.builds(CallChunk, provider_id=texts, name=st.sampled_from(["k8s.pods", "made up"]), arguments=texts),
    st.builds(UsageChunk, usage=usages),
    st.builds(StateChunk, state=st.binary(max_size=20)),
    st.builds(CodeChunk, code=texts, output=texts, language=st.sampled_from(["python", "sh"]), is_error=st.booleans()),
    st.builds(GroundingChunk, queries=st.lists(texts, max_size=2).map(tuple), sources=sources, supports=supports),
    st.builds(NoticeChunk, code=st.just("thinking_off"), message=texts),
)


def clean(value: Any) -> Any:
    """With whole characters: half ones cannot be sent, and where there are any a NUL goes with them."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, tuple):
        return tuple(clean(item) for item in cast("tuple[Any, ...]", value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: clean(getattr(value, field.name)) for field in dataclasses.fields(value)}
    return value


def is_same(sent: object, heard: object) -> bool:
    return clean(heard) == clean(sent)


@given(chunks)
def test_a_chunk_arrives_as_it_was_sent(chunk: Chunk) -> None:
    data = encode_chunk(chunk).SerializeToString()
    [heard] = decode_chunks(wire.GenerateResponse.FromString(data))
    assert type(heard) is type(chunk)
    assert is_same(chunk, heard)


@given(st.lists(chunks, max_size=5))
def test_a_bundle_is_its_pieces_in_order(several: list[Chunk]) -> None:
    bundle = wire.GenerateResponse(bundle=[encode_chunk(chunk) for chunk in several])
    single = [heard for chunk in several for heard in decode_chunks(encode_chunk(chunk))]
    assert list(decode_chunks(bundle)) == single


@given(any_conversation)
def test_a_conversation_arrives_as_it_was_sent(conversation: list[Message]) -> None:
    for place, message in enumerate(conversation):
        data = encode_message(message).SerializeToString()
        heard = decode_message(wire.ConversationMessage.FromString(data), place=place)
        assert type(heard) is type(message)
        assert is_same(message, heard)


@pytest.mark.parametrize("asked", [None, 0.0, 12.5])
@pytest.mark.parametrize("feedback", [None, "answer in one call"])
def test_a_failure_arrives_as_it_was_sent(feedback: str | None, asked: float | None) -> None:
    failure = ProviderFailure("HTTP 503: busy", code="max_retries", retryable=True, retry_after=asked)
    failure.feedback = feedback
    heard = decode_failure(wire.ErrorInfo.FromString(encode_failure(failure).SerializeToString()))
    assert (str(heard), heard.code, heard.retryable, heard.retry_after, heard.feedback) == (
        "HTTP 503: busy",
        "max_retries",
        True,
        asked,
        feedback,
    )


def test_an_error_in_the_stream_is_raised() -> None:
    failure = ModelUnavailable("no key", code="credentials", retryable=False)
    with pytest.raises(ProviderFailure, match="no key"):
        list(decode_chunks(wire.GenerateResponse(error=encode_failure(failure))))


def test_tokens_beyond_what_the_field_holds_are_the_most_it_holds() -> None:
    usage = encode_chunk(UsageChunk(usage=Usage(input_tokens=2**40, output_tokens=-1))).usage
    assert (usage.input_tokens, usage.output_tokens) == (2**31 - 1, 0)


def test_a_tool_arrives_with_its_server_and_its_schema() -> None:
    tool = ToolDefinition(server="k8s", name="pods.list", description="Lists", schema={"type": "object"})
    assert encode_tool(tool).name == "k8s.pods.list"
    assert decode_tool(encode_tool(tool)) == tool


def test_a_tool_without_a_server_keeps_its_name_in_calls_and_results() -> None:
    bare = wire.ToolDefinition(name="load_skill", parameters_schema="")
    tool = decode_tool(bare)
    called = wire.ConversationMessage(
        role="assistant", tool_calls=[wire.ToolCall(id="1", name="load_skill"), wire.ToolCall(id="2", name="made_up")]
    )
    result = wire.ConversationMessage(role="tool", tool_name="load_skill", tool_call_id="1")
    names = list_bare([bare])
    said = decode_message(called, place=1, bare=names)
    heard = decode_message(result, place=2, bare=names)
    assert isinstance(said, AssistantMessage)
    assert isinstance(heard, ToolMessage)
    assert [call.name for call in said.calls] == [tool.full_name, "made_up"]
    assert heard.name == tool.full_name
    asked = CallChunk(provider_id="1", name=tool.full_name, arguments="{}")
    assert encode_chunk(asked).tool_call.name == "load_skill"


@pytest.mark.parametrize("schema", ["{", "[]", "7"])
def test_a_schema_that_is_none_is_refused(schema: str) -> None:
    with pytest.raises(Untranslatable, match="the schema of tool deck"):
        decode_tool(wire.ToolDefinition(name="deck", parameters_schema=schema))


def test_a_role_that_nobody_has_is_refused() -> None:
    with pytest.raises(Untranslatable, match="message 3 has the role 'judge'"):
        decode_message(wire.ConversationMessage(role="judge"), place=3)


def test_calls_of_a_caller_without_our_ids_get_the_same_ones_every_time() -> None:
    calls = [wire.ToolCall(id="c", name="a.b"), wire.ToolCall(id="c", name="a.b")]
    message = wire.ConversationMessage(role="assistant", tool_calls=calls)

    def read() -> tuple[ToolCall, ...]:
        heard = decode_message(message, place=1)
        assert isinstance(heard, AssistantMessage)
        return heard.calls

    first, second = read()
    assert read() == (first, second)
    assert first.call_id != second.call_id


def test_what_a_newer_service_says_is_passed_over() -> None:
    # Field 1999, a text: no field of ours.
    unknown = b"\xfa\x7c\x03new"
    response = wire.GenerateResponse.FromString(unknown + encode_chunk(TextChunk(text="so")).SerializeToString())
    assert list(decode_chunks(response)) == [TextChunk(text="so")]
    assert list(decode_chunks(wire.GenerateResponse.FromString(unknown))) == []


def test_our_ids_of_calls_survive() -> None:
    call = make_call("k8s.pods")
    heard = decode_message(encode_message(AssistantMessage(text="", calls=(call,))), place=0)
    assert isinstance(heard, AssistantMessage)
    assert heard.calls == (call,)
