"""A tool's JSON schema in the dialect Gemini reads: the same meaning, without the spellings it refuses."""

from collections.abc import Mapping
from typing import Any, cast

_MAPS = frozenset({"properties", "$defs"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_OLD_DEFINITIONS = "#/definitions/"


def clean_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a function's parameters, which is always an object."""
    cleaned = _clean({key: value for key, value in schema.items() if key != "$schema"})
    return {"type": "object", "properties": {}, **cleaned}


def _clean(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, Mapping):
        # True, which allows anything, and False, which nobody writes for a parameter.
        return {}
    cleaned: dict[str, Any] = {}
    for key, value in cast("Mapping[str, Any]", schema).items():
        cleaned.update(_clean_keyword(key, value))
    return _set_apart_reference(cleaned)


def _clean_keyword(key: str, value: Any) -> dict[str, Any]:
    key, value = _respell(key, value)
    if key == "enum" and not _is_readable_enum(value):
        return {}
    if key in _MAPS and isinstance(value, Mapping):
        return {key: {name: _clean(inner) for name, inner in cast("Mapping[str, Any]", value).items()}}
    if key in _LISTS and isinstance(value, list):
        return {key: [_clean(inner) for inner in cast("list[Any]", value)]}
    if key == "items" or (key == "additionalProperties" and isinstance(value, Mapping)):
        return {key: _clean(value)}
    return {key: value}


def _respell(key: str, value: Any) -> tuple[str, Any]:
    match key, value:
        case "definitions", _:
            return "$defs", value
        case "$ref", str():
            return key, value.replace(_OLD_DEFINITIONS, "#/$defs/", 1)
        case "const", _:
            return "enum", [value]
        case "allOf", [_]:
            return "anyOf", value
        case _:
            return key, value


def _is_readable_enum(value: Any) -> bool:
    if not isinstance(value, list):
        return False
    return all(isinstance(each, str | int | float) and not isinstance(each, bool) for each in cast("list[Any]", value))


def _set_apart_reference(schema: dict[str, Any]) -> dict[str, Any]:
    """Beside a reference nothing else may stand; one of one is a reference too, and may."""
    others = {key: value for key, value in schema.items() if not key.startswith("$")}
    if "$ref" not in schema or not others:
        return schema
    dollars = {key: value for key, value in schema.items() if key.startswith("$") and key != "$ref"}
    return {**dollars, **others, "anyOf": [{"$ref": schema["$ref"]}]}
