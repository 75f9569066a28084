"""A sentence as a row of words: names, code and quotations each as one, marks and stops kept."""

import re
from collections.abc import Sequence
from enum import IntEnum, auto
from typing import Final, NamedTuple

from midwatch.safety.claims.lexicon import Lexicon


class Kind(IntEnum):
    WORD = auto()
    CODE = auto()
    QUOTE = auto()
    MARK = auto()
    """A sign that something is done."""
    STOP = auto()
    NAME = auto()
    """Something only a particular thing is called: web-2, v1.4, /var/log."""
    NUMBER = auto()


class Word(NamedTuple):
    kind: Kind
    low: str
    start: int
    end: int


MARKS: Final = "✅✔☑🎉👍👌🟢"

_TOKEN: Final = re.compile(
    rf"""
      \w(?:\w|[-./:@'](?=\w))*
    | `[^`\n]+`
    | "[^"\n]{{1,300}}"|“[^”\n]{{1,300}}”|„[^“”\n]{{1,300}}[“”]|«[^»\n]{{1,300}}»|(?<!\w)'[^'\n]{{2,200}}'(?!\w)
    | [{MARKS},;:()\[\]|!?…&→—–]|\.+|(?<=\s)-(?=\s)
    """,
    re.VERBOSE,
)
_BY_FIRST: Final = (
    dict.fromkeys(",;:()[]|!?…&→—–.-", Kind.STOP)
    | dict.fromkeys(MARKS, Kind.MARK)
    | dict.fromkeys("\"“„«'", Kind.QUOTE)
    | {"`": Kind.CODE}
)
_NUMBER: Final = re.compile(r"\d+(?:[.:]\d+)*")


def fold(text: str) -> str:
    """In lower case, with plain apostrophes, and every character still in its place."""
    low = text.lower()
    if len(low) != len(text):
        low = "".join(folded if len(folded := character.lower()) == 1 else character for character in text)
    return low.replace("’", "'")


def cut_words(low: str, *, lexicon: Lexicon, begin: int = 0) -> list[Word]:
    """Of a folded text. Markup is left out; contractions become what they stand for."""
    words: list[Word] = []
    contractions, at = lexicon.contractions, begin
    for text in _TOKEN.findall(low, begin):
        start = low.find(text, at)
        at = start + len(text)
        if text.isalpha() and text not in contractions:
            words.append(Word(Kind.WORD, text, start, at))
        elif text[0] in _BY_FIRST:
            words.append(Word(_BY_FIRST[text[0]], text, start, at))
        else:
            words += [Word(kind, part, start, at) for kind, part in _take_apart(text, lexicon)]
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
            return (low.removesuffix(suffix), meaning)
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
