"""From a file's plain values to the shapes of its sections, one entry at a time: a broken entry hides no other."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from midwatch.config.findings import Findings
from midwatch.config.sentences import dotted, explain, explain_unknown_key, keys_at, suggest
from midwatch.config.yaml import Document, KeyPath

Shape = TypeVar("Shape", bound=BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A document being read, and where to say what is wrong with it."""

    document: Document
    findings: Findings
    lenient: bool = False
    """The folder is TARSy's: what TARSy overlooks is ignored with a warning."""

    def names(self, section: str) -> list[str]:
        """The entries written in a section, sound or not."""
        return [str(path[-1]) for path in self.document.lines if path[:-1] == (section,)]

    def entry(self, section: str, name: str) -> Any:
        """What is written for an entry; a name with nothing behind it is an entry without settings."""
        return self.document.data.get(section, {}).get(name, {})

    def ignores_unknown(self, path: KeyPath) -> bool:
        """TARSy overlooks unknown keys everywhere but in its lists of sub-agents."""
        return self.lenient and "sub_agents" not in path

    def problem(self, path: KeyPath, message: str) -> None:
        place = self.document.place(path)
        if place.line not in self.document.hollow_lines:
            self.findings.problem(place, message)

    def warn(self, path: KeyPath, message: str) -> None:
        self.findings.warn(self.document.place(path), message)


def check_sections(source: Source, known: Iterable[str]) -> None:
    """Says which top-level keys nobody knows."""
    for key in source.document.data:
        if key not in known:
            _report_unknown(source, (key,), known=known)


def parse_section(source: Source, shape: type[Shape], *, key: str) -> Shape:
    """A section with one shape; its defaults when it is absent or broken."""
    return parse_at(source, shape, path=(key,), value=source.document.data.get(key, {})) or shape()


def parse_entries(source: Source, shape: type[Shape], *, section: str) -> dict[str, Shape]:
    """The sound entries of a section of names."""
    parsed = {
        name: parse_at(source, shape, path=(section, name), value=source.entry(section, name))
        for name in entry_names(source, section)
    }
    return {name: entry for name, entry in parsed.items() if entry is not None}


def entry_names(source: Source, section: str) -> list[str]:
    if isinstance(source.document.data.get(section, {}), dict):
        return source.names(section)
    source.problem((section,), f"{section}: expected keys with values")
    return []


def parse_tagged(source: Source, shapes: Mapping[str, type[Shape]], *, path: KeyPath, value: Any) -> Shape | None:
    """A block whose `type` says which shape it has."""
    match value:
        case {"type": str(kind), **_rest} if kind in shapes:
            return parse_at(source, shapes[kind], path=path, value=value)
        case {"type": kind, **_rest}:
            hint = suggest(str(kind), shapes)
            source.problem((*path, "type"), f"{dotted(path)}.type: expected one of {', '.join(shapes)}{hint}")
        case {**_rest}:
            source.problem(path, f"{dotted(path)}.type: is missing; expected one of {', '.join(shapes)}")
        case _:
            source.problem(path, f"{dotted(path)}: expected keys with values")
    return None


def parse_at(source: Source, shape: type[Shape], *, path: KeyPath, value: Any) -> Shape | None:
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        errors = error.errors(include_url=False)
    unknown = [error for error in errors if error["type"] == "extra_forbidden"]
    for error in unknown:
        _report_unknown(source, (*path, *error["loc"]), known=keys_at(shape, error["loc"][:-1]))
    if ignored := [error for error in unknown if source.ignores_unknown(error["loc"])]:
        return parse_at(source, shape, path=path, value=_without(value, ignored))
    for error in errors:
        if error not in unknown and not _only_echoes(error, errors):
            inner = (*path, *error["loc"])
            source.problem(inner, f"{dotted(inner)}: {explain(error)}")
    return None


def _only_echoes(error: ErrorDetails, errors: Sequence[ErrorDetails]) -> bool:
    """A list whose entries are broken is also called too short, since only sound entries are counted."""
    length = len(error["loc"])
    return error["type"] == "too_short" and any(
        len(other["loc"]) > length and other["loc"][:length] == error["loc"] for other in errors
    )


def _report_unknown(source: Source, path: KeyPath, *, known: Iterable[str]) -> None:
    *outer, key = path
    where = f"{dotted(tuple(outer))}: " if outer else ""
    message = f"{where}{explain_unknown_key(str(key), known)}"
    if source.ignores_unknown(path):
        source.warn(path, f"{message} (ignored)")
    else:
        source.problem(path, message)


def _without(value: Any, unknown: list[ErrorDetails]) -> Any:
    for error in unknown:
        *outer, key = error["loc"]
        holder = value
        for part in outer:
            holder = holder[part]
        cast("dict[str, Any]", holder).pop(str(key))
    return value
