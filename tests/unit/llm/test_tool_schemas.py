"""Schemas with alternatives at the top, which have a whole request refused, lose them and nothing else."""

from typing import Any

import pytest

from midwatch.llm.tool_schemas import flatten_schema

TEXT = {"type": "string"}
PLAIN: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"anyOf": [TEXT, {"type": "null"}]}},
    "required": ["a"],
    "additionalProperties": False,
}


CASES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    (PLAIN, PLAIN),
    ({}, {"type": "object", "properties": {}}),
    ({"type": "object", "properties": None}, {"type": "object", "properties": {}}),
    ({**PLAIN, "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}, PLAIN),
    (
        {"oneOf": [{"properties": {"a": TEXT}}, {"properties": {"b": TEXT}, "required": ["b"]}, True]},
        {"type": "object", "properties": {"a": TEXT, "b": TEXT}},
    ),
    (
        {"type": "object", "properties": {"a": TEXT}, "allOf": [{"properties": {"a": {}}}], "not": {}},
        {"type": "object", "properties": {"a": TEXT}},
    ),
    ({"anyOf": "odd"}, {"type": "object", "properties": {}}),
]


@pytest.mark.parametrize(("schema", "flat"), CASES)
def test_a_schema_is_one_object(schema: dict[str, Any], flat: dict[str, Any]) -> None:
    assert flatten_schema(schema) == flat
