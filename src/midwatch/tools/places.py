"""Where something stands in a call's arguments, however deep."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from midwatch.tools.subjects import Subject, subjects_of

_NEAR: Final = 2
_NOTHING: Final[Mapping[str, Any]] = {}

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    path: Path
    holder: Mapping[str, Any]
    """The object it stands in."""
    value: Any
    described: Any
    """What the tool's schema says of it, if it does."""

    @property
    def name(self) -> str:
        return str(self.path[-1])

    @property
    def subjects(self) -> frozenset[Subject]:
        return subjects_of(self.name)

    @property
    def is_near(self) -> bool:
        """An argument, or a part of one that is an object. Deeper lie documents, such as the manifest of a pod."""
        return len(self.path) <= _NEAR

    @property
    def is_choice(self) -> bool:
        """Out of a list that the tool itself gives."""
        schema = read_schema(self.described)
        return "enum" in schema or "const" in schema


def read_schema(described: Any) -> Mapping[str, Any]:
    """Nothing where a server describes something in a way that cannot be read."""
    return cast("Mapping[str, Any]", described) if isinstance(described, Mapping) else _NOTHING


def walk(arguments: Mapping[str, Any], properties: Mapping[str, Any] = _NOTHING) -> Iterator[Place]:
    """All that has a name. Not by recursion: how deep arguments are nested is up to a model."""
    left: list[tuple[Path, Any, Any]] = [((), arguments, {"properties": properties})]
    while left:
        path, value, described = left.pop()
        for key, part, of_part in _list_parts(value, described):
            inner = (*path, key)
            if isinstance(key, str):
                yield Place(path=inner, holder=value, value=part, described=of_part)
            left.append((inner, part, of_part))


def read_at(arguments: Mapping[str, Any], path: Path) -> Mapping[str, Any]:
    """The object there; `path` leads through objects only."""
    for key in path:
        arguments = arguments[str(key)]
    return arguments


def put_at(arguments: Mapping[str, Any], path: Path, value: Any) -> dict[str, Any]:
    """The arguments with another value there; `path` leads through objects only."""
    first, *others = path
    inner = put_at(arguments[str(first)], tuple(others), value) if others else value
    return {**arguments, str(first): inner}


def list_texts(value: Any) -> Iterator[str]:
    """A text, or the texts of a list."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (text for text in cast("list[Any]", value) if isinstance(text, str))


def _list_parts(value: Any, described: Any) -> Iterator[tuple[str | int, Any, Any]]:
    schema = read_schema(described)
    if isinstance(value, Mapping):
        known = read_schema(schema.get("properties"))
        for key, part in cast("Mapping[str, Any]", value).items():
            yield key, part, known.get(key)
    elif isinstance(value, list):
        for index, part in enumerate(cast("list[Any]", value)):
            yield index, part, schema.get("items")
