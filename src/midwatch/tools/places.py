"""Where something stands in a call's arguments, however deep."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from midwatch.tools.subjects import Subject, subjects_of

_NEAR: Final = 2
_NESTED: Final = (dict, list)
_NOTHING: Final[Mapping[str, Any]] = {}

Path = tuple[str | int, ...]


class Place(NamedTuple):
    """A tuple, because there is one for every argument of every call."""

    path: Path
    holder: Mapping[str, Any]
    """The object it stands in."""
    value: Any
    described: Any
    """What the tool's schema says of it, if it does."""
    name: str
    subjects: frozenset[Subject]
    """What its name speaks of."""

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


def list_places(arguments: Mapping[str, Any], properties: Mapping[str, Any] = _NOTHING) -> list[Place]:
    """All that has a name. Not by recursion: how deep arguments are nested is up to a model."""
    places: list[Place] = []
    left: list[tuple[Path, Any, Any]] = [((), arguments, {"properties": properties})]
    while left:
        path, value, described = left.pop()
        for key, part, of_part in _list_parts(value, described):
            inner = (*path, key)
            if isinstance(key, str):
                places.append(Place(inner, value, part, of_part, key, subjects_of(key)))
            if _nests(part):
                left.append((inner, part, of_part))
    return places


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


def _nests(value: Any) -> bool:
    return isinstance(value, _NESTED)


def _list_parts(value: Any, described: Any) -> Iterator[tuple[str | int, Any, Any]]:
    schema = read_schema(described)
    if isinstance(value, Mapping):
        known = read_schema(schema.get("properties"))
        for key, part in cast("Mapping[str, Any]", value).items():
            yield key, part, known.get(key)
    else:
        for index, part in enumerate(cast("list[Any]", value)):
            yield index, part, schema.get("items")
