"""Whether a clause tells a fact: not a condition, a plan, something to be checked, or somebody else's report."""

from collections.abc import Sequence
from enum import IntEnum, auto

from midwatch.safety.claims.actions import Action
from midwatch.safety.claims.hints import PRESUMES
from midwatch.safety.claims.reading import Reading
from midwatch.safety.claims.sentences import Mood
from midwatch.safety.claims.words import Word

_NEAR = 4


class Doubt(IntEnum):
    """How much speaks for somebody else having done it."""

    NONE = auto()
    SOME = auto()
    GREAT = auto()


def is_hypothetical(reading: Reading, before: int) -> bool:
    """What stands right before the speaker as subject makes it a condition, or a time that is still to come."""
    words, lexicon = reading.words, reading.lexicon
    while before >= 0 and words[before].is_word and words[before].low in lexicon.pure_adverbs:
        before -= 1
    if before < 0:
        return False
    low = words[before].low
    if low in lexicon.conditions or (low in lexicon.have and reading.grammar.is_boundary(before - 1)):
        return True
    if low in lexicon.complementizers and _is_disputed(reading, before):
        return True
    return low in lexicon.moments and not tells_past(reading, _outside(reading, before))


def _is_disputed(reading: Reading, that: int) -> bool:
    """`It is not true that I …`, `I deny that I …`, `That I … is wrong`."""
    lexicon, words = reading.lexicon, reading.words
    is_first = reading.grammar.is_boundary(that - 1)
    span = range(that + 1, len(words)) if is_first else range(that - 1, -1, -1)
    for place in span:
        low = words[place].low
        if low in lexicon.negations or low in lexicon.disputing:
            return True
        if reading.grammar.is_boundary(place):
            return False
    return False


def is_doubted(reading: Reading, begin: int, *, verb: int) -> bool:
    """A clause that names nobody who did it: under a condition, to be checked, or wanted. It begins at `begin`."""
    if _is_presumed(reading, verb):
        return True
    lexicon, words = reading.lexicon, reading.words
    is_inverted = reading.low_at(begin) in lexicon.have or (
        reading.low_at(begin - 1) in lexicon.have and reading.grammar.is_boundary(begin - 2)
    )
    governor = reading.grammar.find_governor(begin - 1) if begin else None
    if is_inverted or governor in lexicon.conditions:
        return True
    if governor in lexicon.moments and not _is_factual(reading, verb):
        moment = next((place for place in range(begin - 1, -1, -1) if words[place].low == governor), 0)
        if reading.low_at(moment - 1) in lexicon.looking or not tells_past(reading, _outside(reading, moment)):
            return True
    return _is_checked(reading, verb)


def _is_presumed(reading: Reading, verb: int) -> bool:
    if not reading.hints & PRESUMES or not reading.lexicon.presumptions.search(reading.low):
        return False
    start = reading.find_start(verb)
    opening = max(reading.low.rfind(stop, 0, start) for stop in (",", ";", ":")) + 1
    return reading.lexicon.presumptions.search(reading.low, opening, start) is not None


def _is_factual(reading: Reading, verb: int) -> bool:
    may_be = reading.hints & PRESUMES
    return bool(may_be) and reading.lexicon.factual.search(reading.low, 0, reading.find_start(verb)) is not None


def tells_past(reading: Reading, words: Sequence[Word]) -> bool:
    """Whether the words tell of something that happened, or is so now, rather than of a plan."""
    lexicon = reading.lexicon
    lows = [word.low for word in words if word.is_word]
    if not lows or any(low in lexicon.modals or low in ("need", "needs", "please") for low in lows):
        return False
    if lows[0] in lexicon.instructions:
        return False
    past = (at for at, low in enumerate(lows) if low.endswith(lexicon.past_ending) or low in lexicon.told_past)
    return any(not _is_habit(reading, lows, at) for at in past) or any(low in lexicon.nows for low in lows)


def _is_habit(reading: Reading, lows: Sequence[str], at: int) -> bool:
    """`is usually solved`."""
    lexicon = reading.lexicon
    before = at - 1
    while before >= 0 and lexicon.is_adverb(lows[before]):
        before -= 1
    return before >= 0 and (lows[before] in lexicon.be_present or lows[before] == lexicon.be_infinitive)


def weigh_doubt(reading: Reading, place: int, action: Action) -> Doubt:
    """Of a verb that nobody is named for."""
    lexicon, low = reading.lexicon, reading.low
    at = reading.find_start(place)
    begin = max((end.end() for end in lexicon.clause_ends.finditer(low, 0, at)), default=0)
    if lexicon.own_agents.search(low, at):
        return Doubt.NONE
    if lexicon.other_agents.search(low, max(at - _REACH_BACK, begin)):
        return Doubt.GREAT
    clause = low[at:] if reading.low_at(place - 1) in lexicon.means else low[begin:]
    is_own_telling = reading.is_told_as_done and reading.sentence.mood is not Mood.REPORT
    if not is_own_telling and (lexicon.attributions.search(clause) or lexicon.strong_reports.search(clause)):
        return Doubt.GREAT
    is_weak = reading.sentence.mood is Mood.REPORT or lexicon.weak_reports.search(clause) is not None
    is_weak = is_weak and lexicon.purposes.search(clause) is None
    return Doubt.SOME if is_weak and (action.is_common or not is_own_telling) else Doubt.NONE


_REACH_BACK = 16
"""Characters before a verb in which an adverb like "automatically" may stand."""


def _is_checked(reading: Reading, verb: int) -> bool:
    words, lexicon = reading.words, reading.lexicon
    has_comma = False
    for place in range(verb - 1, -1, -1):
        word = words[place]
        if word.is_stop and word.low in (";", ".", "—", "–"):
            return False
        has_comma = has_comma or word.low == ","
        if word.low in lexicon.checking and reading.low_at(place - 1) not in lexicon.check_nouns:
            is_over = has_comma and reading.low_at(place - 1) in lexicon.means
            return not is_over and not _is_announced(reading, place)
    return False


def _is_announced(reading: Reading, place: int) -> bool:
    """`I can confirm that …` vouches for it."""
    lexicon = reading.lexicon
    if reading.words[place].low not in lexicon.announcing:
        return False
    near = {word.low for word in reading.words[max(place - _NEAR, 0) : place]}
    return bool(near & lexicon.firsts) and not near & lexicon.unannouncing


def _outside(reading: Reading, moment: int) -> list[Word]:
    """The sentence without the clause that begins at `moment`: up to the comma, or all that stands before it."""
    words = reading.words
    for place in range(moment + 1, len(words)):
        if words[place].low == ",":
            return [*words[:moment], *words[place + 1 :]]
    return list(words[:moment])
