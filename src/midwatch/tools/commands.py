"""What a call would have something else run: the command or the query in its arguments."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast

from midwatch.safety.queries import find_change
from midwatch.safety.shell.classify import classify
from midwatch.safety.shell.verdict import Verdict

_COMMANDS: Final = ("command", "cmd")
ARGUMENTS: Final = ("args", "arguments", "argv")
_QUERIES: Final = ("query", "sql", "statement")
_UNREADABLE: Final = "unreadable"
"""Of arguments that cannot be put together to a command line: no shell of that name is known, so it is a write."""


_judge = lru_cache(maxsize=64)(classify)
"""A call is put in its order, bounded and appraised, and its command is the same each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    place: str
    """The argument it stands in."""
    verdict: Verdict
    is_whole: bool
    """All of it stands there, so that another can be put in its place."""
    is_readable: bool = True
    """All its words are known."""


def find_command(arguments: Mapping[str, Any], properties: Mapping[str, Any]) -> Command | None:
    """A word out of a list that the tool itself gives is no command line: whoever judged the tool has judged it."""
    place = next((name for name in _COMMANDS if name in arguments), None)
    if place is None or _is_choice(properties.get(place)):
        return None
    further = [arguments[name] for name in ARGUMENTS if name in arguments]
    parts = [_read_part(part) for part in (arguments[place], *further)]
    text = " ".join(part for part in parts if part is not None)
    if None in parts:
        return Command(place=place, verdict=_judge(text, shell=_UNREADABLE), is_whole=False, is_readable=False)
    is_whole = not further and isinstance(arguments[place], str)
    return Command(place=place, verdict=_judge(text), is_whole=is_whole)


def find_query_change(arguments: Mapping[str, Any]) -> str | None:
    """What the query in the arguments says it would change."""
    texts = (value for name in _QUERIES if isinstance(value := arguments.get(name), str))
    return next((change for text in texts if (change := find_change(text)) is not None), None)


def takes_text(properties: Mapping[str, Any]) -> bool:
    """Whether what a call does may depend on what stands in its arguments; who does not say, may."""
    return not properties or any(name in properties for name in (*_COMMANDS, *_QUERIES))


def _is_choice(described: Any) -> bool:
    return isinstance(described, Mapping) and ("enum" in described or "const" in described)


def _read_part(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    words = cast("Sequence[Any]", value) if isinstance(value, list) else [value]
    return shlex.join(cast("list[str]", words)) if all(isinstance(word, str) for word in words) else None
