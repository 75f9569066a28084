"""The shapes that all answers share. Text that enters one is cleaned and clipped on the way; `fit` bounds the whole."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar, cast

import pydantic_core
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from midwatch.bundled.host.bounds import MAX_CHARACTERS, show_message, show_name

_MAX_NOTES = 12
_ROOM_FOR_CUT_NOTES = 500
_LAST_SECOND = datetime(9999, 12, 31, tzinfo=UTC).timestamp()


class Unanswerable(Exception):
    """The question cannot be answered as it was asked. The text says what to ask instead."""


def _shown(show: Callable[[str, int], str], limit: int) -> BeforeValidator:
    return BeforeValidator(lambda value: show(value, limit) if isinstance(value, str) else value)


def _few(notes: Any) -> Any:
    """Notes come once each: the same thing may be noticed on several ways."""
    return list(dict.fromkeys(cast("list[Any]", notes)))[:_MAX_NOTES] if isinstance(notes, list) else notes


Word = Annotated[str, _shown(show_name, 64)]
Name = Annotated[str, _shown(show_name, 120)]
Command = Annotated[str, _shown(show_name, 200)]
PathText = Annotated[str, _shown(show_name, 400)]
Line = Annotated[str, _shown(show_message, 500)]
Note = Annotated[str, _shown(show_name, 300)]
Percent = Annotated[float, Field(description="0 to 100, one digit")]


class Shape(BaseModel):
    model_config = ConfigDict(frozen=True)


class Answer(Shape):
    truncated: bool = Field(default=False, description="There was more than is shown")
    notes: Annotated[list[Note], BeforeValidator(_few)] = Field(
        default_factory=list, description="What could not be seen, and what to use instead"
    )


class Listing(Answer):
    total: int = Field(description="How many there are, shown or not")


class Tail(Answer):
    """Lines in the order they were written. What is cut is cut at the start: the newest stay."""


AnswerT = TypeVar("AnswerT", bound=Answer)


def fit(answer: AnswerT) -> AnswerT:
    """The answer within its bound: the longest list loses what matters least, and a note says so."""
    if len(answer.model_dump_json()) <= MAX_CHARACTERS:
        return answer
    short = answer
    while (excess := len(short.model_dump_json()) + _ROOM_FOR_CUT_NOTES - MAX_CHARACTERS) > 0:
        lists = _find_lists(short)
        longest = max(lists, key=lambda name: _measure(lists[name]))
        kept = _drop(lists[longest], excess, from_start=isinstance(answer, Tail))
        short = short.model_copy(update={longest: kept})
    cut_notes = _tell_cuts(_find_lists(answer), _find_lists(short))
    return short.model_copy(update={"truncated": True, "notes": [*short.notes, *cut_notes]})


def tell_time(timestamp: float) -> str:
    """ISO 8601 in UTC. A file may claim any time, even one that no calendar has."""
    moment = datetime.fromtimestamp(min(max(timestamp, 0.0), _LAST_SECOND), UTC)
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


def _find_lists(answer: Answer) -> dict[str, list[Any]]:
    fields = {name: getattr(answer, name) for name in type(answer).model_fields if name != "notes"}
    return {name: cast("list[Any]", value) for name, value in fields.items() if isinstance(value, list) and value}


def _drop(items: Sequence[Any], excess: int, *, from_start: bool) -> list[Any]:
    dropped, freed = 0, 0
    for item in items if from_start else reversed(items):
        if freed >= excess:
            break
        freed += _measure(item)
        dropped += 1
    return list(items[dropped:] if from_start else items[: len(items) - dropped])


def _measure(value: Any) -> int:
    return len(pydantic_core.to_json(value).decode()) + 1


def _tell_cuts(before: dict[str, list[Any]], after: dict[str, list[Any]]) -> list[str]:
    counts = {name: (len(after.get(name, ())), len(items)) for name, items in before.items()}
    return [
        f"`{name}` shows {kept} of {found}, to keep the answer short"
        for name, (kept, found) in counts.items()
        if kept < found
    ]
