"""What a sentence says of a deed besides its object: where that lies, and what it was changed to."""

from collections.abc import Iterable, Iterator

from midwatch.safety.claims.reading import Reading
from midwatch.safety.claims.words import Kind


def find_scopes(reading: Reading, places: Iterable[int]) -> Iterator[tuple[str, str]]:
    """`in namespace shop`, `in the shop namespace`: the noun and the name."""
    lexicon = reading.lexicon
    for place in places:
        if reading.words[place].low in lexicon.scopes:
            for beside in (place + 1, place - 1):
                low = reading.low_at(beside)
                if low and reading.words[beside].kind in (Kind.WORD, Kind.NAME) and low not in lexicon.function_words:
                    yield reading.words[place].low, low


def find_goals(reading: Reading, verb: int) -> list[str]:
    """`switched … to relay-2`: names and versions it is said to have been changed to."""
    goals: list[str] = []
    for place in range(verb + 2, len(reading.words)):
        word = reading.words[place]
        if word.is_stop or word.low in reading.lexicon.joiners:
            break
        is_named = word.kind is Kind.NAME or (word.kind is Kind.NUMBER and "." in word.low)
        if is_named and reading.low_at(place - 1) == reading.lexicon.to:
            goals.append(word.low)
    return goals


def find_figures(reading: Reading, verb: int) -> tuple[str, ...]:
    """`scaled … to 5`, `rolled back to revision 41`."""
    lexicon = reading.lexicon
    figures: list[str] = []
    for place in range(verb + 1, len(reading.words)):
        word = reading.words[place]
        if word.is_stop or word.low in lexicon.joiners:
            break
        before = place - 2 if reading.low_at(place - 1) in lexicon.revisions else place - 1
        if word.kind is Kind.NUMBER and word.low.isdigit() and reading.low_at(before) == lexicon.to:
            figures.append(word.low)
    return tuple(figures)
