"""Finds placeholders in what somebody is about to send: written out, they would take the place of what was hidden."""

import re
from collections.abc import Iterator, Mapping
from typing import cast

# Without brackets too: to YAML, `[MASKED_TOKEN]` is a list of one word, and a URL has signs of its own for them.
_PLACEHOLDER = re.compile(r"MASKED_[A-Z]|(?i:\[masked_[a-z])|\[REDACTED: data masking failure")


def holds_placeholder(text: str) -> bool:
    return _PLACEHOLDER.search(text) is not None


def find_placeholders(value: object, *, place: str = "") -> Iterator[str]:
    """Where they stand in a document of JSON: `spec.env[2].value`."""
    match value:
        case str():
            if holds_placeholder(value):
                yield place or "."
        case Mapping():
            for key, item in cast("Mapping[object, object]", value).items():
                inner = f"{place}.{key}" if place else str(key)
                yield from ([inner] if holds_placeholder(str(key)) else find_placeholders(item, place=inner))
        case list():
            for index, item in enumerate(cast("list[object]", value)):
                yield from find_placeholders(item, place=f"{place}[{index}]")
        case _:
            pass
