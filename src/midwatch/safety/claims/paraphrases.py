"""Other ways to say that something was done: by infinitive, gerund, noun, command, or a ticked item of a list."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from midwatch.safety.claims.actions import Action, Family
from midwatch.safety.claims.commands import is_changing
from midwatch.safety.claims.grammar import Role, Who
from midwatch.safety.claims.reading import REACH, Reading
from midwatch.safety.claims.research import is_digression, is_research
from midwatch.safety.claims.sentences import Mood
from midwatch.safety.claims.suppositions import is_doubted, is_hypothetical, tells_past
from midwatch.safety.claims.words import Kind

COMMAND: Final = Action(lemma="run", family=Family.RUN)
_REACH_OF_COMMAND: Final = 12
_OPENING: Final = 4


@dataclass(frozen=True, slots=True)
class Assertion:
    verb: int
    """Where it stands in the sentence."""
    action: Action
    about: Sequence[int]
    """Where the words stand that tell what it was done to."""
    places: Sequence[int] = ()
    is_own: bool = False
    """The speaker says it of itself; else nobody is named."""


def read_infinitive(reading: Reading, place: int, action: Action) -> Assertion | None:
    """`I did indeed restart`, `I managed to restart`."""
    lexicon = reading.lexicon
    did = place - 1
    while did > 0 and reading.words[did].is_adverb:
        did -= 1
    if reading.low_at(did) in lexicon.did:
        return _told_by(reading, place, place, action)
    if _is_cleft(reading, place):
        about, places = reading.read_object(place, action)
        return Assertion(place, action, about, places, is_own=True)
    if reading.low_at(place - 1) != lexicon.to:
        return None
    if reading.low_at(place - 2) in lexicon.linking:
        return _told_by(reading, place - 2, place, action)
    is_gerund = reading.low_at(place - 2) in lexicon.have
    return _read_led(reading, place - 2 if is_gerund else place - 1, place, action)


def _is_cleft(reading: Reading, verb: int) -> bool:
    """`What I did was restart`, `My next move was to restart`, `I had no choice but to restart`."""
    lexicon = reading.lexicon
    was = verb - 2 if reading.low_at(verb - 1) == lexicon.to else verb - 1
    before = [reading.low_at(place) for place in range(max(was - 3, 0), was)]
    if reading.low_at(was) in lexicon.contrasts:
        return not lexicon.choices.isdisjoint(before) and any(
            word.low in lexicon.firsts for word in reading.words[:was]
        )
    if reading.low_at(was) not in lexicon.be_past:
        return False
    is_did = len(before) > 1 and before[-1] in lexicon.did and before[-2] in lexicon.firsts
    is_move = bool(before) and before[-1] in lexicon.moves and not lexicon.possessives.isdisjoint(before)
    return is_did or is_move


def read_gerund(reading: Reading, place: int, action: Action) -> Assertion | None:
    lexicon = reading.lexicon
    before = reading.low_at(place - 1)
    led = _read_led(reading, place, place, action)
    if led is not None:
        return led
    role = reading.grammar.role_of(place)
    if role.who is Who.OWN and role.is_told and role.is_passive:
        return _read_progress(reading, place, action, subject=role.subject[0])
    if before in lexicon.means or _is_besides(reading, place - 1):
        return _read_means(reading, place, action)
    if role.who is Who.NOBODY and not role.has_helper:
        return _read_begun(reading, place, action)
    return None


def _is_besides(reading: Reading, place: int) -> bool:
    """`apart from restarting it`, `other than the restart`: what was done comes first, and what was not follows."""
    low, pairs = reading.low_at(place), reading.lexicon.excepting
    return low in pairs and (not pairs[low] or reading.low_at(place - 1) in pairs[low])


def _read_led(reading: Reading, begin: int, verb: int, action: Action) -> Assertion | None:
    """`ended up restarting`, `ended up having to restart`, where the gerund stands at `begin`."""
    lexicon = reading.lexicon
    before = reading.low_at(begin - 1)
    if before in lexicon.linking:
        return _told_by(reading, begin - 1, verb, action)
    if before in lexicon.link_particles and reading.low_at(begin - 2) in lexicon.linking | lexicon.link_nouns:
        return _told_by(reading, begin - 2, verb, action)
    return None


def read_performed(reading: Reading, place: int) -> Assertion | None:
    """`performed a restart`, `a restart was performed`."""
    if not reading.has_noun or is_digression(reading, place):
        return None
    role = reading.grammar.role_of(place)
    is_bare = reading.words[place].low in reading.lexicon.unmarked and not role.has_helper and role.who is not Who.OWN
    if not role.is_told or is_bare:
        return None
    if role.who is Who.THING and role.is_passive:
        return _read_undergone(reading, place, role)
    if role.who not in (Who.OWN, Who.NOBODY) or not _is_claimed(reading, role.who, role.subject[0]):
        return None
    found = reading.find_noun(range(place + 1, min(place + REACH + 1, len(reading.words))), may_be_run=True)
    if found is None:
        return _read_relative(reading, place, role.subject[0]) if role.who is Who.OWN else None
    noun, action = found
    about, places = reading.read_object(noun, action)
    return Assertion(place, action, about or range(place + 1, noun), places, is_own=role.who is Who.OWN)


def read_done(reading: Reading, place: int) -> Assertion | None:
    """`I was asked to restart it, and I did`, `… and have done so`."""
    lexicon = reading.lexicon
    end = place + 2 if reading.low_at(place + 1) in lexicon.proforms else place + 1
    role = reading.grammar.role_of(place)
    if not reading.grammar.is_end(end) or role.who is not Who.OWN or not role.is_told:
        return None
    for verb in range(place - 1, 0, -1):
        if reading.low_at(verb - 1) == lexicon.to and any(entry.is_base for entry in reading.words[verb].entries):
            entry = reading.choose(verb)
            about, places = reading.read_object(verb, entry.action) if entry else ((), ())
            return Assertion(place, entry.action, about, places, is_own=True) if entry else None
    return None


def _read_undergone(reading: Reading, place: int, role: Role) -> Assertion | None:
    begin, end = role.subject
    found = reading.find_noun(range(begin, end))
    is_unsure = role.is_present and not reading.has_success(role)
    if found is None or is_unsure or is_doubted(reading, begin, verb=place):
        return None
    return Assertion(place, found[1], *reading.split_places(begin, end))


def _read_relative(reading: Reading, place: int, subject: int) -> Assertion | None:
    """`a restart, which I performed`, `the restart I did`."""
    before = subject - 1
    if reading.low_at(place + 1) in reading.lexicon.negations:
        return None
    if reading.low_at(before) in reading.lexicon.relatives:
        before -= 1
    if reading.low_at(before) == ",":
        before -= 1
    for noun in range(before, max(before - REACH, -1), -1):
        if reading.words[noun].is_break:
            return None
        found = reading.find_noun(range(noun, noun + 1))
        if found is not None:
            return Assertion(place, found[1], range(noun + 1, before + 1), is_own=True)
    return None


def read_command(reading: Reading, place: int) -> Assertion | None:
    """`I ran systemctl restart nginx`."""
    if not reading.may_command(place):
        return None
    role, low = reading.grammar.role_of(place), reading.words[place].low
    is_bare = low in reading.lexicon.unmarked and not role.has_helper and role.who is not Who.OWN
    is_object = role.who is Who.THING and (role.is_passive or _is_code(reading, role.subject))
    if not role.is_told or is_bare or not (is_object or role.who in (Who.OWN, Who.NOBODY)):
        return None
    span = range(*role.subject) if is_object else range(place + 1, place + _REACH_OF_COMMAND)
    said = [at for at in span if at < len(reading.words)]
    is_run = low in reading.lexicon.running
    if not is_changing(reading, said, is_run=is_run) or not _is_claimed(reading, role.who, role.subject[0]):
        return None
    about = [at for at in said if reading.words[at].is_named]
    return Assertion(place, COMMAND, about, is_own=role.who is Who.OWN)


def _is_code(reading: Reading, subject: tuple[int, int]) -> bool:
    """``systemctl restart nginx` executed`."""
    begin, end = subject
    return end == begin + 1 and reading.words[begin].kind is Kind.CODE


def read_noun(reading: Reading, place: int, action: Action) -> Assertion | None:
    """`The rollback succeeded`, `Restart complete`, `After the restart, errors stopped`."""
    end = place + 2 if reading.low_at(place + 1) in reading.lexicon.deed_nouns else place + 1
    end = reading.skip_complement(end)
    if reading.is_ours(place, end):
        return Assertion(place, action, range(place + 1, end), is_own=True)
    if reading.find_completion(end) is None:
        return _read_aftermath(reading, place, action)
    begin = reading.grammar.find_phrase(place)
    lows = {word.low for word in reading.words[begin:place]}
    if lows & reading.lexicon.nothings or reading.sentence.mood is Mood.ADVICE:
        return None
    if is_doubted(reading, begin, verb=place):
        return None
    return Assertion(place, action, *reading.split_places(begin, end))


def read_item(reading: Reading) -> Assertion | None:
    """An item that is told as done, whatever the form of its verb: `[x] Restart nginx`."""
    lexicon, words = reading.lexicon, reading.words
    content = [place for place, word in enumerate(words) if word.kind is not Kind.MARK]
    lows = [words[place].low for place in content]
    opening = set(lows[:_OPENING])
    if opening & (lexicon.nothings | lexicon.negations | lexicon.firsts | lexicon.trying) or set(lows) & lexicon.modals:
        return None
    for place in content[:REACH]:
        if words[place].kind is Kind.CODE and is_changing(reading, [place]):
            return Assertion(place, COMMAND, [place])
        if not words[place].is_word:
            continue
        if words[place].low in lexicon.looking or words[place].low in lexicon.looks:
            return None
        entry = reading.choose(place)
        if entry is not None and not reading.is_modifier(place):
            about, places = reading.read_object(place, entry.action)
            before = [at for at in content if at < place]
            return Assertion(place, entry.action, about or before, places)
    return None


def _told_by(reading: Reading, link: int, verb: int, action: Action) -> Assertion | None:
    if reading.low_at(link) in reading.lexicon.link_nouns:
        link -= 2 if reading.low_at(link - 1) in reading.lexicon.determiners else 1
    role = reading.grammar.role_of(link)
    if not role.is_told or role.who not in (Who.OWN, Who.NOBODY) or (role.who is Who.NOBODY and link == verb):
        return None
    about, places = reading.read_object(verb, action)
    if is_research(reading, verb, about) or not _is_claimed(reading, role.who, role.subject[0]):
        return None
    return Assertion(verb, action, about, places, is_own=role.who is Who.OWN)


def _is_claimed(reading: Reading, who: Who, subject: int) -> bool:
    if who is Who.OWN:
        return not is_hypothetical(reading, subject - 1)
    return reading.sentence.mood is not Mood.ADVICE


def _read_progress(reading: Reading, place: int, action: Action, *, subject: int) -> Assertion | None:
    """`I am restarting`."""
    about, places = reading.read_object(place, action)
    if is_hypothetical(reading, subject - 1) or is_research(reading, place, about):
        return None
    return Assertion(place, action, about, places, is_own=True)


def _read_means(reading: Reading, place: int, action: Action) -> Assertion | None:
    """`After restarting the pod, errors stopped`, `fixed by restarting`."""
    about, places = reading.read_object(place, action)
    others = [*reading.words[: place - 1], *reading.words[place + 1 :]]
    if not tells_past(reading, others) or is_research(reading, place, about):
        return None
    is_own = any(word.is_word and word.low in reading.lexicon.firsts for word in others)
    return Assertion(place, action, about, places, is_own=is_own)


def _read_begun(reading: Reading, place: int, action: Action) -> Assertion | None:
    """`Restarting nginx now…` and `Restarting the pod fixed it`."""
    lexicon, sentence = reading.lexicon, reading.sentence
    about, places = reading.read_object(place, action)
    rest = reading.words[place + 1 :]
    lows = {word.low for word in rest}
    if sentence.mood is Mood.ADVICE or sentence.is_head or lows & lexicon.modals or lows & lexicon.negations:
        return None
    is_now = "now" in lows or bool(lows & {"...", "…"}) or reading.has_mark or reading.low.startswith("currently")
    if lows & lexicon.results or (is_now and not tells_past(reading, [word for word in rest if word.low != "now"])):
        return Assertion(place, action, about, places)
    return None


def _read_aftermath(reading: Reading, place: int, action: Action) -> Assertion | None:
    words, lexicon = reading.words, reading.lexicon
    begin = place
    while reading.low_at(begin - 1) in lexicon.before_actions:
        begin -= 1
    is_thanks = reading.low_at(begin - 1) == lexicon.to and reading.low_at(begin - 2) in lexicon.thanks
    is_led = is_thanks or reading.low_at(begin - 1) in lexicon.means or _is_besides(reading, begin - 1)
    if not is_led or action.is_common:
        return None
    if not tells_past(reading, [*words[: begin - 1], *words[place + 1 :]]):
        return None
    return Assertion(place, action, range(place + 1, reading.find_stop(place + 1)))
