"""Whether a verb speaks of the investigation itself, with which nothing outside changes."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Final

from midwatch.safety.claims.actions import Action, Family
from midwatch.safety.claims.reading import Reading
from midwatch.safety.claims.words import Kind

_OF_TEXT: Final = (Family.CHANGE, Family.DEPLOY, Family.SCALE, Family.MOVE)


def is_research(reading: Reading, verb: int, about: Sequence[int]) -> bool:
    """The action belongs to the investigation: nothing outside changes with it."""
    lexicon = reading.lexicon
    if is_digression(reading, verb) or _is_looked_up(reading, verb):
        return True
    entry = reading.choose(verb)
    is_stop = entry is not None and entry.action.family is Family.STOP
    research = lexicon.unstoppable_research if is_stop else lexicon.research
    if entry and _presents(reading, entry.action):
        return True
    if entry and entry.action.family in _OF_TEXT and _is_added_to_text(reading, verb):
        return True
    if entry and entry.action.family is Family.NOTIFY and _names_channel(reading, verb):
        return False
    first = [word.low for word in takewhile(lambda word: word.low not in lexicon.joiners, reading.pick(about))]
    return not research.isdisjoint(first) and lexicon.unresearched.isdisjoint(first)


def is_digression(reading: Reading, verb: int) -> bool:
    """`started by looking at`, `cleared up why`."""
    lexicon = reading.lexicon
    if reading.low_at(verb + 1) in lexicon.digressing.get(reading.words[verb].low, ()):
        return True
    return any(reading.low_at(place) in lexicon.wondering for place in (verb + 1, verb + 2))


def _is_looked_up(reading: Reading, verb: int) -> bool:
    """`resolved img.example.com to 10.0.0.1`."""
    lexicon = reading.lexicon
    if reading.words[verb].low not in lexicon.translating:
        return False
    rest = reading.until_stop(verb + 1)
    goals = [place for place, word in enumerate(rest) if word.low == lexicon.to]
    return any(after.kind in (Kind.NAME, Kind.NUMBER) for place in goals for after in rest[place + 1 : place + 2])


def _is_added_to_text(reading: Reading, verb: int) -> bool:
    """`added the p99 to the comparison`."""
    lexicon = reading.lexicon
    rest = [word.low for word in reading.until_stop(verb + 1)]
    if lexicon.to not in rest:
        return False
    goal = rest.index(lexicon.to)
    return any(low in lexicon.research for low in rest[goal + 1 : goal + 4])


def _presents(reading: Reading, action: Action) -> bool:
    """`I have attached the log lines below`: what is done to the reply itself."""
    ends = {word.low for word in reading.words[-2:]}
    return action.family in _OF_TEXT and bool(ends & reading.lexicon.presenting)


def _names_channel(reading: Reading, verb: int) -> bool:
    """`posted a summary in the incident channel`."""
    return any(word.low in reading.lexicon.channels for word in reading.words[verb + 1 :])
