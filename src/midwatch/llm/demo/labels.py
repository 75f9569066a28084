"""Keys and values of an alert, whether it is JSON, Prometheus labels or lines of `key: value`."""

import re
from collections.abc import Iterator
from typing import Any, cast

from midwatch.kit import json

_QUOTED = re.compile(r"""([A-Za-z_][\w.-]{0,60})\s{0,3}[=:]\s{0,3}(["'])([^"'\n]{1,300})\2""")
_BARE = re.compile(r"""(?<![\w?&/])([A-Za-z_][\w.-]{0,60})=([^\s"',;{}()\[\]]{1,300})""")
_LINE = re.compile(r"^[ \t]{0,8}[-*•]?[ \t]{0,4}([A-Za-z_][\w .-]{0,40}):[ \t]+(\S.{0,299})$", re.MULTILINE)
_NOT_IN_A_KEY = re.compile(r"[^a-z0-9]+")


def read_labels(text: str) -> list[tuple[str, str]]:
    """In the order of the text. Keys are lower case, without the names of the objects around them."""
    found = [*_from_json(text), *_from_text(text)]
    return list(dict.fromkeys((_plain(key), value.strip()) for key, value in found if value.strip()))


def _from_json(text: str) -> Iterator[tuple[str, str]]:
    start, end = text.find("{"), text.rfind("}")
    if start < 0:
        return
    try:
        document = json.decode(text[start : end + 1])
    except ValueError:
        return
    yield from _flatten(document)


def _flatten(document: Any) -> Iterator[tuple[str, str]]:
    waiting: list[tuple[str, Any]] = [("", document)]
    while waiting:
        key, value = waiting.pop()
        match value:
            case dict():
                waiting += reversed([*cast("dict[str, Any]", value).items()])
            case list():
                waiting += reversed([(key, item) for item in cast("list[Any]", value)])
            case str() | int() | float() if not isinstance(value, bool):
                yield key, str(value)
            case _:
                pass


def _from_text(text: str) -> Iterator[tuple[str, str]]:
    for found in _QUOTED.finditer(text):
        yield found[1], found[3]
    for pattern in (_BARE, _LINE):
        for found in pattern.finditer(text):
            yield found[1], found[2]


def _plain(key: str) -> str:
    return _NOT_IN_A_KEY.sub("_", key.rpartition(".")[2].lower()).strip("_")
