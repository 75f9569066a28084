"""JSON from providers, read without trust: what has another shape than it should says nothing."""

from typing import Any, cast

from midwatch.domain.errors import ModelUnavailable
from midwatch.kit import json

Fields = dict[str, Any]

_MANY_BRACKETS = 100
_MOST_TOKENS = 100_000_000
"""More than any model takes, and few enough to be added up in the journal."""


def read_event(payload: bytes) -> Fields:
    """Raises ModelUnavailable for an event that is no JSON object."""
    event = read_value(payload)
    if not isinstance(event, dict):
        raise malformed()
    return cast("Fields", event)


def read_value(payload: bytes) -> Any:
    """Raises ModelUnavailable for what is no JSON, or could be read but never be written down again."""
    try:
        value = json.decode(payload)
    except ValueError:
        raise malformed() from None
    # Counting is cheap, and hardly any event has so many.
    if payload.count(b"[") + payload.count(b"{") > _MANY_BRACKETS and json.is_too_deep(value):
        raise malformed()
    return value


def malformed() -> ModelUnavailable:
    return ModelUnavailable("the provider sent a malformed event", code="provider_error", retryable=True)


def read_fields(value: Any) -> Fields:
    # Asked several times for each event, and `cast` is a call like any other.
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def read_items(value: Any) -> list[Fields]:
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, dict)]  # pyright: ignore[reportUnknownVariableType]


def read_text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def read_count(fields: Fields, key: str) -> int:
    value = fields.get(key)
    return value if isinstance(value, int) and 0 <= value <= _MOST_TOKENS else 0


def read_index(value: Any) -> int | str | None:
    """What tells the parts of an answer apart; anything but a name or a number could not be looked up."""
    return value if isinstance(value, int | str) else None


def read_object(text: str) -> Fields | None:
    """The object that the text is, if it is one."""
    try:
        value = json.decode(text)
    except ValueError:
        return None
    return cast("Fields", value) if isinstance(value, dict) and not json.is_too_deep(value) else None
