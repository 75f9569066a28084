"""A tool's schema, compiled once, and what it says against arguments.

A schema comes from a server and is not trusted: it cannot make us fetch anything, and one whose checking might take
for ever is not used.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, cast

import jsonschema_rs

from midwatch.kit.json import decode, encode_text

_MOST_PARTS = 20_000
_MOST_MISTAKES = 5
_LONGEST_MESSAGE = 200
_PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mistake:
    path: str
    """Where in the arguments, as `spec.replicas`; empty for the arguments as a whole."""
    problem: str


def find_mistakes(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> list[Mistake]:
    """The first few. There are none when the schema cannot be used."""
    compiled = _compile(encode_text(schema))
    if isinstance(compiled, str):
        return []
    errors = islice(compiled.iter_errors(dict(arguments)), _MOST_MISTAKES)
    return [Mistake(path=_dotted(error.instance_path), problem=_shorten(error.message)) for error in errors]


def explain_unusable(schema: Mapping[str, Any]) -> str | None:
    """Why arguments are not checked against this schema; None when they are."""
    compiled = _compile(encode_text(schema))
    return compiled if isinstance(compiled, str) else None


def properties_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties")
    return cast("dict[str, Any]", properties) if isinstance(properties, dict) else {}


@lru_cache(maxsize=1024)
def _compile(text: str) -> jsonschema_rs.Validator | str:
    schema = decode(text)
    try:
        _Measure(schema).measure(schema)
        return jsonschema_rs.validator_for(schema, offline=True, pattern_options=_PATTERNS)
    except _TooMuch as error:
        return str(error)
    except (jsonschema_rs.ValidationError, ValueError, RecursionError) as error:
        return _shorten(str(error).partition("\n")[0])


class _TooMuch(Exception):
    """The schema says more than can be checked in bounded time."""


@dataclass(slots=True)
class _Measure:
    """How many parts a check may visit. References multiply: forty lines of them can stand for a billion checks."""

    root: Any
    _sizes: dict[str, int] = field(default_factory=dict[str, int])
    _open: set[str] = field(default_factory=set[str])

    def measure(self, node: Any) -> int:
        size = 1 + sum(map(self.measure, _children(node)))
        if isinstance(node, dict):
            size += self._follow(cast("dict[str, Any]", node))
        if size > _MOST_PARTS:
            raise _TooMuch("it is too large, or refers to itself too often")
        return size

    def _follow(self, node: dict[str, Any]) -> int:
        if "$dynamicRef" in node or "$recursiveRef" in node:
            raise _TooMuch("it refers to itself")
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return 0
        if reference in self._open:
            raise _TooMuch("it refers to itself")
        if reference not in self._sizes:
            self._open.add(reference)
            self._sizes[reference] = self.measure(_resolve(self.root, reference))
            self._open.discard(reference)
        return self._sizes[reference]


def _children(node: Any) -> Iterable[Any]:
    if isinstance(node, dict):
        return cast("dict[str, Any]", node).values()
    return cast("list[Any]", node) if isinstance(node, list) else ()


def _resolve(root: Any, reference: str) -> Any:
    if not reference.startswith("#"):
        raise _TooMuch("it refers to another document")
    found = root
    for part in reference[1:].split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(found, dict) or name not in found:
            raise _TooMuch(f"it refers to {_shorten(reference)}, which is not there")
        found = cast("dict[str, Any]", found)[name]
    return found


def _dotted(path: Iterable[str | int]) -> str:
    return _shorten(".".join(map(str, path)))


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}…"
