"""Golden files: what a scenario looked like, without what differs from run to run.

`MIDWATCH_WRITE_GOLDEN=1` writes them anew; read what has changed before it is kept.
"""

import json
import os
import re
from difflib import unified_diff
from pathlib import Path
from typing import Any, cast, final

_ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
_RULES = (
    (re.compile(r"(!-- [A-Z_]+_(?:START|END)) [0-9a-f]{16} -->"), r"\1 <nonce> -->"),
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"), "<time>"),
    (re.compile(r"It is \d{4}-\d\d-\d\d \d\d:\d\d UTC, [^\n]*"), "It is <moment>"),
    (re.compile(r"\bresult r[0-9a-f]{8}\b"), "result <result>"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:<port>"),
)
_MEASURED = re.compile(r"(?:_ms|_seconds)\Z")
_COUNTED = frozenset({"db_event_id", "sequence_number"})
_KINDS = {"event_id": "event", "interaction_id": "interaction", "call_id": "call"}


@final
class Normaliser:
    """Gives every id a name, the same wherever it stands."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def name(self, identifier: str, called: str) -> None:
        self._names[identifier] = f"<{called}>"

    def clean(self, value: Any, key: str = "") -> Any:
        """Ids that have no name yet get one by the key they stand under, in the order they are met."""
        match value:
            case dict():
                return {inner: self.clean(each, inner) for inner, each in cast("dict[str, Any]", value).items()}
            case list():
                return [self.clean(each, key) for each in cast("list[Any]", value)]
            case str():
                return self._clean_text(value, key)
            case int() | float() if not isinstance(value, bool):
                return f"<{'ms' if key.endswith('_ms') else 'number'}>" if _differs(key) else value
            case _:
                return value

    def _clean_text(self, text: str, key: str) -> str:
        for pattern, replacement in _RULES:
            text = pattern.sub(replacement, text)
        return _ID.sub(lambda found: self._name_of(found[0], key), text)

    def _name_of(self, identifier: str, key: str) -> str:
        if identifier not in self._names:
            kind = next((kind for ending, kind in _KINDS.items() if key.endswith(ending)), "id")
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._names[identifier] = f"<{kind} {self._counts[kind]}>"
        return self._names[identifier]


def check_golden(path: Path, seen: str) -> None:
    if os.environ.get("MIDWATCH_WRITE_GOLDEN"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(seen, encoding="utf-8")
        return
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    if seen != expected:
        lines = unified_diff(
            expected.splitlines(), seen.splitlines(), f"{path.name} as it was", f"{path.name} as it is", lineterm=""
        )
        raise AssertionError("\n".join(["a scenario has changed; MIDWATCH_WRITE_GOLDEN=1 accepts it", *lines]))


def render_document(value: Any) -> str:
    return json.dumps(_unfold(value), indent=1, ensure_ascii=False) + "\n"


def render_lines(values: list[dict[str, Any]]) -> str:
    return "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)


def _differs(key: str) -> bool:
    return key in _COUNTED or _MEASURED.search(key) is not None


def _unfold(value: Any) -> Any:
    """A text of several lines as a list of them: so a difference is seen in its line."""
    match value:
        case dict():
            return {key: _unfold(each) for key, each in cast("dict[str, Any]", value).items()}
        case list():
            return [_unfold(each) for each in cast("list[Any]", value)]
        case str() if "\n" in value:
            return value.split("\n")
        case _:
            return value
