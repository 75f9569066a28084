"""The body of a generateContent request: what is translated, what is sent back as it came, what is encoded once."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.model import ModelRequest
from midwatch.llm.provider_state import pack_state
from midwatch.llm.providers.google.request import RequestEncoder, wire_name
from midwatch.llm.providers.google.traits import choose_thinking
from midwatch.llm.toolnames import encode_name
from tests.fakes.gemini_server import find_unanswered
from tests.unit.llm.conversations import any_conversation

MODEL = "gemini-3-flash-preview"
LABEL = f"google/{MODEL}"
SKIP = "skip_thought_signature_validator"
PODS = ToolDefinition(
    server="kubernetes",
    name="pods_list",
    description="Lists pods",
    schema={"type": "object", "properties": {"namespace": {"type": "string"}}, "required": ["namespace"]},
)
NATIVE = frozenset({"url_context", "google_search"})


def make_call(name: str, arguments: str = "{}", *, provider_id: str = "c1") -> ToolCall:
    return ToolCall(call_id=new_id(), provider_id=provider_id, name=name, arguments=arguments)


def result(name: str, content: str, *, provider_id: str = "c1", is_error: bool = False) -> ToolMessage:
    return ToolMessage(provider_id=provider_id, name=name, content=content, is_error=is_error)


def make_request(messages: Sequence[Message], *tools: ToolDefinition) -> ModelRequest:
    return ModelRequest(messages=messages, tools=tools, agent="Investigator")


def encode(
    messages: Sequence[Message],
    *tools: ToolDefinition,
    model: str = MODEL,
    native_tools: frozenset[str] = frozenset(),
) -> Any:
    encoder = RequestEncoder(model, label=f"google/{model}", native_tools=native_tools)
    return json.decode(encoder.encode(make_request(messages, *tools)))


CALLING = AssistantMessage(
    text="I look.",
    thinking="hm",
    calls=(
        make_call("kubernetes.pods_list", '{"namespace": "a"}', provider_id="c1"),
        make_call("kubernetes.pods_list", '{"namespace": "b"}', provider_id="c2"),
    ),
)
CONVERSATION: list[Message] = [
    SystemMessage(text="Investigate."),
    UserMessage(text="A pod crashes: “käse”"),
    CALLING,
    result("kubernetes.pods_list", "none"),
    result("kubernetes.pods_list", "no such namespace", provider_id="c2", is_error=True),
    UserMessage(text="Go on."),
    AssistantMessage(text="Nothing there."),
]


def test_a_conversation_from_elsewhere_is_translated_whole() -> None:
    assert encode(CONVERSATION, PODS) == {
        "contents": [
            {"role": "user", "parts": [{"text": "A pod crashes: “käse”"}]},
            {
                "role": "model",
                "parts": [
                    {"text": "I look."},
                    {
                        "functionCall": {"name": "kubernetes__pods_list", "args": {"namespace": "a"}},
                        "thoughtSignature": SKIP,
                    },
                    {"functionCall": {"name": "kubernetes__pods_list", "args": {"namespace": "b"}}},
                ],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "kubernetes__pods_list", "response": {"result": "none"}}},
                    {
                        "functionResponse": {
                            "name": "kubernetes__pods_list",
                            "response": {"error": "no such namespace"},
                        }
                    },
                    {"text": "Go on."},
                ],
            },
            {"role": "model", "parts": [{"text": "Nothing there."}]},
        ],
        "systemInstruction": {"parts": [{"text": "Investigate."}]},
        "tools": [
            {
                "functionDeclarations": [
                    {
                        "name": "kubernetes__pods_list",
                        "description": "Lists pods",
                        "parametersJsonSchema": {
                            "type": "object",
                            "properties": {"namespace": {"type": "string"}},
                            "required": ["namespace"],
                        },
                    }
                ]
            }
        ],
        "generationConfig": {"thinkingConfig": {"thinkingLevel": "HIGH", "includeThoughts": True}},
    }


@pytest.mark.parametrize(
    ("model", "signature"), [("gemini-2.5-pro", None), ("gemini-3.1-pro-preview", SKIP), ("gemini-4-argon", SKIP)]
)
def test_calls_that_nobody_signed_are_marked_where_signatures_are_demanded(model: str, signature: str | None) -> None:
    first, second = encode(CONVERSATION, PODS, model=model)["contents"][1]["parts"][1:]
    assert (first.get("thoughtSignature"), second.get("thoughtSignature")) == (signature, None)


PARTS: list[dict[str, Any]] = [
    {"text": "Let me think.", "thought": True},
    {"text": "I look."},
    {
        "functionCall": {"id": "g1", "name": "kubernetes__pods_list", "args": {"namespace": "a"}},
        "thoughtSignature": "sA",
    },
    {"functionCall": {"id": "g1", "name": "default_api:pods", "args": {}}},
    {"text": "", "thoughtSignature": "sB"},
]


def signed(parts: list[dict[str, Any]], *, label: str = LABEL) -> list[Message]:
    return [
        UserMessage(text="go"),
        replace(CALLING, provider_state=pack_state(label, parts)),
        result("kubernetes.pods_list", "none"),
        result("default_api:pods", "no such tool", provider_id="c2", is_error=True),
    ]


def test_an_answer_of_its_own_is_sent_back_part_by_part() -> None:
    contents = encode(signed(PARTS))["contents"]
    assert contents[1] == {"role": "model", "parts": PARTS}
    assert [part["functionResponse"] for part in contents[2]["parts"]] == [
        {"id": "g1", "name": "kubernetes__pods_list", "response": {"result": "none"}},
        {"id": "g1", "name": "default_api:pods", "response": {"error": "no such tool"}},
    ]


def test_an_answer_of_its_own_that_came_unsigned_is_marked() -> None:
    unsigned = [{key: value for key, value in part.items() if key != "thoughtSignature"} for part in PARTS[:4]]
    parts = encode(signed(unsigned))["contents"][1]["parts"]
    assert parts == [*unsigned[:2], {**unsigned[2], "thoughtSignature": SKIP}, unsigned[3]]


@pytest.mark.parametrize(
    "state",
    [
        pack_state("google/gemini-2.5-pro", PARTS),
        pack_state(f"vertexai/{MODEL}", PARTS),
        pack_state("anthropic", PARTS),
        b"\x00garbage",
        b"[]",
        pack_state(LABEL, PARTS[:3]),
    ],
)
def test_what_another_signed_is_not_sent_back(state: bytes) -> None:
    foreign = [*CONVERSATION[:2], replace(CALLING, provider_state=state), *CONVERSATION[3:]]
    assert encode(foreign, PODS) == encode(CONVERSATION, PODS)


def test_calls_that_were_dropped_are_not_sent_back() -> None:
    dropped = replace(CALLING, calls=(), provider_state=pack_state(LABEL, PARTS))
    assert encode([UserMessage(text="go"), dropped])["contents"][1]["parts"] == [{"text": "I look."}]


@pytest.mark.parametrize("state", [None, pack_state(LABEL, [{"text": "hm", "thought": True}])])
def test_an_answer_without_words_is_left_out_and_roles_still_take_turns(state: bytes | None) -> None:
    silent = AssistantMessage(text="", provider_state=state)
    contents = encode([UserMessage(text="go"), silent, UserMessage(text="Say something.")])["contents"]
    assert contents == [{"role": "user", "parts": [{"text": "go"}, {"text": "Say something."}]}]


@pytest.mark.parametrize("arguments", ["", "{broken", '"text"', "[1]"])
def test_past_arguments_that_are_no_object_do_not_spoil_the_conversation(arguments: str) -> None:
    asked = AssistantMessage(text="", calls=(make_call("a.b", arguments),))
    assert encode([asked])["contents"][0]["parts"][0]["functionCall"]["args"] == {}


def test_a_call_without_a_result_is_answered_all_the_same() -> None:
    body = encode([UserMessage(text="go"), CALLING, UserMessage(text="and?")])
    assert find_unanswered(body) == []
    assert body["contents"][2]["parts"][0]["functionResponse"]["response"] == {"error": "nothing came back"}


@given(any_conversation, st.booleans())
def test_whatever_was_said_every_call_is_answered_and_roles_take_turns(messages: list[Message], is_own: bool) -> None:  # noqa: FBT001 - drawn
    if is_own:
        messages = [_own(message) if isinstance(message, AssistantMessage) else message for message in messages]
    body = encode(messages)
    assert find_unanswered(body) == []
    roles = [content["role"] for content in body["contents"]]
    assert all(role != following for role, following in pairwise(roles))


def _own(message: AssistantMessage) -> AssistantMessage:
    parts = [{"functionCall": {"name": f"x:{call.name}"}} for call in message.calls]
    return replace(message, provider_state=pack_state(LABEL, [*parts, {"text": "", "thoughtSignature": "s"}]))


def test_native_tools_are_bound_when_there_are_no_functions() -> None:
    assert encode([UserMessage(text="go")], native_tools=NATIVE)["tools"] == [{"googleSearch": {}}, {"urlContext": {}}]
    assert "tools" not in encode([UserMessage(text="go")])


def test_native_tools_give_way_to_functions_and_do_not_come_back_for_the_conclusion() -> None:
    bound = encode(CONVERSATION[:2], PODS, native_tools=NATIVE)["tools"]
    assert [list(tool) for tool in bound] == [["functionDeclarations"]]
    assert "tools" not in encode(CONVERSATION, native_tools=NATIVE)


@pytest.mark.parametrize(
    ("model", "thinking"),
    [
        ("gemini-2.5-pro", {"thinkingBudget": 32768, "includeThoughts": True}),
        ("gemini-2.5-flash", {"thinkingBudget": 24576, "includeThoughts": True}),
        ("gemini-2.5-flash-lite", {"thinkingBudget": 24576, "includeThoughts": True}),
        ("gemini-3.7-flash", {"thinkingLevel": "HIGH", "includeThoughts": True}),
        ("gemini-9", {"thinkingLevel": "HIGH", "includeThoughts": True}),
        ("gemini-2.5-flash-image", None),
        ("gemini-2.0-flash", None),
    ],
)
def test_how_much_to_think_goes_by_the_model(model: str, thinking: dict[str, Any] | None) -> None:
    assert choose_thinking(model) == thinking
    body = encode([UserMessage(text="go")], model=model)
    assert body.get("generationConfig") == (None if thinking is None else {"thinkingConfig": thinking})


@pytest.mark.parametrize("name", ["1password.items", "-a.b", "9" * 62 + ".a"])
def test_names_start_with_a_letter_or_an_underscore(name: str) -> None:
    wire = wire_name(name)
    assert wire[0] == "_"
    assert len(wire) <= 64
    assert wire_name(name + "x") != wire
    assert wire_name("a.b") == encode_name("a.b") == "a__b"


def test_text_that_no_json_can_carry_is_repaired() -> None:
    assert encode([UserMessage(text="a\ud800b")])["contents"][0]["parts"] == [{"text": "a�b"}]


class CountingEncode:
    def __init__(self) -> None:
        self.seen: list[object] = []

    def __call__(self, value: object) -> bytes:
        self.seen.append(value)
        return json.encode(value)


def test_each_message_and_each_list_of_tools_is_encoded_once() -> None:
    counting = CountingEncode()
    encoder = RequestEncoder(MODEL, label=LABEL, encode=counting)
    for length in (2, 5, 6, len(CONVERSATION)):
        whole = encode(CONVERSATION[:length], PODS)
        assert json.decode(encoder.encode(make_request(CONVERSATION[:length], PODS))) == whole
    assert len(counting.seen) == len(CONVERSATION) + 1


def test_a_result_that_was_shortened_later_is_encoded_anew() -> None:
    encoder = RequestEncoder(MODEL, label=LABEL)
    encoder.encode(make_request(CONVERSATION, PODS))
    shorter = [*CONVERSATION[:3], result("kubernetes.pods_list", "(left out)"), *CONVERSATION[4:]]
    assert json.decode(encoder.encode(make_request(shorter, PODS))) == encode(shorter, PODS)
