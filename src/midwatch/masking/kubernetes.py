"""Hides the values of Kubernetes Secrets in YAML and JSON, by line and by token, so that cut-off text is masked too.

All `data` and `stringData` of a document that mentions a Secret is hidden; documents without one are left alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from midwatch.masking.regex import Regex

GATE = r"""kind\\*["']?[ \t]*:[ \t]*\\*["']?Secret(?:List)?\b"""
PLACEHOLDER = "[MASKED_SECRET_DATA]"

_HIDDEN = PLACEHOLDER.encode()
_MENTIONS_SECRET = Regex(GATE)
_DOCUMENT_START = re.compile(rb"(?m)^(?=---[ \t\r]*$)")
_BLOCK = re.compile(rb"""([ ]*(?:-[ ]+)*)["']?(?:data|stringData)["']?:[ \t\r]*$""")
_FLOW = re.compile(rb"""([ ]*(?:-[ ]+)*(?:data|stringData):)[ \t]+\{""")
_ENTRY = re.compile(rb"""([ ]*(?:"[^"]*"|'[^']*'|[\w.\-]+):)(?:[ \t\r]|$)""")


@dataclass(frozen=True, slots=True)
class _Quoting:
    """How JSON strings look at one depth of nesting."""

    objects: Regex
    values: Regex


def _quoting(quote: str, character: str) -> _Quoting:
    entry = rf"\s*{quote}[\w.\-]*{quote}\s*:\s*(?:{quote}{character}*(?:{quote})?|null)\s*,?"
    return _Quoting(
        objects=Regex(rf"{quote}(?:data|stringData){quote}\s*:\s*\{{((?:{entry})*)"),
        values=Regex(rf"{quote}\s*:\s*{quote}({character}*)"),
    )


_QUOTINGS = (
    _quoting('"', r'(?:[^"\\]|\\.)'),
    _quoting(r"\\\"", r'(?:[^"\\]|\\\\\\.|\\\\[^"\\])'),
)


def hide_secret_data(data: bytes) -> bytes:
    return b"".join(
        _hide(document) if any(_MENTIONS_SECRET.find(document)) else document
        for document in _DOCUMENT_START.split(data)
    )


def _hide(document: bytes) -> bytes:
    for quoting in _QUOTINGS:
        document = _hide_json(document, quoting)
    return b"\n".join(_hide_yaml(document.split(b"\n")))


def _hide_json(document: bytes, quoting: _Quoting) -> bytes:
    pieces: list[bytes] = []
    end = 0
    for found in quoting.objects.find(document):
        start, stop = found.span(1)
        pieces += (document[end:start], _hide_values(document[start:stop], quoting))
        end = stop
    return b"".join((*pieces, document[end:]))


def _hide_values(entries: bytes, quoting: _Quoting) -> bytes:
    pieces: list[bytes] = []
    end = 0
    for found in quoting.values.find(entries):
        start, stop = found.span(1)
        pieces += (entries[end:start], _HIDDEN)
        end = stop
    return b"".join((*pieces, entries[end:]))


def _hide_yaml(lines: list[bytes]) -> Iterator[bytes]:
    block: int | None = None
    entries: int | None = None
    for line in lines:
        indent = len(line) - len(line.lstrip(b" "))
        if not line.strip():
            yield line
        elif block is None or indent <= block:
            opened = _BLOCK.match(line)
            block, entries = (len(opened[1]) if opened else None), None
            yield _hide_flow(line)
        else:
            entries = indent if entries is None else entries
            # Whatever is no entry continues a value that is hidden already.
            if indent == entries and (entry := _ENTRY.match(line)):
                yield entry[1] + b" " + _HIDDEN


def _hide_flow(line: bytes) -> bytes:
    flow = _FLOW.match(line)
    return flow[1] + b" " + _HIDDEN if flow else line
