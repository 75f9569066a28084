"""The body of a chat-completions request, and that nothing in it is encoded twice."""

from dataclasses import replace
from typing import Any

import pytest

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.model import ModelRequest
from midwatch.llm.providers.openai.request import RequestEncoder
from midwatch.llm.toolnames import encode_name

PODS = ToolDefinition(
    server="kubernetes",
    name="pods_list",
    description="Lists pods",
    schema={"type": "object", "properties": {"namespace": {"type": "string"}}, "required": ["namespace"]},
)
ODD = ToolDefinition(server="kubernetes", name="top.nodes", description="", schema={})


def make_call(name: str, arguments: str, *, provider_id: str = "call_1") -> ToolCall:
    return ToolCall(call_id=new_id(), provider_id=provider_id, name=name, arguments=arguments)


CONVERSATION: list[Message] = [
    SystemMessage(text="Investigate."),
    UserMessage(text="A pod crashes: “käse”"),
    AssistantMessage(text="", thinking="hm", calls=(make_call("kubernetes.pods_list", '{"namespace": "a"}'),)),
    ToolMessage(provider_id="call_1", name="kubernetes.pods_list", content="none", is_error=True),
    AssistantMessage(text="Nothing there."),
]


def make_request(messages: list[Message], *tools: ToolDefinition) -> ModelRequest:
    return ModelRequest(messages=messages, tools=tools, agent="Investigator")


def encode(messages: list[Message], *tools: ToolDefinition) -> Any:
    return json.decode(RequestEncoder("gpt").encode(make_request(messages, *tools)))


def test_a_conversation_is_translated_whole() -> None:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "kubernetes__pods_list", "arguments": '{"namespace": "a"}'},
    }
    assert encode(CONVERSATION, PODS, ODD) == {
        "model": "gpt",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [
            {"role": "system", "content": "Investigate."},
            {"role": "user", "content": "A pod crashes: “käse”"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "none"},
            {"role": "assistant", "content": "Nothing there."},
        ],
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "kubernetes__pods_list",
                    "description": "Lists pods",
                    "parameters": {
                        "type": "object",
                        "properties": {"namespace": {"type": "string"}},
                        "required": ["namespace"],
                    },
                },
            },
            {
                "type": "function",
                "function": {
                    "name": encode_name("kubernetes.top.nodes"),
                    "description": "",
                    "parameters": {"type": "object", "properties": {}},
                },
            },
        ],
    }


def test_without_tools_there_is_no_tools_key_and_past_calls_keep_their_wire_names() -> None:
    asked: list[Message] = [AssistantMessage(text="", calls=(make_call("kubernetes.top.nodes", "{}"),))]
    with_tools, without = encode(asked, ODD), encode(asked)
    assert "tools" not in without
    assert without["messages"] == with_tools["messages"]
    assert without["messages"][0]["tool_calls"][0]["function"]["name"] == with_tools["tools"][0]["function"]["name"]


@pytest.mark.parametrize("arguments", ["", "{broken", '"text"', "[1]"])
def test_past_arguments_that_are_no_object_do_not_spoil_the_conversation(arguments: str) -> None:
    asked: list[Message] = [AssistantMessage(text="", calls=(make_call("a.b", arguments),))]
    assert encode(asked)["messages"][0]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_text_that_no_json_can_carry_is_repaired() -> None:
    assert encode([UserMessage(text="a\ud800b")])["messages"][0]["content"] == "a�b"


class CountingEncode:
    def __init__(self) -> None:
        self.seen: list[object] = []

    def __call__(self, value: object) -> bytes:
        self.seen.append(value)
        return json.encode(value)


def test_each_message_and_each_list_of_tools_is_encoded_once() -> None:
    counting = CountingEncode()
    encoder = RequestEncoder("gpt", encode=counting)
    for length in range(1, len(CONVERSATION) + 1):
        body = encoder.encode(make_request(CONVERSATION[:length], PODS, ODD))
        assert len(json.decode(body)["messages"]) == length
    assert len(counting.seen) == len(CONVERSATION) + 1


def test_an_equal_list_of_tools_is_not_encoded_again_and_a_changed_one_is() -> None:
    counting = CountingEncode()
    encoder = RequestEncoder("gpt", encode=counting)
    encoder.encode(make_request([], PODS))
    names = encoder.names
    encoder.encode(make_request([], replace(PODS)))
    assert encoder.names is names
    assert len(counting.seen) == 1
    changed = encoder.encode(make_request([], replace(PODS, description="Lists all pods")))
    assert json.decode(changed)["tools"][0]["function"]["description"] == "Lists all pods"


def test_a_conversation_that_takes_another_course_is_encoded_from_there() -> None:
    counting = CountingEncode()
    encoder = RequestEncoder("gpt", encode=counting)
    encoder.encode(make_request(CONVERSATION))
    other: list[Message] = [*CONVERSATION[:3], UserMessage(text="Conclude now.")]
    body = json.decode(encoder.encode(make_request(other)))
    assert body["messages"][3:] == [{"role": "user", "content": "Conclude now."}]
    assert len(counting.seen) == len(CONVERSATION) + 1


def test_a_shorter_conversation_takes_only_its_own_part() -> None:
    encoder = RequestEncoder("gpt")
    encoder.encode(make_request(CONVERSATION))
    assert len(json.decode(encoder.encode(make_request(CONVERSATION[:2])))["messages"]) == 2
