"""The demo model at its desk: an alert, tools that answer from a table, and the conversation that comes of it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from midwatch.agent.prompts.render import render_investigation
from midwatch.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit import json
from midwatch.llm.demo.model import DemoModel
from midwatch.llm.model import CallChunk, ModelRequest, TextChunk, ThinkingChunk

_TEXT = {"type": "string"}
_NUMBER = {"type": "integer", "minimum": 1, "maximum": 50}
_MAYBE_TEXT = {"anyOf": [{"type": "string"}, {"type": "null"}]}
_MAYBE_PORT = {"anyOf": [{"type": "integer"}, {"type": "null"}]}
_SORT = {"enum": ["cpu", "memory", "started"], "type": "string"}
_STATE = {"$ref": "#/$defs/State"}
_DEFS = {"State": {"enum": ["all", "running", "failed", "stopped"], "type": "string"}}
_PROPERTIES: Mapping[str, Mapping[str, Any]] = {
    "overview": {},
    "load": {},
    "memory": {},
    "processes": {"sort": _SORT, "limit": _NUMBER, "name_contains": _MAYBE_TEXT},
    "process": {"pid": {"type": "integer"}},
    "disks": {},
    "largest": {"path": _TEXT, "limit": _NUMBER},
    "deleted_files": {"limit": _NUMBER},
    "ports": {"port": _MAYBE_PORT, "limit": _NUMBER},
    "services": {"state": _STATE, "name_contains": _MAYBE_TEXT, "limit": _NUMBER},
    "journal": {"unit": _MAYBE_TEXT, "since_minutes": {"type": "integer"}, "priority": _MAYBE_TEXT, "lines": _NUMBER},
    "logs": {"contains": _MAYBE_TEXT},
    "read_log": {"path": _TEXT, "lines": {"type": "integer", "maximum": 400}, "contains": _MAYBE_TEXT},
    "kernel_messages": {"lines": _NUMBER, "contains": _MAYBE_TEXT},
    "containers": {"all": {"type": "boolean"}, "limit": _NUMBER},
    "container_logs": {"name": _TEXT, "lines": _NUMBER},
}
_REQUIRED = {"process": ["pid"], "largest": ["path"], "read_log": ["path"], "container_logs": ["name"]}

Answer = Mapping[str, Any] | str | Exception
Answers = Mapping[str, Answer | Callable[[Mapping[str, Any]], Answer]]


def define(
    name: str,
    *,
    server: str = "midwatch-host",
    description: str = "",
    properties: Mapping[str, Any] | None = None,
    required: Sequence[str] = (),
    defs: Mapping[str, Any] | None = None,
    reads: bool | None = None,
) -> ToolDefinition:
    schema = {"type": "object", "properties": properties or {}, "required": list(required), "$defs": defs or {}}
    return ToolDefinition(server=server, name=name, description=description, schema=schema, read_only_hint=reads)


def host_tools(*, server: str = "midwatch-host", without: Sequence[str] = ()) -> tuple[ToolDefinition, ...]:
    return tuple(
        define(name, server=server, properties=properties, required=_REQUIRED.get(name, []), defs=_DEFS)
        for name, properties in _PROPERTIES.items()
        if name not in without
    )


def open_conversation(alert: str, *, runbook: str = "", earlier: Sequence[tuple[str, str]] = ()) -> list[Message]:
    text = render_investigation(alert_type="host", alert_data=alert, runbook=runbook, earlier=earlier)
    return [UserMessage(text=text)]


@dataclass(slots=True)
class Desk:
    alert: str
    answers: Answers = field(default_factory=dict[str, Answer])
    tools: Sequence[ToolDefinition] = field(default_factory=host_tools)
    runbook: str = ""
    earlier: Sequence[tuple[str, str]] = ()
    messages: list[Message] = field(default_factory=list[Message])
    thoughts: list[str] = field(default_factory=list[str])
    rounds: list[list[str]] = field(default_factory=list[list[str]])

    def __post_init__(self) -> None:
        self.messages = self.messages or open_conversation(self.alert, runbook=self.runbook, earlier=self.earlier)

    async def investigate(self) -> str:
        """The final text."""
        for _ in range(10):
            reply = await self.ask()
            if not reply.calls:
                return reply.text
            self.messages += [self.answer(call) for call in reply.calls]
        raise AssertionError("it never concluded")

    async def ask(self, *, tools: Sequence[ToolDefinition] | None = None) -> AssistantMessage:
        request = ModelRequest(
            messages=tuple(self.messages), tools=self.tools if tools is None else tools, agent="watch"
        )
        chunks = [chunk async for chunk in DemoModel().stream(request)]
        calls = [chunk for chunk in chunks if isinstance(chunk, CallChunk)]
        reply = AssistantMessage(
            text="".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)),
            thinking="".join(chunk.text for chunk in chunks if isinstance(chunk, ThinkingChunk)),
            calls=tuple(
                ToolCall(call_id=uuid4(), provider_id=call.provider_id, name=call.name, arguments=call.arguments)
                for call in calls
            ),
        )
        self.messages.append(reply)
        if calls:
            self.thoughts.append(reply.thinking)
            self.rounds.append([_shorten(call) for call in calls])
        return reply

    @property
    def asked(self) -> list[str]:
        return [call for calls in self.rounds for call in calls]

    def answer(self, call: ToolCall) -> ToolMessage:
        tool, arguments = call.name.partition(".")[2], json.decode(call.arguments)
        answer = self.answers.get(tool, "There is no answer to this.")
        if callable(answer):
            answer = answer(arguments)
        match answer:
            case Exception():
                content = str(answer)
            case str():
                content = answer
            case _:
                content = json.encode_text({"notes": [], **answer})
        return ToolMessage(
            provider_id=call.provider_id, name=call.name, content=content, is_error=isinstance(answer, Exception)
        )


def _shorten(call: CallChunk) -> str:
    """`tool argument=value …`, without how much is asked for."""
    arguments = json.decode(call.arguments)
    shown = [f"{key}={value}" for key, value in arguments.items() if key not in {"limit", "lines", "since_minutes"}]
    return " ".join((call.name.partition(".")[2], *shown))
