"""The tool results of a conversation as facts, each with the call it comes from; what gave no facts is noted too."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from midwatch.domain.messages import AssistantMessage, Message, ToolMessage
from midwatch.domain.tools import ToolCall
from midwatch.kit import json
from midwatch.llm.demo.answers import Answer, read_answer
from midwatch.llm.demo.needs import SPELLINGS
from midwatch.llm.demo.wording import show

A = TypeVar("A", bound=Answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One call and its result."""

    name: str
    arguments: Mapping[str, Any]
    content: str | None
    """None: the conversation holds no result."""
    is_error: bool = False

    @property
    def signature(self) -> tuple[str, str]:
        return sign(self.name, self.arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen(Generic[A]):
    source: str
    """Full name of the tool."""
    arguments: Mapping[str, Any]
    answer: A

    def argument(self, name: str) -> Any:
        """What was asked for, however the tool calls the argument."""
        return next((self.arguments[spelling] for spelling in SPELLINGS[name] if spelling in self.arguments), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A call that told us nothing."""

    source: str
    arguments: Mapping[str, Any]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    seen: tuple[Seen[Answer], ...] = ()
    troubles: tuple[Trouble, ...] = ()

    def of(self, shape: type[A]) -> list[Seen[A]]:
        return [cast("Seen[A]", seen) for seen in self.seen if isinstance(seen.answer, shape)]

    def last(self, shape: type[A]) -> Seen[A] | None:
        return next(iter(reversed(self.of(shape))), None)


def sign(name: str, arguments: Mapping[str, Any]) -> tuple[str, str]:
    """What makes two calls the same call."""
    return name, json.encode_text(dict(sorted(arguments.items())))


def list_exchanges(messages: Sequence[Message]) -> list[Exchange]:
    return [
        _pair(call, messages[place + 1 :])
        for place, message in enumerate(messages)
        if isinstance(message, AssistantMessage)
        for call in message.calls
    ]


def gather_facts(exchanges: Sequence[Exchange]) -> Facts:
    read = [_read(exchange) for exchange in exchanges]
    return Facts(
        seen=tuple(item for item in read if isinstance(item, Seen)),
        troubles=tuple(item for item in read if isinstance(item, Trouble)),
    )


def _pair(call: ToolCall, later: Sequence[Message]) -> Exchange:
    """A provider's ids may repeat in later turns, so only the answers up to the next reply count."""
    answers = (message for message in _until_the_next_reply(later) if message.provider_id == call.provider_id)
    answer = next(answers, None)
    return Exchange(
        name=call.name,
        arguments=_decode_object(call.arguments) or {},
        content=answer.content if answer else None,
        is_error=answer is not None and answer.is_error,
    )


def _until_the_next_reply(later: Sequence[Message]) -> Iterator[ToolMessage]:
    for message in later:
        if isinstance(message, AssistantMessage):
            return
        if isinstance(message, ToolMessage):
            yield message


def _read(exchange: Exchange) -> Seen[Answer] | Trouble:
    document = _decode_object(exchange.content or "")
    answer = read_answer(document) if document is not None and not exchange.is_error else None
    if answer is not None:
        return Seen(source=exchange.name, arguments=exchange.arguments, answer=answer)
    return Trouble(source=exchange.name, arguments=exchange.arguments, reason=_reason(exchange, document))


def _reason(exchange: Exchange, document: dict[str, Any] | None) -> str:
    if exchange.content is None:
        return "no result"
    if exchange.is_error:
        return f"failed: {show(_error_text(document) or exchange.content)}"
    if document is None:
        return "answered in text that my rules cannot read"
    return "answered in a form that my rules do not know"


def _error_text(document: dict[str, Any] | None) -> str:
    match document:
        case {"error": {"code": str(code), "message": str(message)}}:
            return f"{code}: {message}"
        case _:
            return ""


def _decode_object(text: str) -> dict[str, Any] | None:
    try:
        document = json.decode(text)
    except ValueError:
        return None
    return cast("dict[str, Any]", document) if isinstance(document, dict) else None
