"""What a phrase is about: the particular names in it, and when two names may mean the same thing."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from midwatch.safety.claims.actions import word_set
from midwatch.safety.claims.lexicon import Lexicon
from midwatch.safety.claims.words import Kind, Word

_PART: Final = re.compile(r"[^\W_]+")
_NAME: Final = re.compile(r"\w(?:[\w.-]*\w)?")
_NO_NAME: Final = re.compile(r"v?\d[\d.:]*[a-z%]{0,3}")
"""Versions, times, amounts."""
_SHORTEST_PART: Final = 3
_SHORTEST_STEM: Final = 5


@dataclass(frozen=True, slots=True)
class Names:
    """The particular names of a phrase, one set for each thing it lists. None: it names nothing in particular."""

    groups: tuple[frozenset[str], ...] = ()
    kinds: frozenset[str] = frozenset()
    """What sorts of things are spoken of."""
    nouns: frozenset[str] = frozenset()
    """All words that are not mere grammar."""

    def all(self) -> frozenset[str]:
        return frozenset[str]().union(*self.groups)


def find_names(words: Iterable[Word], *, lexicon: Lexicon) -> Names:
    groups: list[list[Word]] = [[]]
    for word in words:
        if word.low in lexicon.joiners or word.low == ",":
            groups.append([])
        else:
            groups[-1].append(word)
    named = [_names_of(group, lexicon) for group in groups]
    kinds = {lexicon.kinds[word.low] for group in groups for word in group if word.low in lexicon.kinds}
    nouns = {word.low for group in groups for word in group if word.is_word}
    plain = nouns - lexicon.function_words - lexicon.pronouns - lexicon.determiners
    return Names(tuple(names for names in named if names), frozenset(kinds), frozenset(plain))


def find_proper_names(words: Iterable[Word], *, lexicon: Lexicon) -> Names:
    """Only what can be nothing else, any of which may be meant."""
    found = frozenset[str]().union(*(_names_in(word, lexicon) for word in words))
    return Names((found,) if found else ())


def _names_of(group: Sequence[Word], lexicon: Lexicon) -> frozenset[str]:
    """A plain word names something when it stands alone ("redis") or before a sort of thing ("the payment service");
    with an article alone it only describes ("the broker").
    """
    names: set[str] = set()
    is_described = bool(group) and (group[0].low in lexicon.determiners or group[0].low in lexicon.generic)
    for place, word in enumerate(group):
        if not word.is_word:
            names |= _names_in(word, lexicon)
        elif is_particular(word.low, lexicon):
            is_naming = _is_beside_kind(group, place, lexicon) and not word.low.endswith(lexicon.past_ending)
            if is_naming or not is_described:
                names.add(word.low)
    return frozenset(names)


def _is_beside_kind(group: Sequence[Word], place: int, lexicon: Lexicon) -> bool:
    """`the payment service`, `the service nginx`."""
    is_after = place > 0 and group[place - 1].low in lexicon.kinds
    return is_after or any(word.low in lexicon.kinds for word in group[place + 1 :])


def may_be_same(name: str, other: str) -> bool:
    """The same, a part of it, or what grew out of it: api, api-7d9f, api.example.com."""
    if name == other:
        return True
    short, long = sorted((name, other), key=len)
    if long.startswith(short) and long[len(short)] in "-./:_":
        return True
    if _has_number(name) and _has_number(other):
        return False
    if len(short) >= _SHORTEST_STEM and short.isalpha() and long.startswith(short.rstrip("s")):
        return True
    parts, others = _parts(name), _parts(other)
    return not parts.isdisjoint(others) and (parts <= others or others <= parts)


def _names_in(word: Word, lexicon: Lexicon) -> set[str]:
    match word.kind:
        case Kind.CODE | Kind.QUOTE:
            found = _NAME.findall(word.low.strip("`\"'“”„«»"))
            return {name for name in found if is_particular(name, lexicon)}
        case Kind.NAME:
            found = _NAME.findall(word.low)
            return {name for name in found if is_particular(name, lexicon)}
        case _:
            return set()


def is_particular(name: str, lexicon: Lexicon) -> bool:
    if name in lexicon.generic or _NO_NAME.fullmatch(name) or len(name) < _SHORTEST_PART - 1:
        return False
    if name.endswith("ly") and name.isalpha():
        return False
    if name in lexicon.function_words:
        return False
    return not (name.endswith("s") and name[:-1] in lexicon.generic) and name not in lexicon.entries


@lru_cache(maxsize=1024)
def stems_of(name: str) -> tuple[str, ...]:
    """Pieces of which at least one stands in every name that may mean the same."""
    parts = tuple(_parts(name))
    stem = name.rstrip("s")
    return (*parts, stem[:_SHORTEST_STEM] if len(stem) > _SHORTEST_STEM and stem.isalpha() else stem)


def _has_number(name: str) -> bool:
    return any(character.isdigit() for character in name)


@lru_cache(maxsize=4096)
def _parts(name: str) -> frozenset[str]:
    parts = {part.rstrip("s") for part in _PART.findall(name)}
    long = (part for part in parts if len(part) >= _SHORTEST_PART and not part.isdigit())
    return frozenset(part for part in long if part not in _EVERYWHERE)


def cut_names(texts: Sequence[str]) -> frozenset[str]:
    return frozenset(name for text in texts for name in _NAME.findall(text.lower()))


_EVERYWHERE: Final = word_set("""
service svc api app pod prod production server node web host db deployment deploy container cluster default system com
net local internal example staging dev the and for
""")
