"""Files whose content decides what a call does, and how the same tool is asked what is in them."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from midwatch.domain.tools import ToolResult
from midwatch.safety.shell.contents.finding import find_contents
from midwatch.tools.commands import ARGUMENTS, find_command

MOST: Final = 8
"""Files that are read for one question. Nobody compares more."""
_DIGEST: Final = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{64}(?![0-9A-Za-z])")
_FILE_NAMES: Final = re.compile(
    r"(?:script|manifest|playbook|values|patch|sql|query|template|vars?)_?(?:file|path)(?:s|name)?", re.IGNORECASE
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
    by_name = tuple(_list_by_name(arguments))
    command = find_command(arguments, properties)
    if command is None:
        return NamedContents(files=by_name)
    if not command.is_readable:
        return NamedContents(files=by_name, unclear="its words are no command line")
    found = find_contents(command.verdict.command)
    in_command = (
        NamedContent(path=file.path, asking=_give_command(arguments, command.place, file.digesting))
        for file in found.files
    )
    return NamedContents(files=(*by_name, *in_command), unclear=found.unclear)


def _give_command(arguments: Mapping[str, Any], place: str, text: str | None) -> Mapping[str, Any] | None:
    """The same call with another command, written in the same way: as a line, as words, or as a program and words."""
    further = [name for name in ARGUMENTS if name in arguments]
    if text is None or len(further) > 1:
        return None
    program, *words = shlex.split(text)
    if further:
        return {**arguments, place: program, further[0]: words} if isinstance(arguments[further[0]], list) else None
    return {**arguments, place: text if isinstance(arguments[place], str) else [program, *words]}


def read_digest(result: ToolResult | None) -> str | None:
    """What `sha256sum` printed, if that is beyond doubt."""
    if result is None or result.error is not None:
        return None
    found = set(_DIGEST.findall(result.content))
    return found.pop() if len(found) == 1 else None


def _list_by_name(arguments: Mapping[str, Any]) -> Iterator[NamedContent]:
    for name, value in arguments.items():
        if isinstance(value, str) and value and _FILE_NAMES.fullmatch(name):
            yield NamedContent(path=value, asking=None)
