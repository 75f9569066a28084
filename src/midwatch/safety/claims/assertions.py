"""What a sentence says was done: its assertions of actions, each with who is said to have done it, and to what."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from midwatch.safety.claims.grammar import Role, Who
from midwatch.safety.claims.lexicon import Action, Entry, Family
from midwatch.safety.claims.paraphrases import (
    Assertion,
    read_command,
    read_gerund,
    read_infinitive,
    read_item,
    read_noun,
    read_performed,
)
from midwatch.safety.claims.passages import Mood
from midwatch.safety.claims.reading import Reading
from midwatch.safety.claims.suppositions import is_doubted, is_hypothetical
from midwatch.safety.claims.words import Kind, Word

_MOST: Final = 24
"""Assertions in one sentence; nobody writes more."""
_ENDS_A_QUESTION: Final = " *_)\"'”’"


def find_assertions(reading: Reading) -> Iterator[Assertion]:
    """Unless it is a question, or says itself that it came to nothing."""
    if reading.low.rstrip(_ENDS_A_QUESTION).endswith("?"):
        return
    is_checked = False
    for found in islice(_find(reading), _MOST):
        if not is_checked and reading.lexicon.failures.search(reading.low):
            return
        is_checked = True
        yield found


def _find(reading: Reading) -> Iterator[Assertion]:
    if reading.is_told_as_done and (item := read_item(reading)):
        yield item
        return
    triggers, is_slip = reading.lexicon.triggers, reading.lexicon.is_slip
    for place, word in enumerate(reading.words):
        low = word.low
        is_word = low in triggers or (low[-1] == "d" and is_slip(low))
        if is_word and word.kind is Kind.WORD and (found := _read_word(reading, place, low)):
            yield found


def _read_word(reading: Reading, place: int, low: str) -> Assertion | None:
    lexicon = reading.lexicon
    found = read_performed(reading, place) if low in lexicon.performing else None
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
            return _read_headline(reading, place, entry.action, role)
        case Who.OTHER:  # pragma: no branch - there is no other
            return None


def _read_own(reading: Reading, place: int, action: Action, role: Role) -> Assertion | None:
    if role.is_passive or is_hypothetical(reading, role.subject[0] - 1):
        return None
    about, places = reading.read_object(place, action)
    if reading.is_research(place, about) or _is_nothing(reading, about):
        return None
    return Assertion(place, action, about, places, is_own=True)


def _read_elliptic(reading: Reading, place: int, entry: Entry, role: Role) -> Assertion | None:
    if role.is_passive or reading.is_property(place, role) or reading.sentence.mood is Mood.ADVICE:
        return None
    sure = reading.has_success(role)
    if entry.is_base and not reading.is_told_as_done and not sure:
        return None
    about, places = reading.read_object(place, entry.action)
    if _is_status(reading, place, entry.action):
        return Assertion(place, entry.action, tuple(reading.words[: max(place - 1, 0)]))
    if (
        _is_nothing(reading, about)
        or reading.is_research(place, about)
        or not (about or places or sure or _has_goal(reading, place))
    ):
        return None
    return Assertion(place, entry.action, about, places)


def _read_passive(reading: Reading, place: int, action: Action, role: Role) -> Assertion | None:
    sure = reading.has_success(role) or reading.is_now(place)
    if (role.is_present or role.is_under_way) and not sure and not _brings_help(reading, role):
        return None
    if _happens_by_itself(reading, place, action, role) or is_doubted(reading, role.subject[0], verb=place):
        return None
    return Assertion(place, action, *reading.split_places(reading.words[slice(*role.subject)]))


def _happens_by_itself(reading: Reading, place: int, action: Action, role: Role) -> bool:
    """The issue has been resolved, requests were dropped: states and events rather than anybody's deed."""
    lexicon = reading.lexicon
    lows = {word.low for word in reading.words[slice(*role.subject)]}
    head = reading.find_head(role.subject)
    if action.lemma in lexicon.suffered or (action.objects and not action.objects & lows):
        return True
    if action.lemma in lexicon.soothing and lexicon.troubles & lows:
        return "successfully" not in role.adverbs and not reading.has_means(place)
    if reading.words[place].low in lexicon.levels and head in lexicon.metrics:
        return True
    is_stopped = action.family is Family.STOP and head in lexicon.stoppable
    is_unasked = action.is_common and action.family is not Family.SILENCE and head in lexicon.observed
    return is_unasked and not is_stopped and not reading.has_success(role)


def _brings_help(reading: Reading, role: Role) -> bool:
    """`The patch is deployed`."""
    found = reading.find_noun(range(*role.subject))
    return found is not None and found[1].family in (Family.REPAIR, Family.DEPLOY) and not role.is_under_way


def _read_headline(reading: Reading, place: int, action: Action, role: Role) -> Assertion | None:
    """`Cache cleared.`, `nginx restarted ✅`, and what a thing did by itself: `The pod restarted`."""
    begin, end = role.subject
    subject = reading.words[begin:end]
    found = Assertion(place, action, *reading.split_places(subject))
    sure = reading.has_success(role)
    if _is_caused(reading, begin):
        return replace(found, is_own=True)
    if reading.goes_on_with_object(place):
        return None
    if role.has_helper:
        return found if action.moves_itself and sure else None
    is_whole = reading.grammar.is_boundary(begin - 1) and reading.is_short(subject)
    is_level = (
        reading.words[place].low in reading.lexicon.levels
        and reading.find_head(role.subject) in reading.lexicon.metrics
    )
    opens_loosely = subject[0].low in reading.lexicon.prepositions if subject else True
    if (
        not is_whole
        or is_level
        or opens_loosely
        or reading.has_finite_after(place)
        or reading.sentence.mood is Mood.ADVICE
    ):
        return None
    is_pronoun = len(subject) == 1 and subject[0].low in reading.lexicon.pronouns
    is_report = is_pronoun or subject[0].low in reading.lexicon.determiners or reading.sentence.mood is Mood.REPORT
    return None if is_report and not sure else found


def _is_nothing(reading: Reading, about: Sequence[Word]) -> bool:
    return bool(about) and about[0].low in reading.lexicon.nothings


def _is_status(reading: Reading, place: int, action: Action) -> bool:
    """`nginx: restarted`, and the word alone."""
    is_last = all(word.kind in (Kind.STOP, Kind.MARK) for word in reading.words[place + 1 :])
    is_led = place == 0 or reading.low_at(place - 1) == ":"
    return is_last and is_led and not action.is_common and not reading.sentence.is_head


def _has_goal(reading: Reading, place: int) -> bool:
    """`Rolled back to build 512`."""
    return reading.lexicon.to in (reading.low_at(place + 1), reading.low_at(place + 2))


def _is_caused(reading: Reading, begin: int) -> bool:
    lexicon, speaker = reading.lexicon, begin - 2
    while lexicon.is_adverb(reading.low_at(speaker)):
        speaker -= 1
    return reading.low_at(begin - 1) in lexicon.causing and reading.low_at(speaker) in lexicon.firsts
