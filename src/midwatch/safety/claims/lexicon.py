"""The words by which claims are recognised: the shape every language's table has, and how it is looked up."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from midwatch.safety.claims import hints
from midwatch.safety.claims.actions import Entry
from midwatch.safety.claims.hints import Hints

LONG_ENOUGH_FOR_SLIPS: Final = 8
"""Shorter words have too many honest neighbours."""
_MENDABLE: Final = LONG_ENOUGH_FOR_SLIPS - 1
STEM: Final = 4
_LETTERS: Final = re.compile(r"[^\W\d_]+")
_HYPHENED: Final = re.compile(r"[a-z]+-[a-z]+")
_ONLY_LETTERS: Final = "".join(letter if (letter := chr(code)).isalpha() else " " for code in range(128))


@dataclass(frozen=True, kw_only=True, eq=False)
class Lexicon:
    """Single words are in lower case. Patterns are matched against lower case."""

    entries: Mapping[str, tuple[Entry, ...]]
    slips: Mapping[str, str]
    """Misspelt words, to what was meant."""
    contractions: Mapping[str, tuple[str, ...]]
    suffixes: tuple[tuple[str, str], ...]
    prefixes: frozenset[str]
    """Of verbs that are also written with a hyphen, where the rest alone is none."""

    # Verbs that need another word beside them
    performing: frozenset[str]
    """Past forms that need the name of an action: "performed a restart"."""
    doing: frozenset[str]
    """Of these, those that may stand for another verb: "and I did"."""
    proforms: frozenset[str]
    """What may follow them then."""
    commanding: frozenset[str]
    """Past forms that need a command: "ran systemctl restart nginx"."""
    programs: frozenset[str]
    """By which a command is known that is not written as code."""
    running: frozenset[str]
    """Of these verbs, those after which anything in code is a command."""
    looking_commands: frozenset[str]
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
    simple_pasts: frozenset[str]
    """Past forms that are no participles."""
    unmarked: frozenset[str]
    """Past forms that look like the base form."""
    trying: frozenset[str]
    looking: frozenset[str]
    """Past forms of reading and thinking, which change nothing."""
    looks: frozenset[str]
    """The same in other forms."""
    digressing: Mapping[str, frozenset[str]]
    """Verbs that speak of the investigation when one of these words follows: "started by"."""
    wondering: frozenset[str]
    """After any verb: it is about what is known."""
    translating: frozenset[str]
    """Verbs that look something up when it says to what: "resolved a name to an address"."""

    # Subjects
    firsts: frozenset[str]
    selves: frozenset[str]
    """Nouns by which the speaker may mean itself."""
    self_adjectives: frozenset[str]
    others: frozenset[str]
    pronouns: frozenset[str]
    relatives: frozenset[str]
    persons: frozenset[str]
    """Of these, those that stand for people."""
    nothings: frozenset[str]

    # Between subject and verb
    modals: frozenset[str]
    be: frozenset[str]
    possessive: str
    """What may be a form of "be" or mark a possessor."""
    be_present: frozenset[str]
    be_past: frozenset[str]
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
    definite: frozenset[str]
    """Of these, those before a word by which the speaker means itself."""
    prepositions: frozenset[str]
    directions: frozenset[str]
    """Particles that are no objects: "scaled up"."""
    moving: frozenset[str]
    """Prepositions before where something is brought."""
    owning: frozenset[str]
    """Prepositions after which it goes on with the same thing: "the pods of"."""
    places: frozenset[str]
    accompanying: frozenset[str]
    """Before a thing and what was done to it: "with nginx restarted"."""
    indefinite: frozenset[str]
    imagining: frozenset[str]
    """Modals of what might be, rather than of what is expected."""
    thanks: frozenset[str]
    """The same with "to"."""
    excepting: Mapping[str, frozenset[str]]
    """The same for all that was done, with what must stand before: "other than"."""
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
    complementizers: frozenset[str]
    disputing: frozenset[str]
    """Before "that": it is not so, or nobody says that it is."""
    under_way: re.Pattern[str]
    """What makes a clause in the present tell what is done now, or was done by whoever speaks."""
    nows: frozenset[str]
    """Words that make a clause in the present tell an outcome."""
    agains: frozenset[str]
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
    unresearched: frozenset[str]
    """Beside one of these it does not: "the maintenance window"."""
    channels: frozenset[str]
    """Where people are told."""
    revisions: frozenset[str]
    """Before a number that something was changed to."""
    scopes: frozenset[str]
    """Nouns for what holds other things, which tools have arguments for."""
    presenting: frozenset[str]
    """At the end of a sentence: it speaks of the reply itself."""
    stoppable: frozenset[str]
    """Of these, what can also be stopped from outside: a query."""
    noun_heads: frozenset[str]
    """After the name of an action they make it a mere modifier: "restart count"."""
    runnable: frozenset[str]
    """Of these, what can be run: "the cleanup job"."""
    possessives: frozenset[str]
    """Of whoever speaks."""
    moves: frozenset[str]
    """Nouns for a deed of whoever speaks: "my next move was to"."""
    choices: frozenset[str]
    """`I had no choice but to`."""
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
    presumption_hints: frozenset[str]
    """One word of each phrase of the two."""
    clause_ends: re.Pattern[str]
    other_agents: re.Pattern[str]
    own_agents: re.Pattern[str]
    attributions: re.Pattern[str]
    strong_reports: re.Pattern[str]
    weak_reports: re.Pattern[str]
    purposes: re.Pattern[str]
    """What for: whoever tells it has a hand in it."""
    failures: re.Pattern[str]
    failure_hints: re.Pattern[str]
    """One word of each sentence in which `failures` are found."""
    done_marks: re.Pattern[str]
    done_words: frozenset[str]
    """Of which each of these marks has one, and each of the tags."""
    done_tags: re.Pattern[str]
    """What tells an item as done and stands before it: "[DONE]"."""
    done_heads: re.Pattern[str]
    advice_heads: re.Pattern[str]
    plan_heads: re.Pattern[str]
    """Advice too, unless the heading says that it was done."""
    openings: re.Pattern[str]
    """What stands before a sentence without being part of it."""
    report_heads: re.Pattern[str]
    change_columns: frozenset[str]
    """Heads of columns in which stands what was changed."""
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
    unstated_hints: re.Pattern[str]
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
        excepting = frozenset[str]().union(*(words or {word} for word, words in self.excepting.items()))
        return (
            told
            | self.linking
            | self.link_nouns
            | self.did
            | self.moves
            | self.choices
            | self.means
            | self.thanks
            | excepting
        )

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
    def unstoppable_research(self) -> frozenset[str]:
        return self.research - self.stoppable

    @cached_property
    def additions(self) -> frozenset[str]:
        return self.joiners - self.alternatives

    @cached_property
    def before_infinitives(self) -> frozenset[str]:
        return self.did | self.be_past | {self.to}

    @cached_property
    def untelling(self) -> frozenset[str]:
        """Before a verb: it did not happen, or not yet."""
        return self.modals | self.negations | {self.to}

    @cached_property
    def dividing(self) -> frozenset[str]:
        return self.connectives | self.firsts | self.contrasts | self.helpers

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
        """All that is made of letters."""
        return low.translate(_ONLY_LETTERS).split() if low.isascii() else _LETTERS.findall(low)

    def hint(self, low: str) -> int:
        """What the words of a sentence let it say. 0 when there are none."""
        words = self.cut(low)
        return self._hints.gather(words) | hints.WORDS if words else 0

    def has_joined(self, low: str) -> bool:
        """Whether a word that is written with a hyphen may tell an action."""
        return any(word.replace("-", "") in self.telling for word in _HYPHENED.findall(low))

    @cached_property
    def _hints(self) -> Hints:
        return Hints(
            {
                hints.TELLS: lambda word: word in self.telling or self.is_slip(word),
                hints.NAMES: self.naming.__contains__,
                hints.PARTNERS: self.partners.__contains__,
                hints.COMMANDS: self.commanding.__contains__,
                hints.STATES: self.akin.__contains__,
                hints.FAILS: self.failure_hints.fullmatch,
                hints.DOUBTS: self.unstated_hints.fullmatch,
                hints.PRESUMES: self.presumption_hints.__contains__,
                hints.ENDS: self.done_words.__contains__,
                hints.JOINS: self.prefixes.__contains__,
                hints.CHANGES: {part for effect in self.command_effects for part in self.cut(effect)}.__contains__,
                hints.RUNS: {program.partition("-")[0] for program in self.programs}.__contains__,
            }
        )

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
