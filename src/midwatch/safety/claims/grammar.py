"""Who did what, by the words around a verb: subject, voice, negation, and whether it is told as done at all."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Final, NamedTuple

from midwatch.safety.claims.lexicon import Lexicon
from midwatch.safety.claims.words import Word

_LONGEST_ASIDE: Final = 7


class Who(Enum):
    OWN = auto()
    """The speaker."""
    OTHER = auto()
    NOBODY = auto()
    """No subject at all: "Restarted nginx"."""
    THING = auto()
    """A thing is the subject: what was done to it, or what it did by itself."""


class Role(NamedTuple):
    who: Who
    is_told: bool = True
    """As something that happened: no negation, no modal, no infinitive."""
    is_passive: bool = False
    is_present: bool = False
    is_under_way: bool = False
    is_perfect: bool = False
    subject: tuple[int, int] = (0, 0)
    has_helper: bool = False
    """Some auxiliary stands before the verb."""
    adverbs: tuple[str, ...] = ()


_UNTOLD: Final = Role(Who.OTHER, is_told=False)


class _Group(NamedTuple):
    """The auxiliaries and adverbs before a verb."""

    left: int
    """Where what stands before them ends; -1 at the beginning."""
    helpers: list[str]
    adverbs: list[str]


@dataclass(slots=True)
class Grammar:
    words: Sequence[Word]
    lexicon: Lexicon
    _roles: dict[int, Role] = field(default_factory=dict[int, Role])

    def role_of(self, verb: int) -> Role:
        role = self._roles.get(verb)
        if role is None:
            self._roles[verb] = _UNTOLD  # a verb that leads back to itself tells nothing
            role = self._roles[verb] = self._read_role(verb)
        return role

    def is_finite(self, place: int) -> bool:
        return self.words[place].is_finite

    def is_boundary(self, place: int) -> bool:
        return place < 0 or self.words[place].is_break

    def is_end(self, place: int) -> bool:
        return place >= len(self.words) or self.words[place].is_break

    def find_governor(self, start: int) -> str | None:
        """The conjunction under which a clause stands whose subject begins at or before `start`."""
        lexicon, is_taken = self.lexicon, False
        for place in range(start, -1, -1):
            word = self.words[place]
            if word.is_stop and word.low != "&":
                return None
            if not word.is_word:
                continue
            low = word.low
            if low in lexicon.joiners:
                is_taken = False
            elif low in lexicon.connectives:
                if not is_taken:
                    return low
                is_taken = False
            elif place < start and self.is_finite(place):
                is_taken = True
        return None

    def _read_role(self, verb: int) -> Role:
        group = self._read_group(verb)
        if not group.helpers:
            return self._read_bare(verb, group)
        helpers, lexicon = frozenset(group.helpers), self.lexicon
        being = helpers & lexicon.be
        is_told = helpers.isdisjoint(lexicon.untelling) and being != frozenset({lexicon.be_infinitive})
        left = self._skip_parenthesis(group.left)
        who, subject = self._read_subject(left, has_helper=True)
        if who is None:
            return self._read_joined(verb, left, group=group, is_told=is_told)
        if being and self.words[subject[0]].low not in lexicon.firsts and self._can_undergo(who, subject):
            who = Who.THING
        return Role(
            who=who,
            is_told=is_told and not self._is_denied(subject),
            is_passive=bool(being),
            is_present=lexicon.be_perfect not in being and not being.isdisjoint(lexicon.be_present),
            is_under_way=lexicon.be_under_way in being,
            is_perfect=lexicon.be_perfect in being or not helpers.isdisjoint(lexicon.have),
            subject=subject,
            has_helper=True,
            adverbs=tuple(group.adverbs),
        )

    def _read_bare(self, verb: int, group: _Group) -> Role:
        """Without any auxiliary."""
        who, subject = self._read_subject(group.left, has_helper=False)
        if who is None:
            return self._read_joined(verb, group.left, group=group, is_told=True)
        return Role(who, is_told=not self._is_denied(subject), subject=subject, adverbs=tuple(group.adverbs))

    def _read_group(self, verb: int) -> _Group:
        place = verb - 1
        helpers: list[str] = []
        adverbs: list[str] = []
        while place >= 0:
            word = self.words[place]
            if word.is_helper:
                helpers.append(word.low)
                place -= 1
            elif word.is_word:
                step = self._skip_adverbial(word, place, adverbs)
                if step == 0:
                    break
                place -= step
            else:
                aside = self._find_aside(place) if word.low == "," else None
                if aside is None:
                    break
                place = aside
        return _Group(place, helpers, adverbs)

    def _skip_adverbial(self, word: Word, place: int, adverbs: list[str]) -> int:
        """How many words it has; 0 when it is none."""
        lexicon = self.lexicon
        if word.is_adverb and not (word.low in lexicon.pronouns and self.is_boundary(place - 1)):
            adverbs.append(word.low)
            return 1
        for preamble in lexicon.preambles:
            if word.low == preamble[-1] and self._ends_with(preamble, place):
                return len(preamble)
        return 0

    def _ends_with(self, phrase: tuple[str, ...], place: int) -> bool:
        begin = place - len(phrase) + 1
        return begin >= 0 and all(self.words[begin + step].low == part for step, part in enumerate(phrase))

    def _find_aside(self, place: int) -> int | None:
        """`I have, as requested, restarted`: where it goes on to the left of the aside."""
        lexicon = self.lexicon
        for opening in range(place - 1, max(place - _LONGEST_ASIDE, 0), -1):
            if self.words[opening].low == ",":
                before = self.words[opening - 1].low
                is_cut = before in lexicon.have or before in lexicon.be or before in lexicon.firsts
                return opening - 1 if is_cut else None
        return None

    def _skip_parenthesis(self, place: int) -> int:
        if place < 0 or self.words[place].low != ")":
            return place
        for opening in range(place - 1, -1, -1):
            if self.words[opening].low == "(":
                return opening - 1
        return place - 1

    def _read_subject(self, left: int, *, has_helper: bool) -> tuple[Who | None, tuple[int, int]]:
        """None: it shares the subject of a verb before it."""
        if self.is_boundary(left):
            is_joined = left >= 0 and self.words[left].low in (",", "&") and not self._is_introduction(left)
            return (None if is_joined else Who.NOBODY), (0, 0)
        word = self.words[left]
        if word.is_word:
            if word.low in self.lexicon.joiners or word.low in self.lexicon.contrasts:
                return None, (0, 0)
            who = self._read_single(word.low, left, has_helper=has_helper)
            if who is not None:
                return who, (left, left + 1)
        subject = (self.find_phrase(left), left + 1)
        return (Who.OWN if self._names_self(subject) else Who.THING), subject

    def _read_single(self, low: str, left: int, *, has_helper: bool) -> Who | None:
        """Who a single word means. None: it ends a noun phrase."""
        lexicon = self.lexicon
        if low in lexicon.firsts:
            return Who.OWN
        is_pronoun = low in lexicon.pronouns
        if low in lexicon.persons and left and self.words[left - 1].low in lexicon.firsts:
            return Who.OWN
        if low in lexicon.connectives:
            return Who.THING if is_pronoun and has_helper and self.is_boundary(left - 1) else Who.OTHER
        if low in lexicon.others:
            return Who.OTHER
        return Who.OTHER if low in lexicon.before_nouns and not is_pronoun else None

    def _is_introduction(self, comma: int) -> bool:
        """Whether nothing but an adverbial stands before the comma: "As requested, restarted nginx"."""
        first = self.words[0].low
        lexicon = self.lexicon
        opens = first in lexicon.prepositions or lexicon.is_adverb(first)
        return opens and not any(word.low in lexicon.firsts for word in self.words[:comma])

    def find_phrase(self, last: int) -> int:
        """Where the noun phrase begins that ends at `last`, what hangs on it included."""
        words, place = self.words, last
        while place >= 0:
            if words[place].may_divide and self._breaks_phrase(place, is_last=place == last):
                break
            place -= 1
        begin = place + 1
        while begin < last and words[begin].low in self.lexicon.joiners and words[begin].is_word:
            begin += 1
        return begin

    def _breaks_phrase(self, place: int, *, is_last: bool) -> bool:
        word, lexicon = self.words[place], self.lexicon
        if not word.is_word:
            return True
        if is_last:
            return False
        low = word.low
        if low == lexicon.possessive:
            return self._is_verbal(place + 1)
        if not word.is_finite or low in lexicon.dividing:
            return True
        before = self.words[place - 1].low if place else ""
        return before not in lexicon.before_nouns and not word.is_noun and place > 0

    def _is_verbal(self, place: int) -> bool:
        low = self.words[place].low
        return self.lexicon.is_adverb(low) or low in self.lexicon.helpers or bool(self.lexicon.entries.get(low))

    def _names_self(self, subject: tuple[int, int]) -> bool:
        lexicon = self.lexicon
        if self.words[subject[1] - 1].low not in lexicon.selves:
            return False
        match [word.low for word in self.words[slice(*subject)]]:
            case [name]:
                return name in lexicon.selves
            case [article, *adjectives, name] if name in lexicon.selves and article in lexicon.definite:
                return all(adjective in lexicon.self_adjectives for adjective in adjectives)
            case _:
                return False

    def _can_undergo(self, who: Who, subject: tuple[int, int]) -> bool:
        """`They were restarted`, `The agent was restarted`."""
        is_they = self.words[subject[0]].low in self.lexicon.pronouns & self.lexicon.others if self.words else False
        return who is Who.OWN or (who is Who.OTHER and is_they)

    def _is_denied(self, subject: tuple[int, int]) -> bool:
        begin, end = subject
        head = [word.low for word in self.words[begin : min(begin + 3, end)]]
        return not self.lexicon.nothings.isdisjoint(head) or (bool(head) and head[0] in self.lexicon.negations)

    def _read_joined(self, verb: int, left: int, *, group: _Group, is_told: bool) -> Role:
        """After "and": the subject, and without helpers of its own the voice too, of the verb before."""
        lexicon = self.lexicon
        helpers = set(group.helpers)
        being = helpers & lexicon.be
        role = self._find_partner(left, has_object=not being and self._has_object(verb))
        if role is None:
            return self._read_loose(left, is_passive=bool(being), is_told=is_told, group=group)
        is_shared = role.is_told or bool(helpers)
        is_shared = is_shared or (role.who is Who.OWN and self.words[left].low not in lexicon.alternatives)
        return Role(
            who=role.who,
            is_told=is_told and is_shared,
            is_passive=bool(being) or (role.is_passive and not helpers),
            is_present=role.is_present and not helpers,
            is_perfect=role.is_perfect,
            subject=role.subject,
            has_helper=role.has_helper or bool(helpers),
            adverbs=tuple(group.adverbs),
        )

    def _find_partner(self, left: int, *, has_object: bool) -> Role | None:
        """The role of the verb before. `I saw that the pool was full and restarted nginx`: what has an object of its
        own rather goes with whoever speaks than with a passive.
        """
        lexicon = self.lexicon
        nearest: Role | None = None
        for place in range(left - 1, -1, -1):
            word = self.words[place]
            if word.is_stop and word.low in (";", ":", "—", "–"):
                break
            if not word.is_finite or word.low in lexicon.be or word.low in lexicon.have:
                continue
            role = self.role_of(place)
            if role.who is Who.OTHER and self._is_aside(place):
                continue
            if nearest is None or role.who is Who.OWN:
                nearest = role
            if not has_object or not nearest.is_passive:
                return nearest
        return nearest

    def _has_object(self, verb: int) -> bool:
        if verb + 1 >= len(self.words):
            return False
        after, lexicon = self.words[verb + 1], self.lexicon
        return after.is_named or after.low in lexicon.determiners or after.low in lexicon.kinds

    def _is_aside(self, place: int) -> bool:
        """A participle that belongs to a noun or an adverbial, not to the clause."""
        before = self.words[place - 1].low if place else ""
        lexicon = self.lexicon
        return before in lexicon.before_nouns or (before in lexicon.subordinates and before not in lexicon.persons)

    def _read_loose(self, left: int, *, is_passive: bool, is_told: bool, group: _Group) -> Role:
        """Nothing before it has a verb in the past: look for the speaker, else take what is there as the subject."""
        for place in range(left - 1, -1, -1):
            if self.words[place].is_word and self.words[place].low in self.lexicon.firsts:
                return Role(Who.OWN, is_told=is_told, adverbs=tuple(group.adverbs), subject=(place, place + 1))
        who = Who.THING if is_passive else Who.NOBODY
        return Role(
            who,
            is_told=is_told,
            is_passive=is_passive,
            is_perfect=self.lexicon.be_perfect in group.helpers,
            subject=(0, left),
            has_helper=is_passive,
            adverbs=tuple(group.adverbs),
        )
