"""What a result has found, by the operator's paths into it. Its words are data: they can be found, never meant."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

import jmespath
from jmespath.exceptions import JMESPathError, JMESPathTypeError

from midwatch.kit import json
from midwatch.safety.context import MOST_ENTRIES
from midwatch.safety.resources import UNSTATED, Origin, Resource, as_part, find_flaw, first_match, split_id

_FIELDS: Final = ("kind", "uid", "id", "name", "host", "parent")
_LONGEST_RESULT: Final = 1024 * 1024
_PATH: Final = "expected a JMESPath expression, such as items[].{kind: 'pod', uid: name, host: node}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    resources: tuple[Resource, ...] = ()
    left_out: int = 0
    """Entries that were no resources, or too many."""


def check_path(path: str) -> str | None:
    """What is wrong with a path into results, for whoever wrote it."""
    try:
        jmespath.compile(path).search(None)
    except JMESPathTypeError:
        return None  # written well, and in want of data
    except JMESPathError:
        return _PATH
    return None


def find_resources(tool: str, content: str, paths: Mapping[str, str], *, origin: Origin | None = None) -> Findings:
    """`paths` by globs over the tools' own names; the first that matches counts."""
    path = first_match(tool, paths)
    if path is None or len(content) > _LONGEST_RESULT:
        return Findings()
    try:
        entries = jmespath.search(path, json.decode(content))
    except (ValueError, TypeError, RecursionError):
        # Whatever a tool answers, it must not end the run.
        return Findings()
    return _read_entries(cast("list[Any]", entries) if isinstance(entries, list) else [entries], origin)


def _read_entries(entries: list[Any], origin: Origin | None) -> Findings:
    read = [_read_entry(entry, origin) for entry in entries[:MOST_ENTRIES]]
    resources = tuple(dict.fromkeys(resource for resource in read if resource is not None))
    is_nothing = entries == [None]
    return Findings(resources=resources, left_out=0 if is_nothing else len(entries) - len(resources))


def _read_entry(entry: Any, origin: Origin | None) -> Resource | None:
    if isinstance(entry, str | int):
        return _read_name(entry, origin)
    return _read_fields(cast("dict[str, Any]", entry), origin) if isinstance(entry, dict) else None


def _read_name(entry: str | int, origin: Origin | None) -> Resource | None:
    text = as_part(entry)
    if text is None or find_flaw(text) is not None:
        return None
    parts = split_id(text)
    if parts is None:
        return None if ":" in text else Resource(kind=UNSTATED, uid=text, origin=origin)
    return Resource(kind=parts.kind, host=parts.host, uid=parts.uid, origin=origin)


def _read_fields(fields: Mapping[str, Any], origin: Origin | None) -> Resource | None:
    words: dict[str, str] = {}
    for key in _FIELDS:
        word = as_part(fields.get(key))
        if word is not None:
            if find_flaw(word) is not None:
                return None
            words[key] = word
    uid = words.get("uid") or words.get("id") or words.get("name")
    if uid is None:
        return None
    kind = words.get("kind")
    parts = split_id(uid) if kind is None else None
    return Resource(
        kind=parts.kind if parts else kind or UNSTATED,
        uid=parts.uid if parts else uid,
        host=parts.host if parts else words.get("host"),
        name=words.get("name", ""),
        aliases=_read_aliases(fields.get("aliases")),
        parent=words.get("parent"),
        actions=_read_actions(fields.get("actions")),
        origin=origin,
    )


def _read_aliases(value: Any) -> tuple[str, ...]:
    """What looks like an id is none of a thing's names: it could pass for another."""
    words = [as_part(word) for word in cast("list[Any]", value)] if isinstance(value, list) else []
    return tuple(word for word in words if word is not None and find_flaw(word) is None and ":" not in word)


def _read_actions(value: Any) -> frozenset[str] | None:
    """Something that is there and cannot be read allows nothing."""
    if value is None:
        return None
    words = cast("list[Any]", value) if isinstance(value, list) else []
    return frozenset(word for word in words if isinstance(word, str))
