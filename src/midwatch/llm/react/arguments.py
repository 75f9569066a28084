"""What a model wrote as the input of an action, as the JSON object that a tool takes."""

import re
from typing import Any, cast

import yaml

from midwatch.kit import json

_PAIR = re.compile(r"""\s*([\w.-]+)\s*=\s*("[^"]*"|'[^']*'|[^,\s]+)\s*(?:,|$|\s)""")


def read_arguments(text: str) -> str | None:
    """JSON text: from JSON, from YAML, or from pairs such as `name=web, lines=5`. None when no object comes of it."""
    text = text.strip()
    if not text or text.lower() in {"none", "null", "n/a"}:
        return "{}"
    if isinstance(_read_json(text), dict):
        return text
    for read in (_read_yaml, _read_pairs):
        found = read(text)
        if isinstance(found, dict):
            return json.encode_text(cast("dict[str, Any]", found))
    return None


def _read_json(text: str) -> Any:
    try:
        return json.decode(text)
    except ValueError:
        return None


def _read_yaml(text: str) -> Any:
    try:
        found = yaml.safe_load(text)
        # Dates and other kinds that YAML knows and JSON does not.
        return json.decode(json.encode_text(cast("Any", found))) if isinstance(found, dict) else None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError):
        return None


def _read_pairs(text: str) -> dict[str, Any] | None:
    pairs: dict[str, Any] = {}
    place = 0
    while place < len(text):
        found = _PAIR.match(text, place)
        if found is None:
            return None
        pairs[found[1]] = _read_value(found[2])
        place = found.end()
    return pairs


def _read_value(text: str) -> Any:
    if text[0] in "\"'":
        return text[1:-1]
    value = _read_json(text)
    return text if value is None else value
