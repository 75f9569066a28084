"""Lengths of time as operators write them: `1m30s`, `500ms`, or a number of seconds."""

import re
from datetime import timedelta
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_EXPECTED = "expected a length of time such as 500ms, 1m30s or 2h, or a number of seconds"


def parse_duration(value: object) -> timedelta:
    """Raises ValueError; the message never repeats the value."""
    try:
        return timedelta(seconds=_seconds(value))
    except OverflowError:
        raise ValueError(_EXPECTED) from None


def _seconds(value: object) -> float:
    match value:
        case timedelta():
            return value.total_seconds()
        case bool():
            raise ValueError(_EXPECTED)
        case int() | float() if 0 <= value < float("inf"):
            return float(value)
        case str():
            return _seconds_in(value.strip())
        case _:
            raise ValueError(_EXPECTED)


def _seconds_in(text: str) -> float:
    if _NUMBER.fullmatch(text):
        return float(text)
    if not _WHOLE.fullmatch(text):
        raise ValueError(_EXPECTED)
    return sum(float(amount) * _SECONDS[unit] for amount, unit in _PART.findall(text))


def _positive(value: object) -> timedelta:
    duration = parse_duration(value)
    if not duration:
        raise ValueError("must be longer than nothing")
    return duration


_to_seconds = PlainSerializer(timedelta.total_seconds, return_type=float)

Duration = Annotated[timedelta, BeforeValidator(_positive), _to_seconds]
"""More than no time at all."""
DurationOrZero = Annotated[timedelta, BeforeValidator(parse_duration), _to_seconds]
