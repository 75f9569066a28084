"""JSON that every database and every strict decoder takes, whatever was put in."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from midwatch.kit.ids import new_id
from midwatch.kit.json import clean_text, decode, encode, encode_text, is_too_deep

_TEXT = st.text(st.characters(exclude_categories=()), max_size=20)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=10,
)


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Thing:
    name: str
    colour: Colour
    inner: "Thing | None" = None


class DriversUuid(UUID):
    """As the database driver returns it."""


def is_clean(text: str) -> bool:
    return "\x00" not in text and not any(0xD800 <= ord(letter) <= 0xDFFF for letter in text)


@given(_TEXT)
def test_clean_text_keeps_everything_but_what_cannot_be_stored(text: str) -> None:
    cleaned = clean_text(text)
    assert is_clean(cleaned)
    assert len(cleaned) == len(text)
    assert all(a == b or not is_clean(a) for a, b in zip(text, cleaned, strict=True))


@given(_VALUES)
def test_any_value_is_encoded_and_decoded_the_same_but_for_what_cannot_be_stored(value: Any) -> None:
    encoded = encode(value)
    assert b"\\u0000" not in encoded
    assert decode(encoded) == clean(value)
    assert encode_text(value) == encoded.decode()


def clean(value: Any) -> Any:
    match value:
        case str():
            return clean_text(value)
        case list():
            return [clean(item) for item in value]  # pyright: ignore[reportUnknownVariableType] -- drawn JSON
        case dict():
            return {clean(key): clean(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType] -- drawn JSON
        case _:
            return value


@pytest.mark.parametrize("name", ["plain", "nul \x00", "half \ud83d"])
def test_dataclasses_and_words_are_encoded_by_their_fields(name: str) -> None:
    thing = Thing(name, Colour.RED, Thing("x", Colour.RED))
    inner = {"name": "x", "colour": "red", "inner": None}
    assert decode(encode(thing)) == {"name": clean_text(name), "colour": "red", "inner": inner}
    assert decode(encode((thing,)))[0]["colour"] == "red"


@pytest.mark.parametrize("text", ["plain", "half \ud83d"])
def test_identifiers_of_the_database_driver_are_encoded_like_any_other(text: str) -> None:
    plain = new_id()
    drivers = DriversUuid(int=plain.int)
    assert decode(encode({"ids": [plain, drivers], "text": text}))["ids"] == [str(plain), str(plain)]


def test_what_has_no_json_form_is_an_error() -> None:
    with pytest.raises(TypeError):
        encode(object())
    with pytest.raises(ValueError, match="unexpected end of data"):
        decode("{")


@pytest.mark.parametrize(("depth", "too_deep"), [(0, False), (48, False), (49, True), (400, True)])
def test_what_nests_too_deep_for_others_is_seen(depth: int, *, too_deep: bool) -> None:
    value: object = [1, {"a": "b"}]
    for _ in range(depth):
        value = {"a": [1, value], "b": "["}
    assert is_too_deep(value) is too_deep
    if not too_deep:
        assert decode(encode(value)) == value
