"""What the name of an argument says of its value, however the name is written."""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import Final


class Subject(StrEnum):
    COMMAND = "command"
    COMMANDS = "commands"
    """Several, or one."""
    WORDS = "words"
    """Further words of a command."""
    VARIABLES = "variables"
    """The environment of a command."""
    SHELL = "shell"
    """What reads a command."""
    QUERY = "query"
    FILE = "file"
    ADDRESS = "address"
    SEARCH = "search"
    """Looked for, not opened."""


_COMMAND: Final = ("command", "cmd", "commandline", "cmdline")
_COMMANDS: Final = (*(f"{name}s" for name in _COMMAND), "shellscript", "bashscript")
_PART_OF_COMMAND: Final = tuple(f"sub{name}" for name in (*_COMMAND, *_COMMANDS))
_WORDS: Final = ("args", "argv", "arguments")
_VARIABLES: Final = ("env", "environment", "envvars", "environmentvariables")
_SHELL: Final = ("shell", "interpreter", "executable")
_QUERY: Final = ("query", "queries", "sql", "statement", "statements")
_FILE: Final = frozenset(("path", "paths", "file", "files", "filename", "filenames", "filepath", "filepaths"))
_ADDRESS: Final = frozenset(("url", "urls", "uri", "uris", "endpoint", "endpoints", "webhook", "href", "link"))
_SEARCH: Final = frozenset(
    ("query", "q", "search", "text", "filter", "pattern", "expression", "expr", "message", "content", "regex")
)
_SEPARATORS: Final = str.maketrans("", "", "_- ")
_WORD: Final = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")


def plain_name(name: str) -> str:
    """`commandLine`, `command-line` and `COMMAND_LINE` are one."""
    return name.translate(_SEPARATORS).lower()


@lru_cache(maxsize=4096)
def subjects_of(name: str) -> frozenset[Subject]:
    """A name may speak of more than one thing: a query is run, and is a search."""
    return frozenset((*_by_ending(plain_name(name)), *_by_last_words(name)))


def _by_ending(plain: str) -> Iterator[Subject]:
    if plain.endswith(_COMMAND) and not plain.endswith(_PART_OF_COMMAND):
        yield Subject.COMMAND
    if plain.endswith(_COMMANDS) and not plain.endswith(_PART_OF_COMMAND):
        yield Subject.COMMANDS
    if plain.endswith(_WORDS):
        yield Subject.WORDS
    if plain in _VARIABLES:
        yield Subject.VARIABLES
    if plain in _SHELL:
        yield Subject.SHELL
    if plain.endswith(_QUERY):
        yield Subject.QUERY


def _by_last_words(name: str) -> Iterator[Subject]:
    """Word by word, since a `profile` is no file: `logFilePath` speaks of a path, and of a file path."""
    words = [word.lower() for word in _WORD.findall(name)]
    last = {"".join(words[-1:]), "".join(words[-2:])}
    if last & _FILE:
        yield Subject.FILE
    if last & _ADDRESS:
        yield Subject.ADDRESS
    if last & _SEARCH:
        yield Subject.SEARCH
