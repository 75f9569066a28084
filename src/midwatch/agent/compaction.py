"""Makes room in a conversation that no longer fits a model: the oldest tool results give way to a line each.

Only the conversation in memory is shortened. The journal keeps every result, and a run that resumes shortens again.
"""

from collections.abc import MutableSequence, Sequence
from dataclasses import replace

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.kit.tokens import estimate_tokens

_WORTH_CUTTING = 400
_AT_LEAST = 0.3
"""Share of the conversation that is given up at a time, lest the next answer do not fit again."""
_KEPT_RESULTS = 1
"""The newest results are what the model is about to think about."""


def measure(messages: Sequence[Message]) -> int:
    """Estimated tokens."""
    return sum(_measure_one(message) for message in messages)


def shorten(messages: MutableSequence[Message]) -> int:
    """Cuts the oldest results, in place, until enough is gone. Returns how many were cut; none when none is left."""
    wanted = measure(messages) * _AT_LEAST
    cut, gained = 0, 0
    for place, message in _list_cuttable(messages):
        if gained >= wanted:
            break
        shorter = replace(message, content=_line_for(message))
        gained += _measure_one(message) - _measure_one(shorter)
        messages[place] = shorter
        cut += 1
    return cut


def _list_cuttable(messages: Sequence[Message]) -> list[tuple[int, ToolMessage]]:
    results = [(place, message) for place, message in enumerate(messages) if isinstance(message, ToolMessage)]
    old = results[: len(results) - _KEPT_RESULTS]
    return [(place, message) for place, message in old if len(message.content) > _WORTH_CUTTING]


def _line_for(message: ToolMessage) -> str:
    size = len(message.content)
    return f"[{size:,} characters of this result were removed to make room; call {message.name} again if you need them]"


def _measure_one(message: Message) -> int:
    match message:
        case SystemMessage(text=text) | UserMessage(text=text):
            return estimate_tokens(text)
        case AssistantMessage():
            return estimate_tokens(message.text) + sum(estimate_tokens(call.arguments) for call in message.calls)
        case ToolMessage():
            return estimate_tokens(message.content)
