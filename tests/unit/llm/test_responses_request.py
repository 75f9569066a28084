"""The body of a Responses request: items, calls and their outputs, reasoning; and nothing encoded twice."""

from typing import Any

import pytest
from hypothesis import given

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.domain.tools import ToolDefinition
from midwatch.kit import json
from midwatch.llm.provider_state import pack_state
from midwatch.llm.providers.openai.responses_request import ResponsesEncoder
from midwatch.llm.toolnames import encode_name
from tests.unit.llm.conversations import NODES, PODS, CountingEncode, any_conversation, make_call, make_request

REASONING: dict[str, Any] = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "enc"}
SAID: dict[str, Any] = {"type": "message", "id": "msg_1", "role": "assistant", "phase": "commentary", "content": []}


def encode(messages: list[Message], *tools: ToolDefinition) -> Any:
    return json.decode(ResponsesEncoder("gpt-5.2").encode(make_request(messages, *tools)))


def call_part(call_id: str) -> dict[str, str]:
    return {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "status": "completed"}


def reply_with_state(*parts: dict[str, Any], text: str = "", ids: tuple[str, ...] = ()) -> AssistantMessage:
    calls = tuple(make_call("kubernetes.pods_list", '{"namespace":"a"}', provider_id=each) for each in ids)
    return AssistantMessage(text=text, calls=calls, provider_state=pack_state("openai", parts))


def result_for(provider_id: str, content: str = "none") -> ToolMessage:
    return ToolMessage(provider_id=provider_id, name="kubernetes.pods_list", content=content)


CONVERSATION: list[Message] = [
    SystemMessage(text="Investigate."),
    UserMessage(text="A pod crashes: “käse”"),
    reply_with_state(REASONING, SAID, call_part("call_a"), ids=("call_a",)),
    result_for("call_a"),
    AssistantMessage(text="Nothing there."),
    UserMessage(text="Sure?"),
]


def test_a_conversation_is_translated_whole() -> None:
    assert encode(CONVERSATION, PODS) == {
        "model": "gpt-5.2",
        "stream": True,
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"summary": "auto"},
        "tools": [
            {
                "type": "function",
                "name": "kubernetes__pods_list",
                "description": "Lists pods",
                "parameters": {
                    "type": "object",
                    "properties": {"namespace": {"type": "string"}},
                    "required": ["namespace"],
                },
                "strict": False,
            }
        ],
        "input": [
            {"role": "developer", "content": "Investigate."},
            {"role": "user", "content": "A pod crashes: “käse”"},
            REASONING,
            SAID,
            {**call_part("call_a"), "name": "kubernetes__pods_list", "arguments": '{"namespace":"a"}'},
            {"type": "function_call_output", "call_id": "call_a", "output": "none"},
            {"role": "assistant", "content": "Nothing there."},
            {"role": "user", "content": "Sure?"},
        ],
    }


@pytest.mark.parametrize(
    "state",
    [None, b"\x00", pack_state("anthropic", [REASONING]), pack_state("openai", [REASONING, call_part("other")])],
)
def test_a_state_that_is_not_of_this_reply_is_left_out(state: bytes | None) -> None:
    reply = AssistantMessage(text="so", calls=(make_call("a.b", "{broken", provider_id="c"),), provider_state=state)
    words, call, output = encode([reply, result_for("c")])["input"]
    assert words == {"role": "assistant", "content": "so"}
    assert (call["type"], call["name"], call["arguments"]) == ("function_call", "a__b", "{}")
    assert output["call_id"] == call["call_id"]


def test_calls_of_another_provider_get_ids_that_never_come_twice() -> None:
    messages: list[Message] = []
    for _ in range(2):
        messages += [AssistantMessage(text="", calls=(make_call("a.b", provider_id="x" * 99),)), result_for("x" * 99)]
    ids = [item["call_id"] for item in encode(messages)["input"]]
    assert ids[0::2] == ids[1::2]
    assert len(set(ids)) == 2
    assert all(len(each) <= 64 for each in ids)


def test_reasoning_that_nothing_follows_is_left_out() -> None:
    assert encode([UserMessage(text="go"), reply_with_state(REASONING)])["input"] == [{"role": "user", "content": "go"}]


def test_without_tools_the_earlier_ones_stay_declared_but_may_not_be_called() -> None:
    encoder = ResponsesEncoder("gpt-5.2")
    offered = json.decode(encoder.encode(make_request(CONVERSATION, PODS)))
    last = json.decode(encoder.encode(make_request(CONVERSATION)))
    assert (last["tools"], last["tool_choice"]) == (offered["tools"], "none")
    assert "tool_choice" not in offered
    assert "tools" not in encode(CONVERSATION)


def test_names_that_differ_only_in_case_stay_apart() -> None:
    tools = [ToolDefinition(server="s", name=name, description="", schema={}) for name in ("getPods", "getpods")]
    names = [tool["name"] for tool in encode([], *tools)["tools"]]
    assert names == [encode_name("s.getPods"), encode_name("s.getpods")]
    assert len(set(names)) == 2


@given(any_conversation)
def test_in_any_conversation_every_call_is_answered_once_and_every_answer_has_its_call(messages: list[Message]) -> None:
    items = encode(messages, PODS)["input"]
    for place, item in enumerate(items):
        if item.get("type") == "function_call":
            following = [other for other in items[place:] if other.get("type") == "function_call_output"]
            assert sum(other["call_id"] == item["call_id"] for other in following) >= 1
        if item.get("type") == "reasoning":
            assert items[place + 1 :]
    outputs = sum(item.get("type") == "function_call_output" for item in items)
    assert outputs == sum(item.get("type") == "function_call" for item in items)


@given(any_conversation)
def test_what_is_kept_makes_no_difference(messages: list[Message]) -> None:
    encoder = ResponsesEncoder("gpt-5.2")
    for length in range(len(messages) + 1):
        request = make_request(messages[:length], PODS)
        assert encoder.encode(request) == ResponsesEncoder("gpt-5.2").encode(request)


def test_each_message_and_each_list_of_tools_is_encoded_once() -> None:
    counting = CountingEncode()
    encoder = ResponsesEncoder("gpt-5.2", encode=counting)
    for length in (2, 4, 5, 6):
        encoder.encode(make_request(CONVERSATION[:length], PODS, NODES))
    assert len(counting.seen) == len(CONVERSATION) + 1
