"""A conversation with tools as one without: tools are described in words, calls and results become text."""

from collections.abc import Sequence

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit import json
from midwatch.llm.provider_state import unpack_state

LABEL = "react"

_FORM = """\
## How to answer

You cannot call tools directly. Write exactly one of these two forms, and nothing before or after it.

To use a tool:

Thought: what you know, and why you need this tool next
Action: the tool's full name, such as server.tool
Action Input: its arguments as one JSON object

Then stop. The next message begins with "Observation:" and holds the result. Never write an observation yourself.

When you have enough:

Thought: why you can conclude
Final Answer: your whole analysis"""

FEEDBACK = """\
That was not in the form I can read. Write "Thought:", then either "Action:" with a tool's full name and \
"Action Input:" with one JSON object, or "Final Answer:" with your whole analysis. Each begins on a line of its own."""


def describe_tools(tools: Sequence[ToolDefinition]) -> str:
    lines = [_describe(tool) for tool in tools]
    return "\n\n".join([_FORM, "## Tools", *lines])


class PlainConversation:
    """Translates each message once: whoever encodes them knows them again by their identity."""

    def __init__(self) -> None:
        self._kept: list[tuple[Message, Message]] = []
        self._tools: tuple[ToolDefinition, ...] | None = None

    def translate(self, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> list[Message]:
        offered = tuple(tools)
        if offered != self._tools:
            self._kept.clear()
            self._tools = offered
        for place, message in enumerate(messages):
            if place < len(self._kept) and self._kept[place][0] is message:
                continue
            del self._kept[place:]
            self._kept.append((message, _translate(message, offered)))
        return [plain for _, plain in self._kept[: len(messages)]]


def _translate(message: Message, tools: tuple[ToolDefinition, ...]) -> Message:
    match message:
        case SystemMessage(text=text) if tools:
            return SystemMessage(text=f"{text}\n\n{describe_tools(tools)}")
        case ToolMessage():
            return UserMessage(text=f"Observation: {message.name}: {message.content}")
        case AssistantMessage():
            return AssistantMessage(text=_speak(message))
        case _:
            return message


def _speak(message: AssistantMessage) -> str:
    """In its own words where they are known; an answer of another provider is put into the form."""
    own = [part["text"] for part in unpack_state(LABEL, message.provider_state) if isinstance(part.get("text"), str)]
    if own:
        return own[0]
    if not message.calls:
        return f"Final Answer: {message.text}"
    thought = [f"Thought: {message.text}"] if message.text.strip() else []
    return "\n".join([*thought, *(_act(call) for call in message.calls)])


def _act(call: ToolCall) -> str:
    return f"Action: {call.name}\nAction Input: {call.arguments}"


def _describe(tool: ToolDefinition) -> str:
    return f"### {tool.full_name}\n{tool.description.strip()}\nArguments: {json.encode_text(tool.schema)}"
