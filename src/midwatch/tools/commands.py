"""What a call would have something else run: the commands and queries in its arguments."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

from midwatch.safety.queries import find_change
from midwatch.safety.shell.classify import classify, conclude
from midwatch.safety.shell.verdict import Verdict
from midwatch.tools.places import Path, Place, list_texts, read_schema
from midwatch.tools.subjects import Subject, subjects_of

_COMMANDS: Final = frozenset((Subject.COMMAND, Subject.COMMANDS))
_COMPANIONS: Final = frozenset((Subject.WORDS, Subject.VARIABLES, Subject.SHELL))
COMMAND_PARTS: Final = frozenset((*_COMMANDS, Subject.WORDS))
_RUN: Final = frozenset((*_COMMANDS, Subject.QUERY))
_SCALARS: Final = ("string", "number", "integer", "boolean")
_EMPTY: Final[tuple[Any, ...]] = (None, "", [], {})
_SHELLS: Final = {
    folder + name: shell
    for folder in ("", "/bin/", "/usr/bin/", "/usr/local/bin/")
    for name, shell in (("bash", "bash"), ("sh", "sh"), ("dash", "sh"), ("ash", "sh"))
}
_USUAL_SHELL: Final = "bash"
_UNREADABLE: Final = "unreadable"
"""Of arguments that cannot be put together to a command line: no shell of that name is known, so it is a write."""
_BETWEEN_PAIRS: Final = re.compile(r"[\s,;]+")
_NO_PAIR: Final = "="
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


_judge = lru_cache(maxsize=64)(classify)
"""A call is put in its order, bounded and appraised, and its command is the same each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    verdict: Verdict
    """Of all that the call would run."""
    lines: tuple[str, ...]
    """Of what stands near enough to be what the call is about, and not a part of a document."""
    place: Path | None
    """Where it stands, if it is one, and nothing but its words stands beside it."""
    is_whole: bool
    """All of it stands there, so that another can be put in its place."""
    is_readable: bool
    """All its words are known."""


class _Line(NamedTuple):
    place: Place
    text: str
    shell: str = _USUAL_SHELL
    is_whole: bool = False
    """All of it stands there, so that another can be put in its place."""
    is_one: bool = False
    """It is the value there, and not one of several."""


def find_command(places: Sequence[Place]) -> Command | None:
    """All that is there counts: which of them a tool looks at is not known.

    A word out of a list that the tool itself gives is no command line: whoever judged the tool has judged it.
    """
    commands = [place for place in places if place.subjects & _COMMANDS and not place.is_choice]
    if not commands:
        return None
    companions = [place for place in places if place.subjects & _COMPANIONS]
    is_apart = any(_is_apart(companion, commands) for companion in companions)
    lines = [line for place in commands for line in _read_lines(place, companions)]
    verdicts = [_judge(line.text, shell=_UNREADABLE if is_apart else line.shell) for line in lines]
    near = [line for line in lines if line.place.is_near]
    is_readable = not is_apart and all(line.shell != _UNREADABLE for line in near)
    only = lines[0] if len(lines) == len(near) == 1 and lines[0].is_one and is_readable else None
    return Command(
        verdict=verdicts[0] if len(verdicts) == 1 else _combine(verdicts),
        lines=tuple(line.text for line in near),
        place=None if only is None else only.place.path,
        is_whole=only is not None and only.is_whole,
        is_readable=is_readable,
    )


def find_query_change(places: Sequence[Place]) -> str | None:
    """What a query in the arguments says it would change."""
    texts = (text for place in places if Subject.QUERY in place.subjects for text in list_texts(place.value))
    return next((change for text in texts if (change := find_change(text)) is not None), None)


def takes_text(properties: Mapping[str, Any]) -> bool:
    """Whether what a call does may depend on what stands in its arguments; who does not say, may."""
    return not properties or any(map(_may_hold_text, properties, properties.values()))


