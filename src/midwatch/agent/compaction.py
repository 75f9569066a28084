"""Makes room in a conversation that no longer fits a model: the oldest tool results give way to a line each, under
which they can be opened again.

Only the conversation in memory is shortened. The journal keeps every result, and a run that resumes shortens again.
"""

from collections.abc import MutableSequence, Sequence
from dataclasses import replace
from uuid import UUID

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.domain.results import RESULT_SERVER, name_result
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
    for place, message, call_id in _list_cuttable(messages):
        if gained >= wanted:
            break
        shorter = replace(message, content=_line_for(message, call_id))
        gained += _measure_one(message) - _measure_one(shorter)
        messages[place] = shorter
        cut += 1
    return cut


def _list_cuttable(messages: Sequence[Message]) -> list[tuple[int, ToolMessage, UUID | None]]:
    old = _list_results(messages)[:-_KEPT_RESULTS]
    return [result for result in old if len(result[1].content) > _WORTH_CUTTING]


def _list_results(messages: Sequence[Message]) -> list[tuple[int, ToolMessage, UUID | None]]:
    """Where each stands, and the call it answers: providers may give calls of another turn the same ids."""
    results: list[tuple[int, ToolMessage, UUID | None]] = []
    calls: dict[str, UUID] = {}
    for place, message in enumerate(messages):
        if isinstance(message, AssistantMessage):
            calls = {call.provider_id: call.call_id for call in message.calls}
        elif isinstance(message, ToolMessage):
            results.append((place, message, calls.get(message.provider_id)))
    return results


def _line_for(message: ToolMessage, call_id: UUID | None) -> str:
    told = f"[{len(message.content):,} characters were removed here to make room"
    if call_id is None or message.name.startswith(f"{RESULT_SERVER}."):
        return f"{told}; call {message.name} again if you need them]"
    return (
        f"{told}; open them again as result {name_result(call_id)}, with result.search, result.slice or result.query]"
    )


def _measure_one(message: Message) -> int:
    match message:
        case SystemMessage(text=text) | UserMessage(text=text):
            return estimate_tokens(text)
        case AssistantMessage():
            return estimate_tokens(message.text) + sum(estimate_tokens(call.arguments) for call in message.calls)
        case ToolMessage():
            return estimate_tokens(message.content)
