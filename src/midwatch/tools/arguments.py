"""What a model wrote as arguments, as the object the tool takes: read one way after another, then checked.

Models are asked for JSON and do not always write it. What is read in another way is taken only when it fits the tool's
schema, and whoever looks later sees what was sent and how it was read.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from midwatch.domain.tools import Refusal
from midwatch.kit.json import is_too_deep
from midwatch.kit.mappings import read_json, read_pairs, read_yaml
from midwatch.safety.policy import refuse_arguments, refuse_mistakes
from midwatch.tools.schemas import find_mistakes, properties_of

_SCALARS: Mapping[str, tuple[type, ...]] = {"integer": (int,), "number": (int, float), "boolean": (bool,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    values: Mapping[str, Any]
    read_as: str | None = None
    """How, when what is sent is not what was written: `types`, `yaml`, `pairs`, `text`, `unmarked` or `rewrite`."""


def read_arguments(text: str, schema: Mapping[str, Any]) -> Arguments | Refusal:
    """No text at all is how some models write "no arguments"."""
    text = text.strip()
    found = read_json(text or "{}")
    if is_too_deep(found):
        return refuse_arguments("nested too deep")
    if isinstance(found, dict):
        return _check_object(cast("dict[str, Any]", found), schema)
    for read in _read_loosely(text, found, schema):
        if _fits(read.values, schema):
            return read
    if not text.startswith(("{", "[")):
        only = _only_text(schema)
        hint = "" if only is None else f', such as {{"{only}": …}}'
        return refuse_arguments(f"not a JSON object{hint}")
    return refuse_arguments("not a JSON object" if found is not None else "not JSON")


def _check_object(values: dict[str, Any], schema: Mapping[str, Any]) -> Arguments | Refusal:
    mistakes = find_mistakes(schema, values)
    if not mistakes:
        return _without_marks(values, schema)
    typed = _with_types(values, schema)
    if typed != values and not find_mistakes(schema, typed):
        return Arguments(values=typed, read_as="types")
    return refuse_mistakes([(mistake.path, mistake.problem) for mistake in mistakes], names=properties_of(schema))


def _without_marks(values: dict[str, Any], schema: Mapping[str, Any]) -> Arguments:
    """A leading underscore is how programs mark what is meant for them, which is never a model's to write."""
    properties = properties_of(schema)
    marks = [name for name in values if name.startswith("_") and name not in properties]
    if not marks:
        return Arguments(values=values)
    return Arguments(values={name: values[name] for name in values if name not in marks}, read_as="unmarked")


def _read_loosely(text: str, found: Any, schema: Mapping[str, Any]) -> Iterator[Arguments]:
    # What begins like JSON and is none is a slip of the pen, cut off perhaps: nothing is guessed from it.
    if text.startswith(("{", "[")):
        return
    for name, read in (("yaml", read_yaml), ("pairs", read_pairs)):
        values = read(text)
        if values is not None:
            yield Arguments(values=_with_types(values, schema), read_as=name)
    only = _only_text(schema)
    if only is not None:
        yield Arguments(values={only: found if isinstance(found, str) else text}, read_as="text")


def _fits(values: Mapping[str, Any], schema: Mapping[str, Any]) -> bool:
    """Every name is one the tool knows: a sentence with a colon in it is no mapping."""
    return values.keys() <= properties_of(schema).keys() and not find_mistakes(schema, values)


def _only_text(schema: Mapping[str, Any]) -> str | None:
    """The tool's one property, if it has one and that is a text."""
    match list(properties_of(schema).items()):
        case [(name, {"type": "string"})]:
            return name
        case _:
            return None


def _with_types(values: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers and truths that were written as text, and the other way round, where the schema says which it is."""
    properties = properties_of(schema)
    return {name: _with_type(value, properties.get(name)) for name, value in values.items()}


def _with_type(value: Any, wanted: Any) -> Any:
    match wanted:
        case {"type": "string"} if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        case {"type": str() as kind} if kind in _SCALARS and isinstance(value, str):
            read = read_json(value.strip().lower())
            is_one = isinstance(read, _SCALARS[kind]) and (kind == "boolean") is isinstance(read, bool)
            return read if is_one else value
        case _:
            return value
