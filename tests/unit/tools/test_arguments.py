"""What a model wrote, as what a tool takes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.domain.tools import Refusal
from midwatch.tools.arguments import Arguments, read_arguments
from midwatch.tools.schemas import explain_unusable, find_mistakes

ANYTHING: dict[str, Any] = {"type": "object"}
LOG = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "lines": {"type": "integer"},
        "follow": {"type": "boolean"},
        "where": {"type": "object", "properties": {"unit": {"enum": ["a", "b"]}}},
    },
    "required": ["path"],
    "additionalProperties": False,
}
QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}


@pytest.mark.parametrize(
    ("written", "schema", "values", "read_as"),
    [
        ("", ANYTHING, {}, None),
        (" \n", ANYTHING, {}, None),
        ('{"path": "/a", "lines": 5}', LOG, {"path": "/a", "lines": 5}, None),
        ('{"path": "/a", "lines": "5"}', LOG, {"path": "/a", "lines": 5}, "types"),
        ('{"path": 5, "follow": "True"}', LOG, {"path": "5", "follow": True}, "types"),
        ("path: /a\nwhere:\n  unit: b", LOG, {"path": "/a", "where": {"unit": "b"}}, "yaml"),
        ("path=/a, lines=5 follow=true", LOG, {"path": "/a", "lines": 5, "follow": True}, "pairs"),
        ("path=12", LOG, {"path": "12"}, "pairs"),
        ("up == 0 and job=web", QUERY, {"query": "up == 0 and job=web"}, "text"),
        ("error: it broke", QUERY, {"query": "error: it broke"}, "text"),
        ('"in quotes"', QUERY, {"query": "in quotes"}, "text"),
        ("5", QUERY, {"query": "5"}, "text"),
    ],
)
def test_arguments_are_read_in_the_first_way_that_fits(
    written: str, schema: dict[str, Any], values: dict[str, Any], read_as: str | None
) -> None:
    assert read_arguments(written, schema) == Arguments(values=values, read_as=read_as)


@pytest.mark.parametrize(
    ("written", "schema"),
    [
        ('{"query": "cut o', QUERY),
        ("['a']", QUERY),
        ("{query: a}", QUERY),
        ('{"path": NaN}', LOG),
        ("just words", LOG),
        ("colour: red", LOG),
        ("lines=many, path=/a", LOG),
        ("null", ANYTHING),
        ("a: b", ANYTHING),
    ],
)
def test_nothing_is_guessed_from_what_does_not_fit(written: str, schema: dict[str, Any]) -> None:
    refusal = read_arguments(written, schema)
    assert isinstance(refusal, Refusal)
    assert refusal.code == "INVALID_INPUT"


@pytest.mark.parametrize(
    ("written", "path", "word"),
    [
        ('{"lines": 5}', "", '"path" is a required property'),
        ('{"path": "/a", "lines": "many"}', "lines", "integer"),
        ('{"path": "/a", "where": {"unit": "c"}}', "where.unit", '"a" or "b"'),
        ('{"path": "/a", "colour": 1}', "", "colour"),
    ],
)
def test_a_mistake_is_told_with_its_place_and_what_the_tool_takes(written: str, path: str, word: str) -> None:
    refusal = read_arguments(written, LOG)
    assert isinstance(refusal, Refusal)
    mistake = refusal.details["mistakes"][0]
    assert mistake["path"] == path
    assert word in mistake["problem"]
    assert word in refusal.reason
    assert refusal.details["arguments"] == ["path", "lines", "follow", "where"]


def test_mistakes_are_few_and_short_however_wrong_the_arguments_are() -> None:
    schema = {"type": "object", "additionalProperties": {"enum": ["x" * 10_000]}}
    refusal = read_arguments(json.dumps({str(n): "y" * 10_000 for n in range(50)}), schema)
    assert isinstance(refusal, Refusal)
    assert len(json.dumps(refusal.details)) < 3_000


@given(st.text(max_size=80), st.sampled_from([ANYTHING, LOG, QUERY]))
def test_whatever_is_written_what_is_sent_fits_the_schema(written: str, schema: dict[str, Any]) -> None:
    read = read_arguments(written, schema)
    assert isinstance(read, Refusal) or not find_mistakes(schema, read.values)


def doubling(depth: int) -> dict[str, Any]:
    steps = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(depth)}
    return {"$ref": "#/$defs/d0", "$defs": steps | {f"d{depth}": {"type": "object"}}}


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ({"type": "nonsense"}, "nonsense"),
        ({"$schema": "https://example.invalid/own"}, "meta-schema"),
        ({"$ref": "https://example.invalid/else"}, "another document"),
        ({"properties": {"a": {"$ref": "#/$defs/gone"}}}, "not there"),
        ({"allOf": [{"properties": {"a": {"$ref": "#"}}}] * 2}, "itself"),
        (doubling(60), "too often"),
    ],
)
def test_a_schema_that_cannot_be_used_is_told_and_checks_nothing(schema: dict[str, Any], reason: str) -> None:
    assert reason in (explain_unusable(schema) or "")
    assert read_arguments('{"a": 1}', schema) == Arguments(values={"a": 1})


def test_references_within_a_schema_are_followed() -> None:
    schema = {"properties": {"a": {"$ref": "#/$defs/n"}, "b": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "null"}}}
    assert explain_unusable(schema) is None
    assert [mistake.path for mistake in find_mistakes(schema, {"a": 1, "b": None})] == ["a"]
