"""JSON as bytes. Lone surrogates and NUL, which neither PostgreSQL nor strict decoders take, become U+FFFD."""

from dataclasses import asdict, is_dataclass
from typing import Any, cast
from uuid import UUID

import orjson

_OPTIONS = orjson.OPT_NON_STR_KEYS
_NUL = rb"\u0000"
_DEEPEST = 100
"""Levels. Readers take more than writers, and each of them has a limit of its own above this one."""


def encode(value: object) -> bytes:
    try:
        data = _dump(value)
    except TypeError:
        return _dump(_cleaned(value))
    return _dump(_cleaned(value)) if _NUL in data else data


def encode_text(value: object) -> str:
    return encode(value).decode()


def decode(data: bytes | str) -> Any:
    """Raises ValueError when `data` is not JSON."""
    return orjson.loads(data)


def is_too_deep(value: Any) -> bool:
    """So deep that somebody who has to write it down again would fail."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for each in level for inner in _list_inner(each)]
        if not level:
            return False
    return True


def clean_text(text: str) -> str:
    """Replaces NUL and lone surrogates: one poisoned text must not fail every attempt to store it."""
    if text.isascii():
        return text.replace("\x00", "�") if "\x00" in text else text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").replace("\x00", "�")


def _list_inner(value: Any) -> list[Any]:
    match value:
        case dict():
            return list(cast("dict[Any, Any]", value).values())
        case list():
            return cast("list[Any]", value)
        case _:
            return []


def _dump(value: object) -> bytes:
    return orjson.dumps(value, _as_text, _OPTIONS)


def _as_text(value: object) -> str:
    """The database driver's identifiers are a subclass of UUID, which orjson does not take by itself."""
    if isinstance(value, UUID):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return clean_text(value)
        case _ if is_dataclass(value) and not isinstance(value, type):
            return _cleaned(asdict(value))
        case dict():
            return {_cleaned(key): _cleaned(item) for key, item in cast("dict[Any, Any]", value).items()}
        case list() | tuple():
            return [_cleaned(item) for item in cast("list[Any]", value)]
        case _:
            return value
