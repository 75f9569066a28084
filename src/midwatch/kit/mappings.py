"""Texts in which somebody wrote down names and values without caring for JSON."""

import re
from collections.abc import Callable, Iterable
from typing import Any, cast

import yaml

from midwatch.kit import json

_PAIR = re.compile(r"""\s*([\w.-]+)\s*=\s*("[^"]*"|'[^']*'|[^,\s]+)\s*(?:,|$|\s)""")


def read_json(text: str) -> Any:
    """None when it is not JSON."""
    try:
        return json.decode(text)
    except ValueError:
        return None


def read_yaml(text: str) -> dict[str, Any] | None:
    try:
        if _has_aliases(text):
            return None
        found = yaml.safe_load(text)
        # Dates and other kinds that YAML knows and JSON does not.
        return json.decode(json.encode_text(cast("Any", found))) if isinstance(found, dict) else None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return None


def _has_aliases(text: str) -> bool:
    """A few lines of them can stand for more than memory holds."""
    parse = cast("Callable[..., Iterable[object]]", yaml.parse)  # pyright: ignore[reportUnknownMemberType] -- no types
    events = parse(text, Loader=yaml.SafeLoader)
    return any(isinstance(event, yaml.AliasEvent) for event in events)


def read_pairs(text: str) -> dict[str, Any] | None:
    """Such as `name=web, lines=5`."""
    pairs: dict[str, Any] = {}
    place = 0
    while place < len(text):
        found = _PAIR.match(text, place)
        if found is None:
            return None
        pairs[found[1]] = _read_value(found[2])
        place = found.end()
    return pairs or None


def _read_value(text: str) -> Any:
    if text[0] in "\"'":
        return text[1:-1]
    value = read_json(text)
    return text if value is None else value
