"""Schemas of arguments in the form that Anthropic and OpenAI both take: one object, with no alternatives at the top."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

Schema = dict[str, Any]

_CHOICES = ("anyOf", "oneOf", "allOf")
_REFUSED_AT_THE_TOP = frozenset({*_CHOICES, "enum", "not"})


def flatten_schema(schema: Mapping[str, Any]) -> Schema:
    """One tool with alternatives at the top has the whole request refused. Their properties are kept, all optional."""
    kept = {key: value for key, value in schema.items() if key not in _REFUSED_AT_THE_TOP}
    properties: Schema = {}
    for variant in _list_variants(schema):
        properties |= _fields(variant.get("properties"))
    return {**kept, "type": "object", "properties": properties | _fields(schema.get("properties"))}


def _list_variants(schema: Mapping[str, Any]) -> Iterator[Schema]:
    for key in _CHOICES:
        variants = schema.get(key)
        if isinstance(variants, list):
            yield from (_fields(variant) for variant in cast("list[Any]", variants))


def _fields(value: Any) -> Schema:
    return cast("Schema", value) if isinstance(value, dict) else {}
