"""What a sentence says is so: that something is up, down or well, and figures. Marked when nothing seen says it."""

import re
from typing import Final, NamedTuple

from midwatch.safety.claims.evidence import Evidence
from midwatch.safety.claims.findings import FindingKind
from midwatch.safety.claims.hints import DOUBTS, STATES
from midwatch.safety.claims.lexicon import Lexicon
from midwatch.safety.claims.names import find_names
from midwatch.safety.claims.quantities import Measure, Quantity, find_quantities
from midwatch.safety.claims.sentences import Mood, Sentence
from midwatch.safety.claims.words import Word, cut_words, find_spans

_COUNTABLE: Final = 50
_DIGIT: Final = re.compile(r"\d")


class Unsupported(NamedTuple):
    kind: FindingKind
    what: str
    target: str = ""


def find_unsupported(sentence: Sentence, *, hints: int, evidence: Evidence, lexicon: Lexicon) -> Unsupported | None:
    low = sentence.low
    if sentence.mood is Mood.ADVICE or sentence.is_quoted:
        return None
    may_state, has_digit = hints & STATES, _DIGIT.search(low)
    if not (may_state or has_digit) or low.endswith("?") or (hints & DOUBTS and lexicon.unstated.search(low)):
        return None
    state = _find_state(cut_words(low, lexicon=lexicon), low, evidence, lexicon) if may_state else None
    return state or (_find_figure(low, evidence, lexicon) if has_digit else None)


def _find_state(words: list[Word], low: str, evidence: Evidence, lexicon: Lexicon) -> Unsupported | None:
    for place, word in enumerate(words):
        if not word.is_word or word.low not in lexicon.akin or not _is_predicate(words, place, lexicon):
            continue
        begin = _begin_of_subject(words, place, lexicon)
        subject = words[begin:place]
        names = find_names((each for each in subject if each.low not in lexicon.akin), lexicon=lexicon).all()
        if not evidence.mentions(names, lexicon.akin[word.low]):
            spans = list(find_spans(low, lexicon=lexicon))
            target = low[spans[begin][0] : spans[place - 1][1]] if subject else ""
            return Unsupported(FindingKind.STATE, word.low, target)
    return None


def _is_predicate(words: list[Word], place: int, lexicon: Lexicon) -> bool:
    """After "is", "are", "has", adverbs between."""
    for before in range(place - 1, max(place - 5, -1), -1):
        low = words[before].low
        if low in lexicon.be or low in lexicon.have:
            return low != "be"
        is_adverb = lexicon.is_adverb(low) or low in lexicon.negations or low in lexicon.state_links
        if not is_adverb:
            return False
    return False


def _begin_of_subject(words: list[Word], place: int, lexicon: Lexicon) -> int:
    for before in range(place - 1, -1, -1):
        word = words[before]
        if word.is_stop or word.low in lexicon.subordinates or word.low in lexicon.joiners:
            return before + 1
    return 0


def _find_figure(low: str, evidence: Evidence, lexicon: Lexicon) -> Unsupported | None:
    for quantity in find_quantities(low):
        if _is_measured(quantity, low, lexicon) and not _is_known(quantity, evidence):
            return Unsupported(FindingKind.MEASUREMENT, quantity.text)
    return None


def _is_measured(quantity: Quantity, low: str, lexicon: Lexicon) -> bool:
    if quantity.measure is not Measure.COUNT:
        return quantity.measure is not Measure.SPAN
    after = low[quantity.start + len(quantity.text) :].split(maxsplit=1)[:1]
    if quantity.unit in lexicon.counted or (after and after[0].strip(".,;:") in lexicon.counted):
        return True
    return lexicon.measured_before.search(low, max(quantity.start - 40, 0), quantity.start) is not None


def _is_known(quantity: Quantity, evidence: Evidence) -> bool:
    if evidence.has_quantity(quantity):
        return True
    return quantity.measure is Measure.COUNT and _is_countable(quantity, evidence)


def _is_countable(quantity: Quantity, evidence: Evidence) -> bool:
    """Nobody wrote "3 pods", but three of them are listed."""
    noun = quantity.unit.rstrip("s")
    return bool(noun) and 0 < quantity.value <= _COUNTABLE and evidence.low.count(noun) >= quantity.value
