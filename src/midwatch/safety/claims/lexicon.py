"""The words by which claims are recognised: the shape every language's table has, and how it is looked up."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final, NamedTuple

LONG_ENOUGH_FOR_SLIPS: Final = 8
"""Shorter words have too many honest neighbours."""
_MENDABLE: Final = LONG_ENOUGH_FOR_SLIPS - 1
STEM: Final = 4
_LETTERS: Final = re.compile(r"[^\W\d_]+")


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


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


class Form(StrEnum):
    BASE = "base"
    PAST = "past"
    """Past or participle: what stands before tells them apart."""
    GERUND = "gerund"
    NOUN = "noun"


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


class Entry(NamedTuple):
    """A word as a form, or several forms, of an action."""

    action: Action
    is_base: bool = False
    is_past: bool = False
    is_gerund: bool = False
    is_noun: bool = False


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
    alone: frozenset[str]
    """Of whoever speaks, where nothing is named: `I had to stop`."""
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
    possessive: str
    """What may be a form of "be" or mark a possessor."""
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
    deed_nouns: frozenset[str]
    """After the name of an action they add nothing: "the scaling operation"."""
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
    head_stems: frozenset[str]
    """Beginnings of words; a heading without any of them matches none of its patterns."""
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
    def telling(self) -> frozenset[str]:
        """Forms that may tell an action by themselves."""
        told = {word for word, found in self.entries.items() if any(each.is_past or each.is_gerund for each in found)}
        return frozenset(told) | {slip for slip, meant in self.slips.items() if meant and not slip.startswith("~")}

    @cached_property
    def naming(self) -> frozenset[str]:
        """Forms that tell one only beside a partner, or as an item that is told as done."""
        return frozenset(self.entries) - self.telling

    @cached_property
    def partners(self) -> frozenset[str]:
        told = self.completions | self.results | self.performing | self.commanding
        return told | self.linking | self.link_nouns | self.did | self.means

    @cached_property
    def triggers(self) -> frozenset[str]:
        return frozenset(self.entries) | self.telling | self.performing | self.commanding

    @cached_property
    def function_words(self) -> frozenset[str]:
        """Words that name nothing."""
        return self.helpers | self.adverbs | self.before_nouns | self.prepositions | self.joiners

    @cached_property
    def connectives(self) -> frozenset[str]:
        return self.conditions | self.moments | self.subordinates

    @cached_property
    def helpers(self) -> frozenset[str]:
        return self.be | self.have | self.modals | self.did

    @cached_property
    def pure_adverbs(self) -> frozenset[str]:
        return self.adverbs - self.moments

    @cached_property
    def told_past(self) -> frozenset[str]:
        """Past forms that are nothing else."""
        return (self.irregular_past | self.results) - self.be_present - self.have - self.unmarked

    @cached_property
    def phrase_ends(self) -> frozenset[str]:
        return self.prepositions | self.subordinates | self.moments

    def cut(self, low: str) -> list[str]:
        return _LETTERS.findall(low)

    def may_assert(self, words: Collection[str], *, is_marked: bool, has_code: bool) -> bool:
        """False for most sentences, at little cost. `is_marked`: something beside its words may tell it as done."""
        if not self.telling.isdisjoint(words):
            return True
        if not self.naming.isdisjoint(words) and (is_marked or not self.partners.isdisjoint(words)):
            return True
        if has_code and (is_marked or not self.commanding.isdisjoint(words)):
            return True
        return any(self._mend(word) for word in words if len(word) >= _MENDABLE and word[-1] == "d")

    def may_state(self, words: Collection[str]) -> bool:
        return not self.state_words.isdisjoint(words)

    @cached_property
    def state_words(self) -> frozenset[str]:
        return frozenset(self.akin)

    def is_slip(self, low: str) -> bool:
        return bool(self._mend(low))

    def is_adverb(self, low: str) -> bool:
        return low in self.adverbs or (low.endswith(self.adverb_ending) and low not in self.not_adverbs)

    def look_up(self, word: str) -> tuple[Entry, ...]:
        return self.entries.get(word) or self.entries.get(self._mend(word), ())

    def _mend(self, word: str) -> str:
        if word in self.slips:
            return self.slips[word]
        if len(word) < _MENDABLE or not word.endswith("d"):
            return ""
        for shorter in (word, *shorten(word)):
            meant = self.slips.get(f"~{shorter}")
            if meant is not None and meant[0] == word[0] and abs(len(meant) - len(word)) <= 1:
                return meant
        return ""


def shorten(word: str) -> list[str]:
    """All it may be with one letter less."""
    return [word[:place] + word[place + 1 :] for place in range(len(word))]
