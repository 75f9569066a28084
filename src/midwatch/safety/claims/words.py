"""A sentence as a row of words: names, code and quotations each as one, marks and stops kept."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, auto
from functools import cache
from itertools import chain
from typing import Final

from midwatch.safety.claims.actions import Entry
from midwatch.safety.claims.lexicon import Lexicon
from midwatch.safety.claims.memory import Memory


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


@dataclass(frozen=True, slots=True, eq=False)
class Word:
    """What is known of a word wherever it stands; the same object serves all its places."""

    kind: Kind
    low: str
    is_word: bool = field(init=False)
    is_stop: bool = field(init=False)
    is_break: bool = field(init=False)
    """A stop or a mark."""
    is_named: bool = field(init=False)
    """A name or code."""
    entries: tuple[Entry, ...] = ()
    """The actions it may stand for, slips of the pen included."""
    is_trigger: bool = False
    """It may tell an action, alone or with what stands beside it."""
    is_base: bool = False
    """It may tell one only as an infinitive: no other form of an action looks like it."""
    is_noun: bool = False
    """It may be the name of an action."""
    is_finite: bool = False
    """It may be a verb in the past."""
    is_adverb: bool = False
    is_helper: bool = False
    """An auxiliary, a negation, or the "to" of an infinitive."""
    may_divide: bool = False
    """What stands before it may belong to another phrase than what stands behind it."""

    def __post_init__(self) -> None:
        # Asked for all the time, and a member of an enum is slow to reach.
        object.__setattr__(self, "is_word", self.kind is Kind.WORD)
        object.__setattr__(self, "is_stop", self.kind is Kind.STOP)
        object.__setattr__(self, "is_break", self.kind in (Kind.STOP, Kind.MARK))
        object.__setattr__(self, "is_named", self.kind in (Kind.NAME, Kind.CODE))


MARKS: Final = "✅✔☑🎉👍👌🟢"

_TOKEN: Final = re.compile(
    rf"""
    [ ]?
    ( \w++(?:[-./:@']\w++)*+
    | [,;:()\[\]|!?&]|\.+
    | `[^`\n]+`
    | "[^"\n]{{1,300}}"|“[^”\n]{{1,300}}”|„[^“”\n]{{1,300}}[“”]|«[^»\n]{{1,300}}»|(?<!\w)'[^'\n]{{2,200}}'(?!\w)
    | [{MARKS}…→—–]|(?<=\s)-(?=\s)
    )
    """,
    re.VERBOSE,
)
"""With the space before it, at which nothing else need be tried then."""
_BY_FIRST: Final = (
    dict.fromkeys(",;:()[]|!?…&→—–.-", Kind.STOP)
    | dict.fromkeys(MARKS, Kind.MARK)
    | dict.fromkeys("\"“„«'", Kind.QUOTE)
    | {"`": Kind.CODE}
)
_NUMBER: Final = re.compile(r"\d+(?:[.:]\d+)*")
_MOST_KNOWN: Final = 8192


def fold(text: str) -> str:
    """In lower case, with plain apostrophes, and every character still in its place."""
    low = text.lower()
    if len(low) != len(text):
        low = "".join(folded if len(folded := character.lower()) == 1 else character for character in text)
    return low.replace("’", "'")


def cut_words(low: str, *, lexicon: Lexicon, begin: int = 0) -> list[Word]:
    """Of a folded text. Markup is left out; contractions become what they stand for."""
    return list(chain.from_iterable(map(_vocabulary_of(lexicon).__getitem__, _TOKEN.findall(low, begin))))


def find_spans(low: str, *, lexicon: Lexicon, begin: int = 0) -> Iterator[tuple[int, int]]:
    """Where each of these words stands. Hardly any sentence is asked for it."""
    known = _vocabulary_of(lexicon)
    for match in _TOKEN.finditer(low, begin):
        span = match.span(1)
        for _ in known[match[1]]:
            yield span


@cache
def _vocabulary_of(lexicon: Lexicon) -> Memory[tuple[Word, ...]]:
    return Memory(lambda text: tuple(_read_token(text, lexicon)), most=_MOST_KNOWN)


def _read_token(text: str, lexicon: Lexicon) -> Iterator[Word]:
    if text.isalpha() and text not in lexicon.contractions:
        yield _read_word(text, lexicon)
    elif text[0] in _BY_FIRST:
        kind = _BY_FIRST[text[0]]
        yield Word(kind, text, may_divide=kind is Kind.MARK or (kind is Kind.STOP and text not in "()"))
    else:
        yield from _take_apart(text, lexicon)


def _read_word(low: str, lexicon: Lexicon) -> Word:
    entries = lexicon.look_up(low)
    is_finite = low.endswith(lexicon.past_ending) or low in lexicon.irregular_past or low in lexicon.looking
    has_other_use = low in lexicon.performing or low in lexicon.commanding
    return Word(
        Kind.WORD,
        low,
        entries=entries,
        is_trigger=low in lexicon.triggers or lexicon.is_slip(low),
        is_base=not has_other_use and not any(each.is_past or each.is_gerund or each.is_noun for each in entries),
        is_noun=any(entry.is_noun for entry in lexicon.entries.get(low, ())),
        is_finite=is_finite,
        is_adverb=lexicon.is_adverb(low),
        is_helper=low in lexicon.helpers or low in lexicon.negations or low == lexicon.to,
        may_divide=is_finite or low in lexicon.dividing,
    )


def _take_apart(low: str, lexicon: Lexicon) -> Iterator[Word]:
    parts: Sequence[str] = ()
    if low.replace("'", "").isalpha():
        parts = _expand(low, lexicon)
    elif "-" in low and low.replace("-", "").isalpha():
        parts = _join_hyphens(low, lexicon)
    if parts:
        yield from (_read_word(part, lexicon) for part in parts)
    else:
        kind = Kind.NUMBER if _NUMBER.fullmatch(low) else Kind.NAME
        yield Word(kind, low, is_adverb=lexicon.is_adverb(low))


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
