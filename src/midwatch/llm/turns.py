"""The conversation cut into turns: what the model said, each of its calls with what came back, and what it was told."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.domain.tools import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    call: ToolCall
    result: ToolMessage | None
    """None if nothing came back. Providers refuse a conversation in which a call stays open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    said: AssistantMessage | None
    """None before the model has spoken for the first time."""
    answers: tuple[Answer, ...]
    heard: tuple[UserMessage, ...]


def cut_turns(messages: Sequence[Message]) -> list[Turn]:
    """System messages are no part of a turn, and a result that answers no call of its turn is left out."""
    starts = [index for index, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    edges = [0, *starts, len(messages)]
    turns = (_read_turn(messages[start:end]) for start, end in pairwise(edges))
    return [turn for turn in turns if turn.said is not None or turn.heard]


def list_instructions(messages: Sequence[Message]) -> Iterator[SystemMessage]:
    return (message for message in messages if isinstance(message, SystemMessage))


def _read_turn(messages: Sequence[Message]) -> Turn:
    said = messages[0] if messages and isinstance(messages[0], AssistantMessage) else None
    results = [message for message in messages if isinstance(message, ToolMessage)]
    return Turn(
        said=said,
        answers=tuple(_answer(call, results) for call in said.calls) if said else (),
        heard=tuple(message for message in messages if isinstance(message, UserMessage)),
    )


def _answer(call: ToolCall, results: list[ToolMessage]) -> Answer:
    """Takes its result off the list, so that two calls with one id share nothing."""
    for index, result in enumerate(results):
        if result.provider_id == call.provider_id:
            return Answer(call=call, result=results.pop(index))
    return Answer(call=call, result=None)
