"""Our conversation in the words of pydantic-ai. Pure. Tools are only declared, as what somebody else will run."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic import ValidationError
from pydantic_ai.messages import (
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition as LibraryTool

from midwatch.domain.messages import AssistantMessage, Message
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit import json
from midwatch.llm.loose_json import read_object
from midwatch.llm.provider_state import unpack_state
from midwatch.llm.tool_schemas import flatten_schema
from midwatch.llm.toolnames import encode_name
from midwatch.llm.turns import Answer, Turn, cut_turns, list_instructions

LABEL = "pydantic-ai"
_FILLER = "Go on."
_NO_OUTPUT = "(no output)"


def translate_conversation(messages: Sequence[Message]) -> list[ModelMessage]:
    """Requests and responses take turns, and we have the first word and the last."""
    heard: list[ModelRequestPart] = [
        SystemPromptPart(json.clean_text(part.text)) for part in list_instructions(messages)
    ]
    translated: list[ModelMessage] = []
    for turn in cut_turns(messages):
        if turn.said is not None and (reply := translate_reply(turn.said)):
            translated += (ModelRequest(parts=_fill(heard)), reply)
            heard = list(_list_answers(turn))
        heard += [UserPromptPart(json.clean_text(message.text)) for message in turn.heard if message.text.strip()]
    return [*translated, ModelRequest(parts=_fill(heard))]


def fit_ids(messages: Sequence[ModelMessage], *, length: int) -> list[ModelMessage]:
    """For providers that want ids of calls of one length, whoever gave them; what fits is left as it is."""
    return [replace(message, parts=[_fit_part(part, length) for part in message.parts]) for message in messages]


def translate_tool(tool: ToolDefinition) -> LibraryTool:
    return _declare(tool.full_name, description=tool.description, tool=tool)


def stand_in_for_past(messages: Iterable[Message]) -> list[LibraryTool]:
    """Tools that were called and are offered no more: several providers refuse calls of tools that nobody declared."""
    replies = (message for message in messages if isinstance(message, AssistantMessage))
    return [_declare(name) for name in dict.fromkeys(call.name for reply in replies for call in reply.calls)]


def translate_reply(message: AssistantMessage) -> ModelResponse | None:
    """As it came, if it came from here. Nothing for a reply that said nothing."""
    if replayed := _replay(message):
        return replayed
    calls = [_translate_call(call, message) for call in message.calls]
    parts: list[ModelResponsePart] = [
        *([TextPart(json.clean_text(message.text))] if message.text.strip() else []),
        *calls,
    ]
    return ModelResponse(parts=parts) if parts else None


def _fill(heard: list[ModelRequestPart]) -> list[ModelRequestPart]:
    is_asked = any(isinstance(part, ToolReturnPart | UserPromptPart) for part in heard)
    return heard if is_asked else [*heard, UserPromptPart(_FILLER)]


def _fit_part(part: ModelRequestPart | ModelResponsePart, length: int) -> Any:
    if not isinstance(part, ToolCallPart | ToolReturnPart):
        return part
    given = part.tool_call_id
    if len(given) == length and given.isascii() and given.isalnum():
        return part
    return replace(part, tool_call_id=hashlib.sha256(given.encode("utf-8", "surrogatepass")).hexdigest()[:length])


def _declare(name: str, *, description: str = "", tool: ToolDefinition | None = None) -> LibraryTool:
    return LibraryTool(
        name=encode_name(name),
        description=description or None,
        parameters_json_schema=flatten_schema(tool.schema if tool else {}),
        kind="external",
        strict=False,
    )


def _list_answers(turn: Turn) -> Iterator[ToolReturnPart]:
    for answer in turn.answers if turn.said else ():
        yield _translate_answer(answer, turn.said)


def _translate_answer(answer: Answer, asked_by: AssistantMessage | None) -> ToolReturnPart:
    result = answer.result
    return ToolReturnPart(
        tool_name=encode_name(answer.call.name),
        content=json.clean_text(result.content) if result and result.content.strip() else _NO_OUTPUT,
        tool_call_id=_wire_id(answer.call, asked_by),
        outcome="failed" if result is None or result.is_error else "success",
    )


def _replay(message: AssistantMessage) -> ModelResponse | None:
    response = _unpack(message)
    calls = {call.provider_id: call for call in message.calls}
    if response is None or _list_ids(response) != list(calls):
        return None
    parts = [
        _say_again(part, calls[part.tool_call_id]) if isinstance(part, ToolCallPart) else part
        for part in response.parts
    ]
    has_words = any(not isinstance(part, ThinkingPart) for part in parts)
    return replace(response, parts=parts) if has_words else None


def _unpack(message: AssistantMessage) -> ModelResponse | None:
    try:
        (response,) = ModelMessagesTypeAdapter.validate_python(unpack_state(LABEL, message.provider_state))
    except (ValidationError, ValueError):
        return None
    return response if isinstance(response, ModelResponse) else None


def _list_ids(response: ModelResponse) -> list[str]:
    return [part.tool_call_id for part in response.parts if isinstance(part, ToolCallPart)]


def _say_again(part: ToolCallPart, call: ToolCall) -> ToolCallPart:
    return replace(part, tool_name=encode_name(call.name), args=_repair_arguments(call.arguments))


def _translate_call(call: ToolCall, message: AssistantMessage) -> ToolCallPart:
    return ToolCallPart(
        tool_name=encode_name(call.name),
        args=_repair_arguments(call.arguments),
        tool_call_id=_wire_id(call, message),
    )


def _repair_arguments(arguments: str) -> str:
    return arguments if read_object(arguments) is not None else "{}"


def _wire_id(call: ToolCall, message: AssistantMessage | None) -> str:
    """Ids of other providers may be longer than is taken here, or come twice in one conversation."""
    is_ours = message is not None and unpack_state(LABEL, message.provider_state)
    return call.provider_id if is_ours else f"call_{call.call_id.hex}"
