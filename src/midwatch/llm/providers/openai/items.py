"""Our messages as the items of OpenAI's Responses API, one message at a time. Pure."""

from typing import Any

from midwatch.domain.messages import AssistantMessage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.llm.loose_json import read_object
from midwatch.llm.provider_state import unpack_state
from midwatch.llm.tool_schemas import flatten_schema
from midwatch.llm.toolnames import encode_name
from midwatch.llm.turns import Answer

LABEL = "openai"

Item = dict[str, Any]


def translate_words(role: str, text: str) -> list[Item]:
    return [{"role": role, "content": text}] if text.strip() else []


def translate_reply(message: AssistantMessage, *, with_reasoning: bool) -> list[Item]:
    """The items as they came, if they came from here. Reasoning that nothing follows is refused."""
    items = [item for item in _replay(message) if with_reasoning or item.get("type") != "reasoning"]
    while items and items[-1].get("type") == "reasoning":
        items.pop()
    return items or _compose(message)


def translate_answer(answer: Answer, *, asked_by: AssistantMessage) -> Item:
    return {
        "type": "function_call_output",
        "call_id": _wire_id(answer.call, asked_by),
        "output": answer.result.content if answer.result else "(no output)",
    }


def translate_tool(tool: ToolDefinition) -> Item:
    return {
        "type": "function",
        "name": encode_name(tool.full_name),
        "description": tool.description,
        "parameters": flatten_schema(tool.schema),
        "strict": False,
    }


def _replay(message: AssistantMessage) -> list[Item]:
    parts = unpack_state(LABEL, message.provider_state)
    calls = {call.provider_id: call for call in message.calls}
    if [part.get("call_id") for part in parts if part.get("type") == "function_call"] != list(calls):
        return []
    return [
        {**part, **_say_call(calls[part["call_id"]])} if part.get("type") == "function_call" else part for part in parts
    ]


def _compose(message: AssistantMessage) -> list[Item]:
    calls = ({"type": "function_call", "call_id": _wire_id(call, message), **_say_call(call)} for call in message.calls)
    return [*translate_words("assistant", message.text), *calls]


def _say_call(call: ToolCall) -> Item:
    arguments = call.arguments if read_object(call.arguments) is not None else "{}"
    return {"name": encode_name(call.name), "arguments": arguments}


def _wire_id(call: ToolCall, message: AssistantMessage) -> str:
    """Ids of other providers may be longer than is taken here, or come twice in one conversation."""
    is_ours = unpack_state(LABEL, message.provider_state)
    return call.provider_id if is_ours else f"call_{call.call_id.hex}"
