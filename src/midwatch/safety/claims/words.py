"""A sentence as a row of words: names, code and quotations each as one, marks and stops kept."""

import re
from collections.abc import Sequence
from enum import IntEnum, auto
from typing import Final, NamedTuple

from midwatch.safety.claims.lexicon import Lexicon


class Kind(IntEnum):
    WORD = auto()
    NAME = auto()
    """Something only a particular thing is called: web-2, v1.4, /var/log."""
    CODE = auto()
    QUOTE = auto()
    NUMBER = auto()
    STOP = auto()
    MARK = auto()
    """A sign that something is done."""


class Word(NamedTuple):
    kind: Kind
    low: str
    start: int
    end: int


MARKS: Final = "✅✔☑🎉👍👌🟢"

_TOKEN: Final = re.compile(
    rf"""
      (?P<CODE>`[^`\n]+`)
    | (?P<QUOTE>"[^"\n]{{1,300}}"|“[^”\n]{{1,300}}”|„[^“”\n]{{1,300}}[“”]|«[^»\n]{{1,300}}»|(?<!\w)'[^'\n]{{2,200}}'(?!\w))
    | (?P<WORD>\w(?:\w|[-./:@'’](?=\w))*)
    | (?P<MARK>[{MARKS}])
    | (?P<STOP>[,;:()\[\]|!?…&→]|\.+|—|–|(?<=\s)-(?=\s))
    """,
    re.VERBOSE,
)
_NUMBER: Final = re.compile(r"\d+(?:[.:]\d+)*")
_KINDS: Final = {kind.name: kind for kind in Kind}


def cut_words(text: str, *, lexicon: Lexicon, begin: int = 0) -> list[Word]:
    """Markup is left out; contractions become what they stand for."""
    words: list[Word] = []
    for match in _TOKEN.finditer(text, begin):
        kind = _KINDS[match.lastgroup or "STOP"]
        low = match.group().lower().replace("’", "'")
        if kind is not Kind.WORD or (low.isalpha() and low not in lexicon.contractions):
            words.append(Word(kind, low, *match.span()))
        else:
            words += [Word(kind, part, *match.span()) for kind, part in _take_apart(low, lexicon)]
    return words


def _take_apart(low: str, lexicon: Lexicon) -> list[tuple[Kind, str]]:
    if low.replace("'", "").isalpha():
        return [(Kind.WORD, part) for part in _expand(low, lexicon)]
    if "-" in low and low.replace("-", "").isalpha() and (parts := _join_hyphens(low, lexicon)):
        return [(Kind.WORD, part) for part in parts]
    return [(Kind.NUMBER if _NUMBER.fullmatch(low) else Kind.NAME, low)]


def _expand(low: str, lexicon: Lexicon) -> Sequence[str]:
    if low in lexicon.contractions:
        return lexicon.contractions[low]
    for suffix, meaning in lexicon.suffixes:
        if low.endswith(suffix):
            return (low.removesuffix(suffix), meaning) if meaning else (low.removesuffix(suffix),)
    return (low,)


def _join_hyphens(low: str, lexicon: Lexicon) -> Sequence[str]:
    """re-started, rolled-back, roll-back: words of the table that somebody hyphenates."""
    if low.replace("-", "") in lexicon.entries:
        return (low.replace("-", ""),)
    head, *rest = low.split("-")
    entries = lexicon.entries.get(head, ())
    if any(entry.action.particles.intersection(rest) for entry in entries):
        return (head, *rest)
    return ()
