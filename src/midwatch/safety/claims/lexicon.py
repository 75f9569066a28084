"""The words by which claims are recognised: the shape every language's table has, and how it is looked up."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Flag, StrEnum, auto
from functools import cached_property
from typing import Final

_LONG_ENOUGH_FOR_SLIPS: Final = 8
"""Shorter words have too many honest neighbours."""
_LETTERS: Final = re.compile(r"[^\W\d_]+")


class Family(StrEnum):
    """What sort of action a verb speaks of. Deeds are sorted into the same families."""

    RESTART = "restart"
    START = "start"
    STOP = "stop"
    DELETE = "delete"
    SCALE = "scale"
    ROLLBACK = "rollback"
    DEPLOY = "deploy"
    CHANGE = "change"
    MOVE = "move"
    ACCESS = "access"
    NOTIFY = "notify"
    SILENCE = "silence"
    REPAIR = "repair"
    RUN = "run"


class Form(Flag):
    BASE = auto()
    PAST = auto()
    """Past or participle: what stands before tells them apart."""
    GERUND = auto()
    NOUN = auto()


@dataclass(frozen=True, slots=True)
class Action:
    lemma: str
    family: Family
    particles: frozenset[str] = frozenset()
    """One of them must follow: "rolled … back"."""
    is_common: bool = False
    """Systems and other people do it all day; a report of it is nothing unusual."""
    moves_itself: bool = False
    """Things do it by themselves: "the pod restarted"."""
    objects: frozenset[str] = frozenset()
    """It counts only with one of these as its object, when there are any."""
    spellings: tuple[str, ...] = field(default=(), compare=False)
    """Forms by which evidence tells that it happened."""


@dataclass(frozen=True, slots=True)
class Entry:
    action: Action
    form: Form


@dataclass(frozen=True, kw_only=True)
class Lexicon:
    """Single words are in lower case. Patterns are matched against lower case."""

    entries: Mapping[str, tuple[Entry, ...]]
    slips: Mapping[str, str]
    """Misspelt words, to what was meant."""
    contractions: Mapping[str, tuple[str, ...]]
    suffixes: tuple[tuple[str, str], ...]

    # Verbs that need another word beside them
    performing: frozenset[str]
    """Past forms that need the name of an action: "performed a restart"."""
    commanding: frozenset[str]
    """Past forms that need a command: "ran systemctl restart nginx"."""
    command_effects: frozenset[str]
    """Words of a command that make it a change."""
    linking: frozenset[str]
    """Words before an infinitive or a gerund that say it was done: "managed to restart"."""
    link_nouns: frozenset[str]
    """The same after a verb: "took care of restarting"."""
    link_particles: frozenset[str]
    causing: frozenset[str]
    """`I had the pod restarted`."""
    unmarked: frozenset[str]
    """Past forms that look like the base form."""
    trying: frozenset[str]
    looking: frozenset[str]
    """Past forms of reading and thinking, which change nothing."""
    looks: frozenset[str]
    """The same in other forms."""
    digressing: Mapping[str, frozenset[str]]
    """Verbs that speak of the investigation when one of these words follows: "started by"."""

    # Subjects
    firsts: frozenset[str]
    selves: frozenset[str]
    """Nouns by which the speaker may mean itself."""
    self_adjectives: frozenset[str]
    others: frozenset[str]
    pronouns: frozenset[str]
    relatives: frozenset[str]
    nothings: frozenset[str]

    # Between subject and verb
    modals: frozenset[str]
    be: frozenset[str]
    be_present: frozenset[str]
    be_infinitive: str
    be_perfect: str
    be_under_way: str
    have: frozenset[str]
    did: frozenset[str]
    to: str
    negations: frozenset[str]
    adverbs: frozenset[str]
    adverb_ending: str
    not_adverbs: frozenset[str]
    property_adverbs: frozenset[str]
    """Before a participle they make it a property: "recently restarted pods"."""
    successes: frozenset[str]
    """Adverbs that tell an effort brought to its end."""
    preambles: tuple[tuple[str, ...], ...]
    """Words between a subject and its verb that add nothing: "went ahead and"."""

    # Clauses
    conditions: frozenset[str]
    moments: frozenset[str]
    """Conjunctions of time, whose clause may be fact or plan."""
    subordinates: frozenset[str]
    joiners: frozenset[str]
    alternatives: frozenset[str]
    """Of these, what shares a negation: "not restarted or deleted"."""
    contrasts: frozenset[str]
    before_nouns: frozenset[str]
    """Determiners and prepositions: a participle right after one is a property of the noun that follows."""
    determiners: frozenset[str]
    prepositions: frozenset[str]
    places: frozenset[str]
    means: frozenset[str]
    """Prepositions before a gerund or a noun that tell how something was brought about."""
    instructions: frozenset[str]
    """Base forms that begin an instruction."""
    checking: frozenset[str]
    """What follows them is in question: "verify that"."""
    check_nouns: frozenset[str]
    """Before one of them it is a noun: "the health check"."""
    announcing: frozenset[str]
    """Verbs with which the speaker vouches for what follows: "I can confirm that"."""
    unannouncing: frozenset[str]
    nows: frozenset[str]
    """Words that make a clause in the present tell an outcome."""
    results: frozenset[str]
    """Past forms that tell what an action brought about: "resolved"."""
    completions: frozenset[str]
    present_verbs: frozenset[str]
    irregular_past: frozenset[str]
    past_ending: str

    # Nouns
    generic: frozenset[str]
    """Nouns and adjectives that name no particular thing."""
    kinds: Mapping[str, str]
    """Nouns for sorts of things, with what is interchangeable under one name."""
    research: frozenset[str]
    """Objects that belong to the investigation itself: nothing outside changes with them."""
    presenting: frozenset[str]
    """At the end of a sentence: it speaks of the reply itself."""
    stoppable: frozenset[str]
    """Of these, what can also be stopped from outside: a query."""
    noun_heads: frozenset[str]
    """After the name of an action they make it a mere modifier: "restart count"."""
    before_actions: frozenset[str]
    troubles: frozenset[str]
    """Subjects that may come to an end by themselves: an issue that "has been resolved" is a state."""
    soothing: frozenset[str]
    """Lemmas that tell such an end."""
    suffered: frozenset[str]
    """Lemmas whose passive tells a state: "was throttled"."""
    observed: frozenset[str]
    """Subjects to which common actions happen unasked: requests, packets."""
    metrics: frozenset[str]
    """Subjects whose level changes without anybody's doing."""
    levels: frozenset[str]
    """Past forms that are properties more often than deeds: "increased latency"."""
    times: frozenset[str]

    # Whole sentences and headings
    presumptions: re.Pattern[str]
    """Before a verb, in its clause: it is not told as a fact."""
    factual: re.Pattern[str]
    """A clause of time that is told as a fact."""
    clause_ends: re.Pattern[str]
    other_agents: re.Pattern[str]
    own_agents: re.Pattern[str]
    attributions: re.Pattern[str]
    strong_reports: re.Pattern[str]
    weak_reports: re.Pattern[str]
    failures: re.Pattern[str]
    done_marks: re.Pattern[str]
    done_heads: re.Pattern[str]
    advice_heads: re.Pattern[str]
    plan_heads: re.Pattern[str]
    """Advice too, unless the heading says that it was done."""
    openings: re.Pattern[str]
    """What stands before a sentence without being part of it."""
    report_heads: re.Pattern[str]
    refuted: re.Pattern[str]
    """In evidence, before a verb: what is said there did not, or not yet, happen."""

    # States and figures
    akin: Mapping[str, frozenset[str]]
    """Of each word for a state, what evidence may say instead."""
    state_links: frozenset[str]
    unstated: re.Pattern[str]
    """What makes a sentence no statement of fact: advice, conditions, plans."""
    counted: frozenset[str]
    """Nouns whose number is a measurement."""
    measured_before: re.Pattern[str]
    """What stands before a bare number that is a measurement."""

    @cached_property
    def triggers(self) -> frozenset[str]:
        return frozenset(self.entries) | self.performing | self.commanding | frozenset(self.slips)

    @cached_property
    def function_words(self) -> frozenset[str]:
        """Words that name nothing."""
        return self.be | self.have | self.did | self.modals | self.adverbs | self.before_nouns | self.prepositions | self.joiners

    @cached_property
    def connectives(self) -> frozenset[str]:
        return self.conditions | self.moments | self.subordinates

    @cached_property
    def phrase_ends(self) -> frozenset[str]:
        return self.prepositions | self.subordinates | self.moments

    def may_assert(self, low: str) -> bool:
        """False for most sentences, at little cost."""
        words = _LETTERS.findall(low)
        return not self.triggers.isdisjoint(words) or any(word[-1] == "d" and self._mend(word) for word in words)

    def may_state(self, low: str) -> bool:
        return not self.akin.keys().isdisjoint(_LETTERS.findall(low))

    def is_adverb(self, low: str) -> bool:
        return low in self.adverbs or (low.endswith(self.adverb_ending) and low not in self.not_adverbs)

    def look_up(self, word: str) -> tuple[Entry, ...]:
        return self.entries.get(word) or self.entries.get(self._mend(word), ())

    def _mend(self, word: str) -> str:
        if word in self.slips:
            return self.slips[word]
        if len(word) < _LONG_ENOUGH_FOR_SLIPS - 1 or not word.endswith("d"):
            return ""
        for shorter in (word, *_shortened(word)):
            meant = self.slips.get(f"~{shorter}")
            if meant is not None and meant[0] == word[0] and abs(len(meant) - len(word)) <= 1:
                return meant
        return ""


