"""What a sentence says was done: its assertions of actions, each with who is said to have done it, and to what."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from midwatch.safety.claims.grammar import Role, Who
from midwatch.safety.claims.lexicon import Action, Entry, Family, Form, Lexicon
from midwatch.safety.claims.passages import Mood, Sentence
from midwatch.safety.claims.paraphrases import (
    Found,
    read_command,
    read_gerund,
    read_infinitive,
    read_item,
    read_noun,
    read_performed,
)
from midwatch.safety.claims.reading import Reading, take_apart
from midwatch.safety.claims.suppositions import Doubt, is_doubted, is_hypothetical, weigh_doubt
from midwatch.safety.claims.words import Kind, Word

_ENDS_A_QUESTION: Final = " *_)\"'”’"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assertion:
    action: Action
    is_own: bool
    """The speaker says it of itself; else nobody is named."""
    about: tuple[Word, ...]
    """What it was done to."""
    places: tuple[Word, ...]
    figures: tuple[str, ...]
    """Whole numbers it is said to have been changed to."""
    doubt: Doubt


def find_assertions(sentence: Sentence, *, lexicon: Lexicon) -> Iterator[Assertion]:
    low = sentence.text.lower()
    if low.rstrip(_ENDS_A_QUESTION).endswith("?") or lexicon.failures.search(low):
        return
    reading = take_apart(sentence, lexicon=lexicon)
    for found in _find(reading):
        doubt = Doubt.NONE if found.is_own else weigh_doubt(reading, found.verb, found.action)
        yield Assertion(
            action=found.action,
            is_own=found.is_own,
            about=found.about,
            places=found.places,
            figures=reading.find_figures(found.verb),
            doubt=doubt,
        )


def _find(reading: Reading) -> Iterator[Found]:
    if reading.is_told_as_done() and (item := read_item(reading)):
        yield item
        return
    for place, word in enumerate(reading.words):
        if word.kind is Kind.WORD and (found := _read_word(reading, place, word.low)):
            yield found


def _read_word(reading: Reading, place: int, low: str) -> Found | None:
    lexicon = reading.lexicon
    if low in lexicon.performing and (found := read_performed(reading, place)):
        return found
    if low in lexicon.commanding and (found := read_command(reading, place)):
        return found
    entry = reading.choose(place)
    if entry is None:
        return None
    if Form.PAST in entry.form and (found := _read_past(reading, place, entry)):
        return found
    if Form.BASE in entry.form and (found := read_infinitive(reading, place, entry.action)):
        return found
    if Form.GERUND in entry.form and (found := read_gerund(reading, place, entry.action)):
        return found
    return read_noun(reading, place, entry.action) if Form.NOUN in entry.form else None


def _read_past(reading: Reading, place: int, entry: Entry) -> Found | None:
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
        case Who.OTHER:
            return None


def _read_own(reading: Reading, place: int, action: Action, role: Role) -> Found | None:
    if role.is_passive or is_hypothetical(reading, role.subject[0] - 1):
        return None
    about, places = reading.read_object(place, action)
    if reading.is_research(place, about) or _is_nothing(reading, about):
        return None
    return Found(place, action, about, places, is_own=True)


def _read_elliptic(reading: Reading, place: int, entry: Entry, role: Role) -> Found | None:
    if role.is_passive or reading.is_property(place, role) or reading.sentence.mood is Mood.ADVICE:
        return None
    sure = reading.has_success(role)
    if Form.BASE in entry.form and not reading.is_told_as_done() and not sure:
        return None
    about, places = reading.read_object(place, entry.action)
    if _is_status(reading, place, entry.action):
        return Found(place, entry.action, tuple(reading.words[: place - 1]))
    if _is_nothing(reading, about) or reading.is_research(place, about) or not (about or places or sure or _has_goal(reading, place)):
        return None
    return Found(place, entry.action, about, places)


def _read_passive(reading: Reading, place: int, action: Action, role: Role) -> Found | None:
    sure = reading.has_success(role) or reading.is_now(place)
    if (role.is_present or role.is_under_way) and not sure and not _brings_help(reading, role):
        return None
    if _happens_by_itself(reading, place, action, role) or is_doubted(reading, role.subject[0], verb=place):
        return None
    return Found(place, action, *reading.split_places(reading.words[slice(*role.subject)]))


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
    is_unasked = action.is_common and action.family is not Family.SILENCE and head in lexicon.observed
    return is_unasked and not reading.has_success(role)


def _brings_help(reading: Reading, role: Role) -> bool:
    """`The patch is deployed`."""
    noun = reading.find_noun(range(*role.subject))
    return noun is not None and noun.action.family in (Family.REPAIR, Family.DEPLOY) and not role.is_under_way


def _read_headline(reading: Reading, place: int, action: Action, role: Role) -> Found | None:
    """`Cache cleared.`, `nginx restarted ✅`, and what a thing did by itself: `The pod restarted`."""
    begin, end = role.subject
    subject = reading.words[begin:end]
    found = Found(place, action, *reading.split_places(subject))
    sure = reading.has_success(role)
    if _is_caused(reading, begin):
        return replace(found, is_own=True)
    if reading.goes_on_with_object(place):
        return None
    if role.has_helper:
        return found if action.moves_itself and sure else None
    is_whole = reading.grammar.is_boundary(begin - 1) and reading.is_short(subject)
    is_level = reading.words[place].low in reading.lexicon.levels and reading.find_head(role.subject) in reading.lexicon.metrics
    opens_loosely = subject[0].low in reading.lexicon.prepositions if subject else True
    if not is_whole or is_level or opens_loosely or reading.has_finite_after(place) or reading.sentence.mood is Mood.ADVICE:
        return None
    is_pronoun = len(subject) == 1 and subject[0].low in reading.lexicon.pronouns
    is_report = is_pronoun or subject[0].low in reading.lexicon.determiners or reading.sentence.mood is Mood.REPORT
    return None if is_report and not sure else found


def _is_nothing(reading: Reading, about: Sequence[Word]) -> bool:
    return bool(about) and about[0].low in reading.lexicon.nothings


def _is_status(reading: Reading, place: int, action: Action) -> bool:
    """`nginx: restarted`."""
    is_last = all(word.kind in (Kind.STOP, Kind.MARK) for word in reading.words[place + 1 :])
    return is_last and reading.low_at(place - 1) == ":" and not action.is_common


def _has_goal(reading: Reading, place: int) -> bool:
    """`Rolled back to build 512`."""
    return reading.lexicon.to in (reading.low_at(place + 1), reading.low_at(place + 2))


def _is_caused(reading: Reading, begin: int) -> bool:
    lexicon, speaker = reading.lexicon, begin - 2
    while lexicon.is_adverb(reading.low_at(speaker)):
        speaker -= 1
    return reading.low_at(begin - 1) in lexicon.causing and reading.low_at(speaker) in lexicon.firsts
