"""Asks a long result that is JSON for a part of itself, in JMESPath: it can reach nothing but the document. Pure."""

import json
from typing import Any, cast

import jmespath
from jmespath.exceptions import JMESPathError

from midwatch.tools.results.bounds import MOST_CHARACTERS, Unanswerable

_NAMED = 40
_LONGEST_NAMES = 1000
_ROOM = MOST_CHARACTERS - 2 * _LONGEST_NAMES


def query(content: str, *, expression: str) -> str:
    """Raises Unanswerable."""
    document = _parse(content)
    try:
        found: Any = jmespath.search(expression, document)
    except JMESPathError as error:
        raise Unanswerable(f"the expression cannot be used: {error}") from None
    except RecursionError:
        raise Unanswerable("the expression is nested too deep") from None
    if found is None:
        return f"null: nothing there. {_describe(document)}"
    return _write(found)


def _parse(content: str) -> Any:
    """One document, or one on each line."""
    try:
        return json.loads(content)
    except ValueError:
        pass
    except RecursionError:
        raise Unanswerable("the result is nested too deep; use result.search") from None
    lines = [line for line in content.split("\n") if line.strip()]
    try:
        return [json.loads(line) for line in lines]
    except (ValueError, RecursionError):
        raise Unanswerable("this result is not JSON; use result.search or result.slice") from None


def _write(found: Any) -> str:
    """Piece by piece, and no further than it may go: a short expression can name the same thing a million times."""
    parts: list[str] = []
    size = 0
    try:
        for part in json.JSONEncoder(ensure_ascii=False, indent=1).iterencode(found):
            parts.append(part)
            size += len(part)
            if size > _ROOM:
                break
    except RecursionError:
        raise Unanswerable("the answer is nested too deep; ask for a part of it") from None
    text = "".join(parts)
    if size <= _ROOM:
        return text
    return f"{text[:_ROOM]}\n[cut here; {_describe(found)} Ask for less, such as a slice [0:10] or single fields]"


def _describe(value: Any) -> str:
    if isinstance(value, dict):
        names = ", ".join(list(cast("dict[str, Any]", value))[:_NAMED])
        return f"An object with the fields {names[:_LONGEST_NAMES]}."
    if isinstance(value, list):
        return f"A list of {len(cast('list[Any]', value)):,}."
    return f"A single value of type {type(value).__name__}."
