"""Our conversation as the body of an OpenAI chat-completions request. What was encoded once is not encoded again."""

from collections.abc import Sequence
from typing import Any, assert_never

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit import json
from midwatch.llm.model import ModelRequest
from midwatch.llm.past import Past
from midwatch.llm.pieces import Encode, Pieces
from midwatch.llm.tool_schemas import flatten_schema
from midwatch.llm.toolnames import ToolNames, build_names, encode_name

_STREAMING = b',"stream":true,"stream_options":{"include_usage":true}'


class RequestEncoder:
    """Lives as long as one conversation and keeps the JSON of its messages and tools."""

    def __init__(self, model: str, *, encode: Encode = json.encode) -> None:
        self._encode = encode
        self._head = b'{"model":' + json.encode(model) + _STREAMING + b',"messages":['
        self._pieces = Pieces(encode)
        self._past = Past(None, encode=lambda messages, _: (self._encode_messages(messages), None))
        self._tools: tuple[ToolDefinition, ...] = ()
        self._tools_part = b""
        self._names = build_names(())

    @property
    def names(self) -> ToolNames:
        """The names of the tools that were offered last."""
        return self._names

    def encode(self, request: ModelRequest) -> bytes:
        self._take_tools(request.tools)
        present = self._encode_messages(self._past.split(request.messages))
        return b"".join((self._head, *self._past.add(present), b"]", self._tools_part, b"}"))

    def _encode_messages(self, messages: Sequence[Message]) -> bytes:
        return b",".join(self._pieces.get(each, lambda each=each: [translate_message(each)]) for each in messages)

    def _take_tools(self, tools: Sequence[ToolDefinition]) -> None:
        offered = tuple(tools)
        if offered == self._tools:
            return
        translated = [translate_tool(tool) for tool in offered]
        # An empty array is an error to some providers; none of the tools is said by leaving it out.
        self._tools_part = b',"tools":' + self._encode(translated) if translated else b""
        self._names = build_names(offered)
        self._tools = offered


def translate_message(message: Message) -> dict[str, Any]:
    """Thinking is not sent back: the protocol has no place for it."""
    match message:
        case SystemMessage():
            return {"role": "system", "content": message.text}
        case UserMessage():
            return {"role": "user", "content": message.text}
        case AssistantMessage(calls=()):
            return {"role": "assistant", "content": message.text}
        case AssistantMessage():
            calls = [_translate_call(call) for call in message.calls]
            return {"role": "assistant", "content": message.text or None, "tool_calls": calls}
        case ToolMessage():
            return {"role": "tool", "tool_call_id": message.provider_id, "content": message.content}
        case _ as never:
            assert_never(never)


def translate_tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {
        "name": encode_name(tool.full_name),
        "description": tool.description,
        "parameters": flatten_schema(tool.schema),
    }
    return {"type": "function", "function": function}


def _translate_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": encode_name(call.name), "arguments": _repair_arguments(call.arguments)}
    return {"id": call.provider_id, "type": "function", "function": function}


def _repair_arguments(arguments: str) -> str:
    # Several servers parse past arguments and refuse the whole conversation, for ever, when they are not an object.
    try:
        parsed = json.decode(arguments)
    except ValueError:
        return "{}"
    return arguments if isinstance(parsed, dict) else "{}"
