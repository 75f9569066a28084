"""Conversations for the tests of the adapters: one that is whole, and any that could be thought of."""

from typing import Any

from hypothesis import strategies as st

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.model import ModelRequest
from midwatch.llm.provider_state import pack_state

PODS = ToolDefinition(
    server="kubernetes",
    name="pods_list",
    description="Lists pods",
    schema={"type": "object", "properties": {"namespace": {"type": "string"}}, "required": ["namespace"]},
)
NODES = ToolDefinition(server="kubernetes", name="nodes", description="", schema={})


class CountingEncode:
    def __init__(self) -> None:
        self.seen: list[object] = []

    def __call__(self, value: object) -> bytes:
        self.seen.append(value)
        return json.encode(value)


def make_call(name: str, arguments: str = "{}", *, provider_id: str = "call_1") -> ToolCall:
    return ToolCall(call_id=new_id(), provider_id=provider_id, name=name, arguments=arguments)


def make_request(messages: list[Message], *tools: ToolDefinition) -> ModelRequest:
    return ModelRequest(messages=messages, tools=tools, agent="Investigator")


_texts = st.sampled_from(["", " \n", "hello", "käse \ud800"])
_ids = st.sampled_from(["a", "b", "call/1", "", "x" * 80])
_arguments = st.sampled_from(["{}", '{"n":1}', "{broken", "[1]", ""])
_calls = st.builds(
    make_call, st.sampled_from(["kubernetes.pods_list", "made up", "a__b.c"]), _arguments, provider_id=_ids
)
_PARTS: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "hm", "signature": "s"},
    {"type": "redacted_thinking", "data": "d"},
    {"type": "text", "text": "said"},
    {"type": "text", "text": " "},
    {"type": "tool_use", "id": "a"},
    {"type": "tool_use", "id": "b"},
    {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "e"},
    {"type": "function_call", "call_id": "a"},
    {"type": "message", "role": "assistant", "content": []},
    {"type": "unheard of"},
    {},
]
_parts = st.sampled_from(_PARTS)
_states = (
    st.none()
    | st.sampled_from([b"", b"{", b"[]", b'{"anthropic":7}', b'{"google":[]}'])
    | st.builds(pack_state, st.sampled_from(["anthropic", "openai", "google"]), st.lists(_parts, max_size=4))
)
_replies = st.builds(
    AssistantMessage,
    text=_texts,
    thinking=_texts,
    calls=st.lists(_calls, max_size=3, unique_by=lambda call: call.provider_id).map(tuple),
    provider_state=_states,
)
_results = st.builds(
    ToolMessage, provider_id=_ids, name=st.just("kubernetes.pods_list"), content=_texts, is_error=st.booleans()
)
_messages = st.builds(SystemMessage, text=_texts) | st.builds(UserMessage, text=_texts) | _replies | _replies | _results

any_conversation: st.SearchStrategy[list[Message]] = st.lists(_messages, max_size=10)
