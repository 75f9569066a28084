"""What a sentence says was done: its assertions of actions, each with who is said to have done it, and to what."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import compress, count, islice
from operator import attrgetter
from typing import Final

from midwatch.safety.claims.actions import Action, Entry, Family
from midwatch.safety.claims.grammar import Role, Who
from midwatch.safety.claims.headlines import read_headline
from midwatch.safety.claims.hints import FAILS
from midwatch.safety.claims.paraphrases import (
    Assertion,
    read_command,
    read_done,
    read_gerund,
    read_infinitive,
    read_item,
    read_noun,
    read_performed,
)
from midwatch.safety.claims.reading import Reading, fits_object
from midwatch.safety.claims.research import is_research
from midwatch.safety.claims.sentences import Mood, Sentence
from midwatch.safety.claims.suppositions import is_doubted, is_hypothetical

_MOST: Final = 24
"""Assertions in one sentence; nobody writes more."""
_IS_TRIGGER: Final = attrgetter("is_trigger")
_BEFORE_A_STATUS: Final = (":", "—", "–", "-", "→")
_ENDS_A_QUESTION: Final = " *_)\"'”’"


def is_question(sentence: Sentence) -> bool:
    return sentence.low.rstrip(_ENDS_A_QUESTION).endswith("?")


def find_assertions(reading: Reading) -> Iterator[Assertion]:
    """Of a sentence that is no question, unless it says itself that it came to nothing."""
    may_fail = bool(reading.hints & FAILS)
    last: Assertion | None = None
    for found in islice(_find(reading), _MOST):
        if may_fail and reading.lexicon.failures.search(reading.low):
            return
        may_fail = False
        last = replace(found, about=last.about) if last and _is_same(reading, last, found) else found
        yield last


def _is_same(reading: Reading, last: Assertion, found: Assertion) -> bool:
    """`I stopped nginx and deleted it`: unless something else is named between the two."""
    if len(found.about) != 1 or not last.about or reading.words[found.about[0]].low not in reading.lexicon.pronouns:
        return False
    between = reading.words[max(*last.about, last.verb) + 1 : found.verb]
    return not any(word.is_named for word in between)


def _find(reading: Reading) -> Iterator[Assertion]:
    if reading.is_told_as_done and (item := read_item(reading)):
        yield item
        return
    for place in compress(count(), map(_IS_TRIGGER, reading.words)):
        word = reading.words[place]
        if word.is_base and not _may_be_told(reading, place - 1):
            continue
        if found := _read_word(reading, place, word.low):
            yield found


def _may_be_told(reading: Reading, before: int) -> bool:
    """An infinitive, by what stands before it."""
    if before < 0:
        return False
    word = reading.words[before]
    return word.is_adverb or word.low in reading.lexicon.before_infinitives


def _read_word(reading: Reading, place: int, low: str) -> Assertion | None:
    lexicon = reading.lexicon
    found = read_done(reading, place) if low in lexicon.doing else None
    if found is None and low in lexicon.performing:
        found = read_performed(reading, place)
    if found is None and low in lexicon.commanding:
        found = read_command(reading, place)
    entry = None if found else reading.choose(place)
    return found if entry is None else _read_entry(reading, place, entry)


def _read_entry(reading: Reading, place: int, entry: Entry) -> Assertion | None:
    found = _read_past(reading, place, entry) if entry.is_past else None
    if found is None and entry.is_base:
        found = read_infinitive(reading, place, entry.action)
    if found is None and entry.is_gerund:
        found = read_gerund(reading, place, entry.action)
    if found is None and entry.is_noun:
        found = read_noun(reading, place, entry.action)
    return found


def _read_past(reading: Reading, place: int, entry: Entry) -> Assertion | None:
    role = reading.grammar.role_of(place)
    if not role.is_told:
        return None
    match role.who:
        case Who.OWN:
            return _read_own(reading, place, entry.action, role)
        case Who.NOBODY:
            return _read_elliptic(reading, place, entry, role)
        case Who.THING if role.is_passive:
            return _read_passive(reading, place, entry.action, role)
        case Who.THING:
            return read_headline(reading, place, entry.action, role)
        case Who.OTHER:  # pragma: no branch - there is no other
            return None


def _read_own(reading: Reading, place: int, action: Action, role: Role) -> Assertion | None:
    if role.is_passive or is_hypothetical(reading, role.subject[0] - 1):
        return None
    about, places = reading.read_object(place, action)
    if is_research(reading, place, about) or _is_nothing(reading, about):
        return None
    return Assertion(place, action, about, places, is_own=True)


def _read_elliptic(reading: Reading, place: int, entry: Entry, role: Role) -> Assertion | None:
    if role.is_passive or reading.is_property(place, role) or reading.sentence.mood is Mood.ADVICE:
        return None
    sure = reading.has_success(role)
    if entry.is_base and not reading.is_told_as_done and not sure:
        return None
    if _is_status(reading, place, entry.action):
        return Assertion(place, entry.action, range(max(place - 1, 0)))
    is_label = reading.low_at(place + 1) == ":"
    about, places = reading.read_object(place + 1 if is_label else place, entry.action)
    if (
        _is_nothing(reading, about)
        or is_research(reading, place, about)
        or not (about or places or sure or _has_goal(reading, place))
    ):
        return None
    is_own = "just" in role.adverbs or (role.is_perfect and _speaks_next(reading, place))
    return Assertion(place, entry.action, about, places, is_own=is_own)


def _speaks_next(reading: Reading, place: int) -> bool:
    """`Having restarted it, I saw …`: whoever speaks has done it."""
    stop = reading.find_stop(place) + 1
    while reading.low_at(stop) and reading.words[stop].is_adverb:
        stop += 1
    return reading.low_at(stop) in reading.lexicon.firsts


def _read_passive(reading: Reading, place: int, action: Action, role: Role) -> Assertion | None:
    if (role.is_present or role.is_under_way) and not _is_outcome(reading, place, role):
        return None
    if _happens_by_itself(reading, place, action, role) or is_doubted(reading, role.subject[0], verb=place):
        return None
    about, places = reading.split_places(*role.subject)
    return Assertion(place, action, about, places or reading.read_object(place, action)[1])


def _happens_by_itself(reading: Reading, place: int, action: Action, role: Role) -> bool:
    """The issue has been resolved, requests were dropped: states and events rather than anybody's deed."""
    lexicon = reading.lexicon
    subject = reading.words[slice(*role.subject)]
    lows = {word.low for word in subject}
    head = reading.find_head(role.subject)
    needs_object = action.objects and not action.particles
    if action.lemma in lexicon.suffered or (needs_object and not any(fits_object(word, action) for word in subject)):
        return True
    if action.lemma in lexicon.soothing and lexicon.troubles & lows:
        return "successfully" not in role.adverbs and not reading.has_means(place)
    if reading.words[place].low in lexicon.levels and head in lexicon.metrics:
        return True
    is_stopped = action.family is Family.STOP and head in lexicon.stoppable
    is_unasked = action.is_common and action.family is not Family.SILENCE and head in lexicon.observed
    return is_unasked and not is_stopped and not reading.has_success(role)


