"""Hides the values of Kubernetes Secrets in YAML and JSON, by line and by sign, so that cut-off text is masked too.

One document of many may be broken without harm to the others. What is plainly another kind of object is left alone.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from midwatch.masking.jsonscan import scan_objects
from midwatch.masking.regex import Regex
from midwatch.masking.rule import Edit, Rule, Span
from midwatch.masking.windows import Window

GATE = r"""kind\\*["']?[ \t]*:[ \t]*\\*["']?Secret(?:List)?\b"""
PLACEHOLDER = "[MASKED_SECRET_DATA]"

_HIDDEN = PLACEHOLDER.encode()
_MENTIONS_SECRET = Regex(GATE)
_SECRET_LIST = re.compile(rb"""["' ]*kind["']?[ \t]*:[ \t]*["']?SecretList\b""")
_DOCUMENT_END = re.compile(rb"(?m)^---[ \t\r]*$")
_ITEMS = re.compile(rb"[ ]*items:[ \t\r]*\n([ ]*)-[ ]")
_HELD = re.compile(
    rb"""([ ]*(?:-[ ]+)*)(?:["']?(?:data|stringData)["']?:[ \t]*\r?\n"""
    rb"""|(?:data|stringData):[ \t]+(\{[^}\r\n]*(?:\n[^}]*?)?(?:\}|\Z)))"""
)
"""A block of entries below, or all of them in braces."""
_LONGEST_INDENT = 200
_ENTRY = re.compile(rb"""[ ]*(?:"[^"\n]*"|'[^'\n]*'|[\w.\-]+):(?:[ \t\r]|$)""")
_OTHER_KIND = re.compile(rb"""kind\\*["'][ \t]*:""")
_LONGEST_MENTION = 100
_SECRET_KINDS = (b"Secret", b"SecretList")


@dataclass(frozen=True, slots=True)
class _Quoting:
    """How JSON strings look at one depth of nesting."""

    mark: bytes
    """Is there whenever an object is."""
    objects: Regex
    values: Regex


def _quoting(quote: str, character: str, *, mark: bytes) -> _Quoting:
    entry = rf"\s*{quote}[\w.\-]*{quote}\s*:\s*(?:{quote}{character}*(?:{quote})?|null)\s*,?"
    return _Quoting(
        mark=mark,
        objects=Regex(rf"{quote}(?:data|stringData){quote}\s*:\s*\{{((?:{entry})*)"),
        values=Regex(rf"{quote}\s*:\s*{quote}({character}*)"),
    )


_PLAIN = _quoting('"', r'(?:[^"\\]|\\.)', mark=b'ata"')
_ESCAPED = _quoting(r"\\\"", r'(?:[^"\\]|\\\\\\.|\\\\[^"\\])', mark=b'ata\\"')


def hide_secrets(name: str) -> Rule:
    return Rule(name=name, gate=GATE, find=_find_secrets, placeholder=PLACEHOLDER)


def _find_secrets(data: bytes, windows: Sequence[Window]) -> Iterator[Edit]:
    done = 0
    for window in windows:
        for (at, _), *_ in _MENTIONS_SECRET.find(data, max(window.start, done), window.stop + _LONGEST_MENTION):
            if at >= done:
                start, done = _find_document(data, at, after=done)
                yield from _find_in_document(data, start, done)


def _find_document(data: bytes, at: int, *, after: int) -> Span:
    start = at
    while (start := data.rfind(b"\n---", after, start)) != -1 and not _DOCUMENT_END.match(data, start + 1):
        pass
    end = _DOCUMENT_END.search(data, at)
    return max(after, start + 1), end.start() if end else len(data)


def _find_in_document(data: bytes, start: int, stop: int) -> Iterator[Edit]:
    judged: list[Span] = []
    if data.find(_PLAIN.mark, start, stop) != -1:
        for span, is_secret in _judge_json(data, start, stop):
            judged.append(span)
            if is_secret and data[span[0] : span[1]] != _HIDDEN:
                yield span, _HIDDEN
    known = {span[0] for span in judged}
    for span in (*_find_json(data, _PLAIN, within=(start, stop)), *_find_json(data, _ESCAPED, within=(start, stop))):
        if span[0] not in known:
            yield span, _HIDDEN
    for segment in _cut_items(data, start, stop):
        yield from _find_yaml(data, *segment)


def _judge_json(data: bytes, start: int, stop: int) -> Iterator[tuple[Span, bool]]:
    for holder in scan_objects(data, start=start, stop=stop):
        is_secret = holder.kind is None or holder.kind in _SECRET_KINDS
        yield from ((span, is_secret) for span in holder.values)
        # Of the items of a list only those without a kind of their own come up to it.
        yield from ((span, is_secret or holder.kind == b"List") for span in holder.undecided)


def _find_json(data: bytes, quoting: _Quoting, *, within: Span) -> Iterator[Span]:
    """By pattern, what reading by sign cannot follow: texts within texts, and texts that YAML has folded."""
    if data.find(quoting.mark, *within) == -1:
        return
    for held in quoting.objects.find(data, *within):
        if quoting is _ESCAPED and not _is_near_secret(data, held[0][0], within=within):
            continue
        for value in quoting.values.find(data, *held[1]):
            start, stop = value[1]
            if start < stop and data[start:stop] != _HIDDEN:
                yield start, stop


def _is_near_secret(data: bytes, at: int, *, within: Span) -> bool:
    """On the same line, which is where the copy of an object has its kind, or no other kind is there."""
    start = max(within[0], data.rfind(b"\n", within[0], at) + 1)
    stop = data.find(b"\n", at, within[1])
    line = data[start : stop if stop != -1 else within[1]]
    return any(_MENTIONS_SECRET.find(line)) or not _OTHER_KIND.search(line)


def _cut_items(data: bytes, start: int, stop: int) -> Iterator[Span]:
    """The items of a list that are Secrets, or the document as a whole."""
    items = next(_match_lines(_ITEMS, data, word=b"items:", within=(start, stop)), None)
    if items is None or any(_match_lines(_SECRET_LIST, data, word=b"SecretList", within=(start, stop))):
        yield start, stop
        return
    dash = b"\n" + items[1] + b"- "
    at = items.end() - len(dash) + 1
    while at < stop:
        end = data.find(dash, at, stop) + 1 or stop
        if _MENTIONS_SECRET.find_first(data, at, end):
            yield at, end
        at = end


def _find_yaml(data: bytes, start: int, stop: int) -> Iterator[Edit]:
    for held in _match_lines(_HELD, data, word=b"ata", within=(start, stop)):
        if held[2] is None:
            yield from _find_entries(data, held.end(), stop=stop, indent=len(held[1]))
        elif held[2] != b"{}":
            yield held.span(2), _HIDDEN


def _match_lines(line: re.Pattern[bytes], data: bytes, *, word: bytes, within: Span) -> Iterator[re.Match[bytes]]:
    """Where the pattern fits a line that begins with the word, or nearly so."""
    start, stop = within
    at = start
    while (at := data.find(word, at, stop)) != -1:
        begin = max(start, data.rfind(b"\n", max(start, at - _LONGEST_INDENT), at) + 1)
        if found := line.match(data, begin, stop):
            yield found
        at += len(word)


def _find_entries(data: bytes, at: int, *, stop: int, indent: int) -> Iterator[Edit]:
    """Each value from behind its key to the last line before the next key: whatever is no entry continues a value."""
    entries: int | None = None
    value: Span | None = None
    while at < stop:
        end = data.find(b"\n", at, stop)
        end = end if end != -1 else stop
        line = data[at:end]
        depth = len(line) - len(line.lstrip(b" "))
        if line.strip():
            if depth <= indent:
                break
            entries = depth if entries is None else entries
            if depth == entries and (entry := _ENTRY.match(line)):
                yield from _hide_value(data, value)
                value = at + len(entry[0].rstrip()), at + len(line.rstrip())
            else:
                value = (value[0] if value else at + depth), at + len(line.rstrip())
        at = end + 1
    yield from _hide_value(data, value)


def _hide_value(data: bytes, span: Span | None) -> Iterator[Edit]:
    if span is None:
        return
    start, stop = span
    value = data[start:stop].lstrip()
    if value.strip(b"\"'") not in (b"", _HIDDEN):
        yield (stop - len(value), stop), _HIDDEN
