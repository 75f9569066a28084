"""Between our words and pydantic-ai's: what is kept, what is left out, and that nothing is run."""

from itertools import pairwise

import pytest
from hypothesis import given
from pydantic_ai.messages import (
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.kit import json
from midwatch.llm.model import CallChunk, Chunk, StateChunk
from midwatch.llm.providers.longtail.request import translate_conversation, translate_reply, translate_tool
from midwatch.llm.providers.longtail.response import AnswerReader
from midwatch.llm.toolnames import build_names
from tests.unit.llm.conversations import NODES, PODS, any_conversation, make_call

SIGNED = ThinkingPart("hm", signature="sig-1", provider_name="bedrock")
ENDED = {"finish_reason": "end_turn"}


def answer(*parts: TextPart | ThinkingPart | ToolCallPart, reason: str = "stop") -> ModelResponse:
    return ModelResponse(
        parts=list(parts),
        finish_reason=reason,  # pyright: ignore[reportArgumentType] -- one of the library's own words
        provider_name="bedrock",
        provider_url="https://user:secret@proxy.example",
        provider_details=ENDED,
    )


def finish(response: ModelResponse) -> list[Chunk]:
    return list(AnswerReader(build_names([PODS])).finish(response))


def test_tools_are_declared_as_what_somebody_else_runs() -> None:
    tool = translate_tool(PODS)
    assert (tool.name, tool.kind, tool.strict) == ("kubernetes__pods_list", "external", False)
    assert tool.parameters_json_schema == PODS.schema
    assert translate_tool(NODES).parameters_json_schema == {"type": "object", "properties": {}}


def test_signed_thinking_comes_back_as_it_was_said() -> None:
    call = ToolCallPart("kubernetes__pods_list", {"namespace": "web"}, "tooluse_1")
    called, state = finish(answer(SIGNED, TextPart("look"), call, reason="tool_call"))
    assert called == CallChunk(provider_id="tooluse_1", name="kubernetes.pods_list", arguments='{"namespace":"web"}')
    assert isinstance(state, StateChunk)
    assert b"secret" not in state.state
    assert b'"web"' not in state.state
    said = AssistantMessage(
        text="look",
        calls=(make_call("kubernetes.pods_list", '{"namespace":"db"}', provider_id="tooluse_1"),),
        provider_state=state.state,
    )
    again = translate_reply(said)
    assert again is not None
    assert again.parts == [
        SIGNED,
        TextPart("look"),
        ToolCallPart("kubernetes__pods_list", '{"namespace":"db"}', "tooluse_1"),
    ]
    assert again.provider_name == "bedrock"


@pytest.mark.parametrize("parts", [(TextPart("so"),), (ThinkingPart("hm"), TextPart("so"))])
def test_where_nothing_is_wanted_back_nothing_is_kept(parts: tuple[TextPart | ThinkingPart, ...]) -> None:
    assert [chunk for chunk in finish(answer(*parts)) if isinstance(chunk, StateChunk)] == []


@pytest.mark.parametrize(
    "state",
    [
        b'{"anthropic":[{"type":"thinking","thinking":"hm","signature":"s"}]}',
        b'{"pydantic-ai":[{"kind":"response","parts":"odd"}]}',
        b'{"pydantic-ai":[]}',
        b'{"pydantic-ai":[{"kind":"request","parts":[]}]}',
        b"no JSON",
    ],
)
def test_a_state_that_is_not_ours_or_makes_no_sense_is_not_used(state: bytes) -> None:
    reply = translate_reply(AssistantMessage(text="so", provider_state=state))
    assert reply is not None
    assert reply.parts == [TextPart("so")]


def test_calls_with_one_id_get_ids_of_their_own() -> None:
    same = [ToolCallPart("a", None, "1"), ToolCallPart("b", "", "1"), ToolCallPart("c", "{}", "")]
    calls = [chunk for chunk in finish(answer(*same, reason="tool_call")) if isinstance(chunk, CallChunk)]
    assert calls[0].provider_id == "1"
    assert len({call.provider_id for call in calls}) == 3
    assert {call.arguments for call in calls} == {"{}"}


@pytest.mark.parametrize(
    ("response", "code"),
    [
        (ModelResponse(parts=[TextPart("so")]), "partial_stream_error"),
        (ModelResponse(parts=[TextPart("so")], finish_reason="stop"), "partial_stream_error"),
        (answer(TextPart("so"), reason="content_filter"), "content_filter"),
        (answer(ToolCallPart("a", '{"n":', "1"), reason="length"), "answer_too_long"),
    ],
)
def test_an_answer_that_is_not_whole_is_a_failure(response: ModelResponse, code: str) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        finish(response)
    assert caught.value.code == code


def test_counts_that_nobody_gave_are_not_zero() -> None:
    assert finish(answer(TextPart("so"))) == []
    counted = ModelResponse(
        parts=[TextPart("so")],
        finish_reason="stop",
        provider_details=ENDED,
        usage=RequestUsage(input_tokens=5, output_tokens=-1),
    )
    (used,) = finish(counted)
    assert json.decode(json.encode(used)) == {
        "usage": {
            "input_tokens": 5,
            "output_tokens": 0,
            "thinking_tokens": 0,
            "cache_read_tokens": 0,
            "cache_write_tokens": 0,
        }
    }


def test_a_conversation_is_put_in_order() -> None:
    call = make_call("kubernetes.pods_list", "{broken")
    messages: list[Message] = [
        UserMessage(text="go"),
        SystemMessage(text="be brief"),
        AssistantMessage(text=" ", calls=(call,)),
        UserMessage(text="and?"),
        ToolMessage(provider_id="call_1", name=call.name, content="down", is_error=True),
        SystemMessage(text="be kind"),
    ]
    opening, reply, heard = translate_conversation(messages)
    assert [(type(part), getattr(part, "content", "")) for part in opening.parts] == [
        (SystemPromptPart, "be brief"),
        (SystemPromptPart, "be kind"),
        (UserPromptPart, "go"),
    ]
    (made,) = reply.parts
    assert isinstance(made, ToolCallPart)
    assert made.args == "{}"
    answered, asked = heard.parts
    assert isinstance(answered, ToolReturnPart)
    assert (answered.content, answered.outcome, answered.tool_call_id) == ("down", "failed", made.tool_call_id)
    assert isinstance(asked, UserPromptPart)


@given(any_conversation)
def test_any_conversation_takes_turns_and_answers_every_call(messages: list[Message]) -> None:
    translated = translate_conversation(messages)
    assert isinstance(translated[0], ModelRequest)
    assert isinstance(translated[-1], ModelRequest)
    for request in translated[::2]:
        assert any(isinstance(part, UserPromptPart | ToolReturnPart) for part in request.parts)
    for before, after in pairwise(translated):
        assert type(before) is not type(after)
        made = [part.tool_call_id for part in before.parts if isinstance(part, ToolCallPart)]
        answered = [part.tool_call_id for part in after.parts if isinstance(part, ToolReturnPart)]
        if isinstance(before, ModelResponse):
            assert made == answered
