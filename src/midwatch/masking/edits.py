"""What several rules found in one text, put together: each place once, and so that YAML and JSON can still be read."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from midwatch.masking.rule import Rule

_LONGEST_KEY = 200
_BARE_JSON_VALUE = re.compile(rb'(?<!\\)"[ \t]*:[ \t]*\Z')
_ENDS_A_KEY = re.compile(rb":(?:\s|\Z)")
_BEGINS_A_VALUE = re.compile(rb"""[ ]*(?:-[ ]+)*(?:[\w./-]+|"[^"]*"|'[^']*')[ ]*:[ ]+\Z|[ ]*(?:-[ ]+)+\Z""")
_REST_OF_VALUE = re.compile(rb"""(?:[^\s#][^\r\n]*|[ \t]+[^\s#][^\r\n]*)[^\s]""")


class Found(NamedTuple):
    start: int
    stop: int
    rule: Rule
    replacement: bytes


def merge_found(found: Iterable[Found]) -> list[Found]:
    """In order and apart. Where two overlap, the one that begins first covers both; of equal ones the first rule's."""
    merged: list[Found] = []
    for each in sorted(found, key=lambda each: (each.start, -each.stop)):
        if not merged or each.start >= merged[-1].stop:
            merged.append(each)
        elif each.stop > merged[-1].stop:
            merged[-1] = merged[-1]._replace(stop=each.stop)
    return merged


def fit_found(data: bytes, found: Sequence[Found]) -> list[Found]:
    """With quotes where a placeholder would not be read as the text it replaces."""
    fitted: list[Found] = []
    for each in found:
        if not fitted or each.start >= fitted[-1].stop:
            fitted.append(_fit(data, each))
    return fitted


def apply_found(data: bytes, found: Iterable[Found]) -> tuple[bytes, list[tuple[int, int]]]:
    """The new text, and where in it the replacements stand."""
    whole = memoryview(data)
    pieces: list[bytes | memoryview] = []
    places: list[tuple[int, int]] = []
    end = length = 0
    for start, stop, _, replacement in found:
        pieces += (whole[end:start], replacement)
        length += start - end + len(replacement)
        places.append((length - len(replacement), length))
        end = stop
    return (b"".join((*pieces, whole[end:])), places) if pieces else (data, places)


def _fit(data: bytes, found: Found) -> Found:
    start, stop, _, placeholder = found
    line = data.rfind(b"\n", max(0, start - _LONGEST_KEY), start) + 1
    before = data[line or max(0, start - _LONGEST_KEY) : start]
    if _BARE_JSON_VALUE.search(before):
        return found._replace(replacement=b'"' + placeholder + b'"')
    if not before.strip(b" -") and (line or start <= _LONGEST_KEY) and _ENDS_A_KEY.match(data, stop):
        return found._replace(replacement=b'"' + placeholder + b'"')
    # `key: [MASKED_X]` is a list of YAML, and fine; with anything behind it, it is neither a list nor a text.
    if _BEGINS_A_VALUE.match(before) and (rest := _REST_OF_VALUE.match(data, stop)):
        text = placeholder + rest[0]
        quote = next((mark for mark in (b'"', b"'") if mark not in text), None)
        if quote and not (quote == b'"' and b"\\" in text):
            return found._replace(stop=rest.end(), replacement=quote + text + quote)
    return found
