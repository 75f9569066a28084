"""Much in one line: arguments and results as a person skims them. Pure."""

from collections.abc import Mapping
from typing import Any, cast

from midwatch.cli.terminal import clean, clean_line
from midwatch.kit import json

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP = 1024
_MOST_PARTS = 8
_LAST = ("total", "truncated", "notes")
"""About the answer rather than of it."""
_LONGEST_VALUE = 60
_MINUTE = 60
_HOUR = 3600
_TENTH = 0.1
_TENTHS_UNTIL = 10


def digest_arguments(written: object) -> str:
    """Nothing for a call without arguments; what is not JSON is shown as the model wrote it."""
    if not isinstance(written, str):
        return ""
    try:
        arguments = json.decode(written)
    except ValueError:
        return clean_line(written)
    return "" if arguments in ({}, None, "") else clean_line(json.encode_text(arguments))


def digest_result(content: str) -> str:
    try:
        found = json.decode(content)
    except ValueError:
        return _first_line(content)
    match found:
        case dict():
            return " · ".join(_parts(cast("Mapping[str, Any]", found)))
        case list():
            return _count(cast("list[Any]", found))
        case _:
            return clean_line(str(found))


def read_refusal(content: str) -> tuple[str, str]:
    """The message and the hint of a refusal."""
    try:
        found = json.decode(content)
    except ValueError:
        return _first_line(content), ""
    match found:
        case {"error": {"message": str(message), **rest}}:
            return clean_line(message), clean_line(str(rest.get("hint") or ""))
        case _:
            return _first_line(content), ""


def format_seconds(seconds: float) -> str:
    if seconds < _TENTH:
        return f"<{_TENTH} s"
    if seconds < _TENTHS_UNTIL:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min {whole % _MINUTE} s"
    return f"{whole // _HOUR} h {whole % _HOUR // _MINUTE} min"


def _parts(found: Mapping[str, Any]) -> list[str]:
    told = [part for key in sorted(found, key=_LAST.__contains__) if (part := _part(key, found[key]))]
    return told[:_MOST_PARTS]


def _part(key: str, value: object) -> str:
    """Nothing of what is not there: an empty list, a flag that is down."""
    if not value and not (isinstance(value, int | float) and not isinstance(value, bool)):
        return ""
    name = clean_line(key.removesuffix("_bytes").removesuffix("_percent").replace("_", " "))
    match value:
        case True:
            return name
        case int() | float():
            return f"{name} {_number(key, value)}"
        case list():
            return f"{name}: {_count(cast('list[Any]', value))}"
        case dict():
            return f"{name} ({', '.join(_parts(cast('Mapping[str, Any]', value)))})"
        case _:
            return f"{name} {clean_line(str(value))[:_LONGEST_VALUE]}"


def _count(items: list[Any]) -> str:
    first = items[0] if items else None
    match first:
        case None:
            return "none"
        case dict():
            return f"{len(items)} ({', '.join(_parts(cast('Mapping[str, Any]', first)))})"
        case _ if len(items) == 1:
            return clean_line(str(first))[:_LONGEST_VALUE]
        case _:
            return f"{len(items)} ({clean_line(str(first))[:_LONGEST_VALUE]}, …)"


def _number(key: str, value: float) -> str:
    if key.endswith("_bytes"):
        return _size(value)
    shown = f"{value:,}" if isinstance(value, int) else f"{value:,.2f}".rstrip("0").rstrip(".")
    if key.endswith("_percent"):
        return f"{shown} %"
    return str(value) if key.endswith(("pid", "port", "id")) else shown


def _size(size: float) -> str:
    for unit in _UNITS:
        if abs(size) < _STEP or unit == _UNITS[-1]:
            return f"{size:.0f} {unit}" if unit == _UNITS[0] else f"{size:.1f} {unit}"
        size /= _STEP
    raise AssertionError


def _first_line(text: str) -> str:
    return next((line for line in map(clean_line, clean(text).splitlines()) if line), "")