def _is_outcome(reading: Reading, place: int, role: Role) -> bool:
    """`The service is now restarted`, `is being rolled back as we speak`: rather than what is done as a rule."""
    if reading.has_success(role) or reading.is_now(place) or _brings_help(reading, role):
        return True
    return reading.lexicon.under_way.search(reading.low) is not None


def _brings_help(reading: Reading, role: Role) -> bool:
    """`The patch is deployed`."""
    found = reading.find_noun(range(*role.subject))
    return found is not None and found[1].family in (Family.REPAIR, Family.DEPLOY) and not role.is_under_way


def _is_nothing(reading: Reading, about: Sequence[int]) -> bool:
    return bool(about) and reading.words[about[0]].low in reading.lexicon.nothings


def _is_status(reading: Reading, place: int, action: Action) -> bool:
    """`nginx: restarted`, and the word alone."""
    rest = reading.words[place + 1 :]
    is_last = all(word.is_break or word.low in reading.lexicon.directions for word in rest)
    is_led = place == 0 or reading.low_at(place - 1) in _BEFORE_A_STATUS
    is_state = action.is_common and not reading.sentence.is_change
    return is_last and is_led and not is_state and not reading.sentence.is_head


def _has_goal(reading: Reading, place: int) -> bool:
    """`Rolled back to build 512`."""
    return reading.lexicon.to in (reading.low_at(place + 1), reading.low_at(place + 2))
