"""Our messages as the content blocks of Anthropic's Messages API, one message at a time. Pure."""

from typing import Any

from midwatch.domain.messages import AssistantMessage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.llm.loose_json import read_object
from midwatch.llm.provider_state import unpack_state
from midwatch.llm.tool_schemas import flatten_schema
from midwatch.llm.toolnames import encode_name
from midwatch.llm.turns import Answer

LABEL = "anthropic"
THINKING = frozenset({"thinking", "redacted_thinking"})

Block = dict[str, Any]


def translate_text(text: str) -> list[Block]:
    """A block of nothing but blanks is refused."""
    return [{"type": "text", "text": text}] if text.strip() else []


def translate_reply(message: AssistantMessage, *, with_thinking: bool) -> list[Block]:
    """The blocks as they came, if they came from here. Nothing for a reply that only thought: no message may end so."""
    blocks = [block for block in _replay(message) if with_thinking or block["type"] not in THINKING]
    while blocks and blocks[-1]["type"] in THINKING:
        blocks.pop()
    return blocks or _compose(message)


def translate_answer(answer: Answer, *, asked_by: AssistantMessage) -> Block:
    result = answer.result
    block: Block = {
        "type": "tool_result",
        "tool_use_id": _wire_id(answer.call, asked_by),
        "content": (result.content if result and result.content.strip() else "(no output)"),
    }
    return {**block, "is_error": True} if result is None or result.is_error else block


def translate_tool(tool: ToolDefinition) -> Block:
    return {
        "name": encode_name(tool.full_name),
        "description": tool.description,
        "input_schema": flatten_schema(tool.schema),
    }


def stand_in_for(name: str) -> Block:
    """A tool that was called and is offered no more: calls of tools that nobody declared are refused."""
    return {"name": encode_name(name), "description": "", "input_schema": flatten_schema({})}


def _replay(message: AssistantMessage) -> list[Block]:
    parts = unpack_state(LABEL, message.provider_state)
    calls = {call.provider_id: call for call in message.calls}
    if [part.get("id") for part in parts if part.get("type") == "tool_use"] != list(calls):
        return []
    blocks: list[Block] = []
    for part in parts:
        match part:
            case {"type": "tool_use", "id": str(call_id)}:
                blocks.append(_translate_call(calls[call_id], message))
            case {"type": "text", "text": str(text)}:
                blocks += translate_text(text)
            case {"type": "thinking" | "redacted_thinking"}:
                blocks.append(part)
            case _:
                pass
    return blocks


def _compose(message: AssistantMessage) -> list[Block]:
    return [*translate_text(message.text), *(_translate_call(call, message) for call in message.calls)]


def _translate_call(call: ToolCall, message: AssistantMessage) -> Block:
    return {
        "type": "tool_use",
        "id": _wire_id(call, message),
        "name": encode_name(call.name),
        "input": read_object(call.arguments) or {},
    }


def _wire_id(call: ToolCall, message: AssistantMessage) -> str:
    """Ids of other providers may hold letters that are refused here, or come twice in one conversation."""
    is_ours = unpack_state(LABEL, message.provider_state)
    return call.provider_id if is_ours else f"call_{call.call_id.hex}"
