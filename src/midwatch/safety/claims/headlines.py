"""Claims without an auxiliary, in which the thing comes first: `Cache cleared`, `With nginx restarted, …`."""

from midwatch.safety.claims.actions import Action
from midwatch.safety.claims.grammar import Role, Who
from midwatch.safety.claims.paraphrases import Assertion
from midwatch.safety.claims.reading import Reading
from midwatch.safety.claims.sentences import Mood
from midwatch.safety.claims.suppositions import is_doubted


def read_headline(reading: Reading, place: int, action: Action, role: Role) -> Assertion | None:
    """`Cache cleared.`, `nginx restarted ✅`, and what a thing did by itself: `The pod restarted`."""
    begin, end = role.subject
    if _is_caused(reading, begin):
        return Assertion(place, action, *reading.split_places(begin, end), is_own=True)
    if reading.words[place].low in reading.lexicon.simple_pasts or reading.goes_on_with_object(place):
        return None
    sure = reading.has_success(role)
    if role.has_helper:
        is_told = action.moves_itself and sure
    elif not action.is_common and _is_accompanying(reading, begin, place):
        begin, is_told = begin + 1, True
    elif _shares_helper(reading, begin):
        is_told = True
    else:
        is_told = _is_headline(reading, place, role, sure=sure or _is_done_to(reading, action))
    if not is_told:
        return None
    about, places = reading.split_places(begin, end)
    return Assertion(place, action, about, places or reading.read_object(place, action)[1])


def _is_done_to(reading: Reading, action: Action) -> bool:
    """`- The cache flushed`: an item, and nothing does this by itself."""
    is_list = reading.sentence.is_item and reading.sentence.mood is Mood.PLAIN
    return is_list and not action.moves_itself and not action.is_common


def _is_headline(reading: Reading, place: int, role: Role, *, sure: bool) -> bool:
    lexicon, subject = reading.lexicon, reading.words[slice(*role.subject)]
    is_level = reading.words[place].low in lexicon.levels and reading.find_head(role.subject) in lexicon.metrics
    if is_level or not reading.grammar.is_boundary(role.subject[0] - 1) or not reading.is_short(subject):
        return False
    if subject[0].low in lexicon.prepositions or reading.has_finite_after(place):
        return False
    is_pronoun = len(subject) == 1 and subject[0].low in lexicon.pronouns
    is_report = is_pronoun or subject[0].low in lexicon.determiners or reading.sentence.mood is Mood.REPORT
    return reading.sentence.mood is not Mood.ADVICE and (sure or not is_report)


def _shares_helper(reading: Reading, begin: int) -> bool:
    """`nginx was stopped and the cache cleared`."""
    if reading.low_at(begin - 1) not in reading.lexicon.joiners:
        return False
    for place in range(begin - 2, -1, -1):
        word = reading.words[place]
        if word.is_stop and word.low != ",":
            return False
        if word.is_finite and word.entries:
            role = reading.grammar.role_of(place)
            is_told = role.is_passive and role.is_told and not role.is_present and role.who is Who.THING
            return is_told and not is_doubted(reading, role.subject[0], verb=place)
    return False


def _is_accompanying(reading: Reading, begin: int, place: int) -> bool:
    """`With nginx restarted, errors stopped`: unless what follows is only imagined."""
    lexicon = reading.lexicon
    if reading.low_at(begin) not in lexicon.accompanying or not reading.grammar.is_boundary(begin - 1):
        return False
    if reading.low_at(begin + 1) in lexicon.indefinite or reading.sentence.mood is Mood.ADVICE:
        return False
    rest = [word.low for word in reading.words[place + 1 :]]
    return "," in rest and lexicon.imagining.isdisjoint(rest)


def _is_caused(reading: Reading, begin: int) -> bool:
    lexicon, speaker = reading.lexicon, begin - 2
    while lexicon.is_adverb(reading.low_at(speaker)):
        speaker -= 1
    return reading.low_at(begin - 1) in lexicon.causing and reading.low_at(speaker) in lexicon.firsts
