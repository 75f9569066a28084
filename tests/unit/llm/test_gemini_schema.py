"""Schemas of tools in the dialect that Gemini reads."""

from typing import Any

import pytest

from midwatch.llm.providers.google.schema import clean_schema


def clean_property(schema: Any) -> Any:
    return clean_schema({"type": "object", "properties": {"x": schema}})["properties"]["x"]


@pytest.mark.parametrize(
    ("schema", "cleaned"),
    [
        pytest.param({"type": "string", "pattern": "^a"}, {"type": "string", "pattern": "^a"}, id="kept"),
        pytest.param({"$ref": "#/definitions/A"}, {"$ref": "#/$defs/A"}, id="old references"),
        pytest.param(
            {"$ref": "#/$defs/A", "description": "an A"},
            {"description": "an A", "anyOf": [{"$ref": "#/$defs/A"}]},
            id="a reference stands alone",
        ),
        pytest.param(
            {"allOf": [{"$ref": "#/$defs/A"}], "default": 1},
            {"anyOf": [{"$ref": "#/$defs/A"}], "default": 1},
            id="all of one",
        ),
        pytest.param({"const": "a"}, {"enum": ["a"]}, id="constants"),
        pytest.param({"enum": ["a", None]}, {}, id="enums of other things than texts and numbers"),
        pytest.param({"type": "array", "items": True}, {"type": "array", "items": {}}, id="items that may be anything"),
        pytest.param(True, {}, id="anything"),
        pytest.param({"additionalProperties": False}, {"additionalProperties": False}, id="no other properties"),
        pytest.param(
            {"additionalProperties": {"const": 1}}, {"additionalProperties": {"enum": [1]}}, id="other properties"
        ),
        pytest.param({"anyOf": [{"const": 1}, True]}, {"anyOf": [{"enum": [1]}, {}]}, id="inside alternatives"),
    ],
)
def test_a_spelling_that_is_refused_is_put_otherwise(schema: Any, cleaned: Any) -> None:
    assert clean_property(schema) == cleaned


def test_properties_may_be_named_like_keywords() -> None:
    properties = {"const": {"type": "string"}, "$ref": {"type": "string"}, "enum": {"type": "integer"}}
    assert clean_schema({"properties": properties}) == {"type": "object", "properties": properties}


def test_definitions_are_cleaned_and_the_schema_of_the_schema_is_left_out() -> None:
    schema = {"$schema": "https://json-schema.org/draft-07/schema#", "definitions": {"A": {"const": 1}}}
    assert clean_schema(schema) == {"type": "object", "properties": {}, "$defs": {"A": {"enum": [1]}}}
