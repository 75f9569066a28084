"""Other ways to say that something was done: by infinitive, gerund, noun, command, or a ticked item of a list."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from midwatch.safety.claims.grammar import Who
from midwatch.safety.claims.lexicon import Action, Family, word_set
from midwatch.safety.claims.passages import Mood
from midwatch.safety.claims.reading import REACH, Reading
from midwatch.safety.claims.suppositions import is_doubted, is_hypothetical, tells_past
from midwatch.safety.claims.words import Kind, Word

_COMMAND: Final = Action(lemma="run", family=Family.RUN)
_REACH_OF_COMMAND: Final = 12
_OPENING: Final = 4
_PROGRAMS: Final = word_set("""
kubectl systemctl docker helm podman service rm kill pkill psql redis-cli aws gcloud az terraform ansible journalctl
crictl nomad consul vault argocd flux curl ssh sudo
""")


@dataclass(frozen=True, slots=True)
class Assertion:
    verb: int
    """Where it stands in the sentence."""
    action: Action
    about: tuple[Word, ...]
    """What it was done to."""
    places: tuple[Word, ...] = ()
    is_own: bool = False
    """The speaker says it of itself; else nobody is named."""


def read_infinitive(reading: Reading, place: int, action: Action) -> Assertion | None:
    """`I did restart`, `I managed to restart`."""
    lexicon = reading.lexicon
    if reading.low_at(place - 1) in lexicon.did:
        return _told_by(reading, place, place, action)
    if reading.low_at(place - 1) != lexicon.to or reading.low_at(place - 2) not in lexicon.linking:
        return None
    return _told_by(reading, place - 2, place, action)


def read_gerund(reading: Reading, place: int, action: Action) -> Assertion | None:
    lexicon = reading.lexicon
    before = reading.low_at(place - 1)
    if before in lexicon.linking:
        return _told_by(reading, place - 1, place, action)
    if before in lexicon.link_particles and reading.low_at(place - 2) in lexicon.linking | lexicon.link_nouns:
        return _told_by(reading, place - 2, place, action)
    role = reading.grammar.role_of(place)
    if role.who is Who.OWN and role.is_told and role.is_passive:
        return _read_progress(reading, place, action, subject=role.subject[0])
    if before in lexicon.means:
        return _read_means(reading, place, action)
    if role.who is Who.NOBODY and not role.has_helper:
        return _read_begun(reading, place, action)
    return None


def read_performed(reading: Reading, place: int) -> Assertion | None:
    """`performed a restart`, `a restart was performed`."""
    role = reading.grammar.role_of(place)
    is_bare = reading.words[place].low in reading.lexicon.unmarked and not role.has_helper and role.who is not Who.OWN
    if not role.is_told or is_bare:
        return None
    if role.who is Who.THING and role.is_passive:
        begin, end = role.subject
        found = reading.find_noun(range(begin, end))
        is_unsure = role.is_present and not reading.has_success(role)
        if found is None or is_unsure or is_doubted(reading, begin, verb=place):
            return None
        return Assertion(place, found[1], *reading.split_places(reading.words[begin:end]))
    if role.who not in (Who.OWN, Who.NOBODY) or not _is_claimed(reading, role.who, role.subject[0]):
        return None
    found = reading.find_noun(range(place + 1, min(place + REACH + 1, len(reading.words))))
    if found is None:
        return None
    noun, action = found
    about, places = reading.read_object(noun, action)
    about = about or tuple(reading.words[place + 1 : noun])
    return Assertion(place, action, about, places, is_own=role.who is Who.OWN)


def read_command(reading: Reading, place: int) -> Assertion | None:
    """`I ran systemctl restart nginx`."""
    role = reading.grammar.role_of(place)
    is_bare = reading.words[place].low in reading.lexicon.unmarked and not role.has_helper and role.who is not Who.OWN
    is_said = role.who in (Who.OWN, Who.NOBODY) or (role.who is Who.THING and role.is_passive)
    if not role.is_told or is_bare or not is_said:
        return None
    span = range(*role.subject) if role.is_passive else range(place + 1, place + _REACH_OF_COMMAND)
    said = [reading.words[at] for at in span if at < len(reading.words)]
    if not _is_changing(reading, said) or not _is_claimed(reading, role.who, role.subject[0]):
        return None
    about = tuple(word for word in said if word.kind in (Kind.CODE, Kind.NAME))
    return Assertion(place, _COMMAND, about, is_own=role.who is Who.OWN)


def read_noun(reading: Reading, place: int, action: Action) -> Assertion | None:
    """`The rollback succeeded`, `Restart complete`, `After the restart, errors stopped`."""
    end = place + 2 if reading.low_at(place + 1) in reading.lexicon.deed_nouns else place + 1
    end = reading.skip_complement(end)
    if reading.find_completion(end) is None:
        return _read_aftermath(reading, place, action)
    begin = reading.grammar.find_phrase(place)
    lows = {word.low for word in reading.words[begin:place]}
    if lows & reading.lexicon.nothings or reading.sentence.mood is Mood.ADVICE:
        return None
    if is_doubted(reading, begin, verb=place):
        return None
    return Assertion(place, action, *reading.split_places(reading.words[begin:end]))


def read_item(reading: Reading) -> Assertion | None:
    """An item that is told as done, whatever the form of its verb: `[x] Restart nginx`."""
    lexicon, words = reading.lexicon, reading.words
    content = [place for place, word in enumerate(words) if word.kind is not Kind.MARK]
    lows = [words[place].low for place in content]
    opening = set(lows[:_OPENING])
    if opening & (lexicon.nothings | lexicon.negations | lexicon.firsts | lexicon.trying) or set(lows) & lexicon.modals:
        return None
    for place in content[:REACH]:
        if words[place].kind is Kind.CODE and _is_changing(reading, [words[place]]):
            return Assertion(place, _COMMAND, (words[place],))
        if words[place].kind is not Kind.WORD:
            continue
        if words[place].low in lexicon.looking or words[place].low in lexicon.looks:
            return None
        entry = reading.choose(place)
        if entry is not None and not reading.is_modifier(place):
            about, places = reading.read_object(place, entry.action)
            before = tuple(words[at] for at in content if at < place)
            return Assertion(place, entry.action, about or before, places)
    return None


def _told_by(reading: Reading, link: int, verb: int, action: Action) -> Assertion | None:
    if reading.low_at(link) in reading.lexicon.link_nouns:
        link -= 2 if reading.low_at(link - 1) in reading.lexicon.determiners else 1
    role = reading.grammar.role_of(link)
    if not role.is_told or role.who not in (Who.OWN, Who.NOBODY) or (role.who is Who.NOBODY and link == verb):
        return None
    about, places = reading.read_object(verb, action)
    if reading.is_research(verb, about) or not _is_claimed(reading, role.who, role.subject[0]):
        return None
    return Assertion(verb, action, about, places, is_own=role.who is Who.OWN)


def _is_claimed(reading: Reading, who: Who, subject: int) -> bool:
    if who is Who.OWN:
        return not is_hypothetical(reading, subject - 1)
    return reading.sentence.mood is not Mood.ADVICE


def _read_progress(reading: Reading, place: int, action: Action, *, subject: int) -> Assertion | None:
    """`I am restarting`."""
    about, places = reading.read_object(place, action)
    if is_hypothetical(reading, subject - 1) or reading.is_research(place, about):
        return None
    return Assertion(place, action, about, places, is_own=True)


def _read_means(reading: Reading, place: int, action: Action) -> Assertion | None:
    """`After restarting the pod, errors stopped`, `fixed by restarting`."""
    about, places = reading.read_object(place, action)
    others = [*reading.words[: place - 1], *reading.words[place + 1 :]]
    if not tells_past(reading, others) or reading.is_research(place, about):
        return None
    is_own = any(word.kind is Kind.WORD and word.low in reading.lexicon.firsts for word in others)
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
    if reading.low_at(begin - 1) not in lexicon.means or action.is_common:
        return None
    if not tells_past(reading, [*words[: begin - 1], *words[place + 1 :]]):
        return None
    return Assertion(place, action, tuple(reading.until_stop(place + 1)))


def _is_changing(reading: Reading, said: Sequence[Word]) -> bool:
    """Whether what was run is a command, and one that changes something."""
    text = " ".join(word.low for word in said if word.kind in (Kind.CODE, Kind.NAME, Kind.WORD))
    parts = set(text.replace("`", " ").replace(".", " ").replace("_", " ").split())
    is_command = any(word.kind is Kind.CODE for word in said) or bool(parts & _PROGRAMS)
    return is_command and bool(parts & reading.lexicon.command_effects)