def find_words(holder: Mapping[str, Any]) -> list[str]:
    """The arguments in which further words of a command stand."""
    return [name for name in holder if Subject.WORDS in subjects_of(name)]


def _may_hold_text(name: str, described: Any) -> bool:
    return bool(subjects_of(name) & _RUN) or read_schema(described).get("type") not in _SCALARS


def _is_apart(companion: Place, commands: Sequence[Place]) -> bool:
    """It says more of a command than stands in the same object, and nobody knows of which."""
    if any(
        place.holder is companion.holder or place.path[:-1][: len(companion.path)] == companion.path
        for place in commands
    ):
        return False
    if Subject.WORDS in companion.subjects:
        return bool(companion.value)
    if Subject.VARIABLES in companion.subjects:
        return any(_list_pairs(companion.value))
    return _name_shell([companion.value]) != _USUAL_SHELL


def _combine(verdicts: Sequence[Verdict]) -> Verdict:
    text = "\n".join(verdict.command for verdict in verdicts)
    return conclude(text, [finding for verdict in verdicts for finding in verdict.findings])


def _read_lines(place: Place, companions: Sequence[Place]) -> Iterator[_Line]:
    """The line or lines, each with the words, the variables and the shell that stand beside it."""
    beside = [companion for companion in companions if companion.holder is place.holder]
    words = [value for value in _list_values(beside, Subject.WORDS) if value not in _EMPTY]
    settings = _read_variables(_list_values(beside, Subject.VARIABLES))
    shell = _name_shell(_list_values(beside, Subject.SHELL))
    if settings is None or len(words) > 1 or (words and Subject.COMMANDS in place.subjects):
        shell = _UNREADABLE
    for value in _separate(place):
        parts = [_read_part(part) for part in (value, *words)]
        yield _Line(
            place=place,
            text=" ".join(part for part in parts if part is not None),
            shell=_UNREADABLE if None in parts else shell,
            is_whole=not words and isinstance(value, str),
            is_one=place.value is value,
        )
    for setting in settings or ():
        yield _Line(place=place, text=f"{setting} true")


def _list_values(places: Sequence[Place], subject: Subject) -> list[Any]:
    return [place.value for place in places if subject in place.subjects]


def _separate(place: Place) -> list[Any]:
    """A list is the words of one command, or several commands, as its name says."""
    value: Any = place.value
    return cast("list[Any]", value) if Subject.COMMANDS in place.subjects and isinstance(value, list) else [value]


def _read_variables(values: Sequence[Any]) -> list[str] | None:
    """As a shell would write them; None when that is not possible."""
    settings: list[str] = []
    for pair in (pair for value in values for pair in _list_pairs(value)):
        match = _ASSIGNMENT.fullmatch(pair)
        if match is None:
            return None
        settings.append(f"{match[1]}={shlex.quote(match[2])}")
    return settings


def _list_pairs(value: Any) -> Iterator[str]:
    """A text without an equals sign names a place where something runs, as in `environment: production`."""
    if isinstance(value, Mapping):
        yield from (f"{name}={setting}" for name, setting in cast("Mapping[str, Any]", value).items())
        return
    for part in cast("list[Any]", value) if isinstance(value, list) else [value or ""]:
        pieces = _BETWEEN_PAIRS.split(part) if isinstance(part, str) else [_NO_PAIR]
        yield from (piece for piece in pieces if "=" in piece)


def _name_shell(values: Sequence[Any]) -> str:
    """Some tools ask whether there is to be a shell, and some which one."""
    named = [value for value in values if value not in (None, "", True, False)]
    known = {_SHELLS.get(value, _UNREADABLE) if isinstance(value, str) else _UNREADABLE for value in named}
    if not known:
        return _USUAL_SHELL
    return known.pop() if len(known) == 1 else _UNREADABLE


def _read_part(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    words = cast("Sequence[Any]", value) if isinstance(value, list) else [value]
    return shlex.join(cast("list[str]", words)) if all(isinstance(word, str) for word in words) else None