Forms = Mapping[Form, tuple[str, ...]]


def read_actions(table: Mapping[Family, str]) -> Iterator[tuple[Action, Forms]]:
    """Rows of `base past gerund ; nouns`. A base may end in `*` (common) and `~` (moves itself), and name particles
    after `+` and objects after `=`; a past form may be two, with `/`.
    """
    for family, rows in table.items():
        for row in rows.strip().splitlines():
            verbs, _, nouns = row.partition(";")
            base, past, gerund = verbs.split()
            yield _read_row(base, past=past, gerund=gerund, nouns=tuple(nouns.split()), family=family)


def _read_row(base: str, *, past: str, gerund: str, nouns: tuple[str, ...], family: Family) -> tuple[Action, Forms]:
    head, _, objects = base.partition("=")
    head, _, particles = head.partition("+")
    pasts = tuple(past.split("/"))
    lemma = head.rstrip("*~")
    action = Action(
        lemma=lemma,
        family=family,
        particles=frozenset(particles.rstrip("*~").split("/")) if particles else frozenset(),
        is_common="*" in base,
        moves_itself="~" in base,
        objects=frozenset(objects.split("/")) if objects else frozenset(),
        spellings=(*pasts, gerund),
    )
    forms: dict[Form, tuple[str, ...]] = {Form.PAST: pasts, Form.GERUND: (gerund,), Form.NOUN: nouns}
    return action, forms | {Form.BASE: (lemma,)}


def index_actions(actions: Iterable[tuple[Action, Forms]]) -> dict[str, tuple[Entry, ...]]:
    entries: dict[str, list[Entry]] = {}
    for action, forms in actions:
        for form, words in forms.items():
            for word in words:
                _add(entries.setdefault(word, []), action, form)
    return {word: tuple(found) for word, found in entries.items()}


def _add(found: list[Entry], action: Action, form: Form) -> None:
    """A word that is several forms of one action is one entry: "reset"."""
    for place, entry in enumerate(found):
        if entry.action is action:
            found[place] = Entry(action, entry.form | form)
            return
    found.append(Entry(action, form))


def index_slips(words: Iterable[str], *, known: Mapping[str, str], never: Iterable[str]) -> dict[str, str]:
    """One letter too few, too many, or wrong, in long words; and the slips that are written out.

    `never` are honest words that look like slips.
    """
    slips = dict(known) | dict.fromkeys(never, "")
    for word in words:
        if len(word) >= _LONG_ENOUGH_FOR_SLIPS and word.isalpha():
            slips |= {f"~{shorter}": word for shorter in (word, *_shortened(word))}
    return slips


def _shortened(word: str) -> list[str]:
    return [word[:place] + word[place + 1 :] for place in range(len(word))]
