"""What lies behind in a conversation is encoded once, and what is sent is the same as if it were encoded anew."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.kit import json
from midwatch.llm.model import ModelRequest
from midwatch.llm.providers.anthropic.abilities import find_ability
from midwatch.llm.providers.anthropic.request import RequestEncoder as MessagesEncoder
from midwatch.llm.providers.google.request import RequestEncoder as GeminiEncoder
from midwatch.llm.providers.openai.request import RequestEncoder as ChatEncoder
from midwatch.llm.providers.openai.responses_request import ResponsesEncoder
from tests.unit.llm.conversations import PODS, CountingEncode, any_conversation, make_call, make_request


class Encoder(Protocol):
    def encode(self, request: ModelRequest) -> bytes: ...


Encode = Callable[[object], bytes]
ENCODERS: dict[str, Callable[[Encode], Encoder]] = {
    "chat": lambda encode: ChatEncoder("gpt-4.1", encode=encode),
    "responses": lambda encode: ResponsesEncoder("gpt-5.2", encode=encode),
    "messages": lambda encode: MessagesEncoder({"model": "c"}, ability=find_ability("claude-sonnet-5"), encode=encode),
    "budgeted": lambda encode: MessagesEncoder(
        {"model": "c"}, ability=find_ability("claude-sonnet-4-5"), encode=encode
    ),
    "gemini": lambda encode: GeminiEncoder("gemini-3-pro-preview", label="google", encode=encode),
}

long_conversations = st.lists(any_conversation, max_size=4).map(lambda parts: list(chain.from_iterable(parts)))
for_all = pytest.mark.parametrize("name", ENCODERS)


def encode_anew(name: str, messages: Sequence[Message]) -> bytes:
    """By an encoder that has sent nothing yet."""
    return ENCODERS[name](json.encode).encode(make_request(list(messages), PODS))


def make_turn(number: int) -> list[Message]:
    call = make_call("kubernetes.pods_list", provider_id=f"c{number}")
    return [
        AssistantMessage(text=f"Step {number}.", calls=(call,)),
        ToolMessage(provider_id=f"c{number}", name="kubernetes.pods_list", content=f"result {number}"),
    ]


def make_conversation(turns: int) -> list[Message]:
    opening: list[Message] = [SystemMessage(text="You investigate."), UserMessage(text="Look.")]
    return [*opening, *(message for number in range(turns) for message in make_turn(number))]


@for_all
@given(messages=long_conversations)
def test_a_conversation_that_grows_is_sent_as_if_it_had_never_been_sent(name: str, messages: list[Message]) -> None:
    encoder = ENCODERS[name](json.encode)
    for size in range(len(messages) + 1):
        sent = encoder.encode(make_request(messages[:size], PODS))
        assert sent == encode_anew(name, messages[:size])


@for_all
def test_a_message_of_the_past_that_changes_is_sent_as_it_is_now(name: str) -> None:
    encoder = ENCODERS[name](json.encode)
    messages = make_conversation(8)
    before = encoder.encode(make_request(messages, PODS))
    assert b"result 1" in before
    changed = messages[5]
    assert isinstance(changed, ToolMessage)
    messages[5] = replace(changed, content="[removed]")
    after = encoder.encode(make_request(messages, PODS))
    assert b"result 1" not in after
    assert after == encode_anew(name, messages)


@for_all
def test_a_conversation_that_became_shorter_is_sent_short(name: str) -> None:
    encoder = ENCODERS[name](json.encode)
    messages = make_conversation(8)
    encoder.encode(make_request(messages, PODS))
    assert encoder.encode(make_request(messages[:6], PODS)) == encode_anew(name, messages[:6])


@for_all
def test_each_message_is_encoded_once(name: str) -> None:
    encode = CountingEncode()
    encoder = ENCODERS[name](encode)
    messages = make_conversation(0)
    for number in range(30):
        messages += make_turn(number)
        encoder.encode(make_request(messages, PODS))
    assert len(encode.seen) == len(messages) + 1
