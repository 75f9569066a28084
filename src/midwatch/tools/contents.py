"""Files whose content decides what a call does, and how the same tool is asked what is in them."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from midwatch.domain.tools import ToolResult
from midwatch.safety.shell.contents.finding import find_contents
from midwatch.tools.commands import find_command, find_words
from midwatch.tools.places import Path, Place, list_places, list_texts, put_at, read_at
from midwatch.tools.subjects import plain_name

MOST: Final = 8
"""Files that are read for one question. Nobody compares more."""
_DIGEST: Final = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{64}(?![0-9A-Za-z])")
_FILE_NAMES: Final = frozenset(
    f"{what}{how}{many}"
    for what in ("script", "manifest", "playbook", "values", "patch", "sql", "query", "template", "var", "vars")
    for how in ("file", "path")
    for many in ("", "s", "name", "names")
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedContent:
    path: str
    asking: Mapping[str, Any] | None
    """Arguments with which the same tool prints the file's SHA-256. None when it cannot be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedContents:
    files: tuple[NamedContent, ...] = ()
    unclear: str | None = None
    """A part of its command that cannot be followed, so that there may be more."""


def find_named(arguments: Mapping[str, Any], properties: Mapping[str, Any]) -> NamedContents:
    places = list_places(arguments, properties)
    by_name = tuple(_list_by_name(places))
    command = find_command(places)
    if command is None:
        return NamedContents(files=by_name)
    if not command.is_readable:
        return NamedContents(files=by_name, unclear="its words are no command line")
    found = [find_contents(line) for line in command.lines]
    in_command = (
        NamedContent(path=file.path, asking=_give_command(arguments, command.place, file.digesting))
        for contents in found
        for file in contents.files
    )
    unclear = next((contents.unclear for contents in found if contents.unclear is not None), None)
    return NamedContents(files=(*by_name, *in_command), unclear=unclear)


def _give_command(arguments: Mapping[str, Any], place: Path | None, text: str | None) -> Mapping[str, Any] | None:
    """The same call with another command, written in the same way: as a line, as words, or as a program and words."""
    if text is None or place is None:
        return None
    holder = read_at(arguments, place[:-1])
    further = find_words(holder)
    program, *words = shlex.split(text)
    if not further:
        is_line = isinstance(holder[str(place[-1])], str)
        return put_at(arguments, place, text if is_line else [program, *words])
    if len(further) > 1 or not isinstance(holder[further[0]], list):
        return None
    return put_at(put_at(arguments, place, program), (*place[:-1], further[0]), words)


def read_digest(result: ToolResult | None) -> str | None:
    """What `sha256sum` printed, if that is beyond doubt."""
    if result is None or result.error is not None:
        return None
    found = set(_DIGEST.findall(result.content))
    return found.pop() if len(found) == 1 else None


def _list_by_name(places: Sequence[Place]) -> Iterator[NamedContent]:
    for place in places:
        if place.is_near and plain_name(place.name) in _FILE_NAMES:
            yield from (NamedContent(path=path, asking=None) for path in list_texts(place.value) if path)
