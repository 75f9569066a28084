"""A sentence taken apart: which word is which verb, what its object is, and what stands around it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Final

from midwatch.safety.claims.actions import ANYTHING_NAMED, Action, Entry
from midwatch.safety.claims.grammar import Grammar, Role
from midwatch.safety.claims.hints import CHANGES, ENDS, RUNS
from midwatch.safety.claims.lexicon import Lexicon
from midwatch.safety.claims.sentences import Mood, Sentence
from midwatch.safety.claims.words import Kind, Word, cut_words, find_spans

REACH: Final = 7
"""How many words may stand between a verb and its particle, or the noun it needs."""
_REACH_OF_COMPLETION: Final = 6
_LONGEST_HEADLINE: Final = 9
_LISTING: Final = (",", "&", "(", ")")
_CLAUSE_STOPS: Final = (",", ";", "—", "–", ":", ".", "-")
_AFTER_A_LABEL: Final = (":", "by", "because", "due", "if")
_CHANGE_OF_LEVEL: Final = ("to", "from", "by")


@dataclass
class Reading:
    sentence: Sentence
    low: str
    hints: int
    """What its words let it say."""
    begin: int
    """Where its words begin: behind what only opens it."""
    words: Sequence[Word]
    lexicon: Lexicon
    grammar: Grammar
    has_mark: bool
    is_told_as_done: bool
    """By its place or its mark: whatever the form of its verb."""

    def low_at(self, place: int) -> str:
        return self.words[place].low if 0 <= place < len(self.words) else ""

    def choose(self, place: int) -> Entry | None:
        """The action a word stands for, by its particle and its object."""
        plain: Entry | None = None
        for entry in self.words[place].entries:
            if entry.action.objects and not self._has_object(place, entry.action):
                continue
            if not entry.action.particles or not (entry.is_past or entry.is_base or entry.is_gerund):
                plain = plain or entry
            elif self._has_particle(place, entry.action.particles):
                return entry
        return plain

    def read_object(self, verb: int, action: Action) -> tuple[Sequence[int], Sequence[int]]:
        """Where the object stands, and its own place: what follows words like "on"."""
        lexicon = self.lexicon
        about: list[int] = []
        places: list[int] = []
        filling: list[int] | None = about
        for place in range(verb + 1, len(self.words)):
            word = self.words[place]
            if word.kind is Kind.MARK or (word.is_stop and not self._continues_list(place)):
                break
            if word.is_word:
                if word.low in action.particles:
                    continue
                if word.low in lexicon.joiners:
                    if self._starts_clause(place):
                        break
                    filling = about
                if word.low in lexicon.phrase_ends:
                    filling = about if word.low in lexicon.owning else places if word.low in lexicon.places else None
                    continue
                if self._starts_verb(place) or word.low in lexicon.contrasts:
                    break
            if filling is not None:
                filling.append(place)
        return about, places

    def split_places(self, begin: int, end: int) -> tuple[Sequence[int], Sequence[int]]:
        """`nginx on web-1`: the thing, and where it is."""
        for place in range(begin + 1, end):
            if self.words[place].is_word and self.words[place].low in self.lexicon.places:
                return range(begin, place), range(place + 1, end)
        return range(begin, end), ()

    def find_stop(self, begin: int) -> int:
        """Where what begins there ends."""
        for place in range(begin, len(self.words)):
            word = self.words[place]
            if word.is_break and word.low not in "()&":
                return place
        return len(self.words)

    def until_stop(self, begin: int) -> Sequence[Word]:
        return self.words[begin : self.find_stop(begin)]

    def pick(self, places: Iterable[int]) -> list[Word]:
        return [self.words[place] for place in places]

    def find_start(self, place: int) -> int:
        return next(islice(find_spans(self.low, lexicon=self.lexicon, begin=self.begin), place, None))[0]

    def quote(self, places: Sequence[int]) -> str:
        """What the sentence says there, with all that stands between."""
        if not places:
            return ""
        spans = self._spans
        return self.sentence.text[spans[min(places)][0] : spans[max(places)][1]]

    @cached_property
    def has_noun(self) -> bool:
        return any(word.is_noun for word in self.words)

    def may_command(self, verb: int) -> bool:
        """There is code, or the name of a program, and it may change something."""
        has_code = "`" in self.low
        if self.hints & CHANGES:
            return has_code or bool(self.hints & RUNS)
        return has_code and self.words[verb].low in self.lexicon.running

    def is_proper(self, place: int) -> bool:
        """Written like a name, with a capital inside of a sentence."""
        start, _ = self._spans[place]
        return place > 0 and self.sentence.text[start].isupper()

    @cached_property
    def _spans(self) -> list[tuple[int, int]]:
        return list(find_spans(self.low, lexicon=self.lexicon, begin=self.begin))

    def find_noun(self, span: range, *, may_be_run: bool = False) -> tuple[int, Action] | None:
        """The name of an action: "a restart". `may_be_run`: what is named after it, too, "the cleanup job"."""
        for place in span:
            word = self.words[place]
            is_end = word.is_stop and word.low not in "()"
            if is_end or word.low in self.lexicon.negations or word.low in self.lexicon.nothings:
                return None
            for entry in self.lexicon.entries.get(word.low, ()) if word.is_word else ():
                is_run = may_be_run and self.low_at(place + 1) in self.lexicon.runnable
                if entry.is_noun and self._is_noun(place, entry) and (is_run or not self.is_modifier(place)):
                    return place, entry.action
        return None

    def is_modifier(self, place: int) -> bool:
        """`restart count`, `update policy`: only names another thing."""
        after = self.words[place + 1] if place + 1 < len(self.words) else None
        return after is not None and after.is_word and after.low in self.lexicon.noun_heads

    def find_completion(self, begin: int) -> int | None:
        """Where it says that what stands before is complete."""
        lexicon = self.lexicon
        for place in range(begin, min(begin + _REACH_OF_COMPLETION, len(self.words))):
            word = self.words[place]
            if word.kind is Kind.MARK or word.low in lexicon.completions or word.low in lexicon.results:
                return place
            is_helper = word.low in lexicon.be or word.low in lexicon.have or word.is_adverb
            is_helper = is_helper or word.low in lexicon.did or (place > begin and word.low in lexicon.determiners)
            if not is_helper and word.low not in (":", "—", "–", "-", ")", "!", "(", "…", "..."):
                return None
        return None

    def skip_complement(self, place: int) -> int:
        """`of nginx on web-1`."""
        lexicon = self.lexicon
        if self.low_at(place) not in lexicon.prepositions:
            return place
        for at in range(place + 1, min(place + REACH, len(self.words))):
            word = self.words[at]
            is_verb = word.low in lexicon.be or word.low in lexicon.have
            if word.is_break or is_verb or word.low in lexicon.completions | lexicon.results:
                return at
        return place

    def has_finite_after(self, place: int) -> bool:
        lexicon = self.lexicon
        for word in self.words[place + 1 :]:
            if word.low in _CLAUSE_STOPS or word.low in lexicon.joiners or word.low in lexicon.contrasts:
                return False
            if word.is_word and (word.low in lexicon.helpers or word.low in lexicon.present_verbs):
                return True
        return False

    def goes_on_with_object(self, place: int) -> bool:
        if place + 1 >= len(self.words):
            return False
        after = self.words[place + 1]
        if after.is_break:
            return False
        if not after.is_word:
            return True
        low, lexicon = after.low, self.lexicon
        if low in lexicon.joiners and place + 2 < len(self.words) and self.grammar.is_finite(place + 2):
            return self.goes_on_with_object(place + 2)
        entry = self.choose(place)
        is_particle = low in lexicon.directions or (entry is not None and low in entry.action.particles)
        return not (is_particle or low in lexicon.phrase_ends or lexicon.is_adverb(low) or low in lexicon.joiners)

    def is_ours(self, noun: int, end: int) -> bool:
        """`My restart of nginx brought …`: a deed of whoever speaks, and what came of it."""
        lexicon = self.lexicon
        begin = noun
        while self.low_at(begin - 1) in lexicon.before_actions and self.low_at(begin) not in lexicon.possessives:
            begin -= 1
        if self.low_at(begin) not in lexicon.possessives or not self.grammar.is_boundary(begin - 1):
            return False
        return end < len(self.words) and self.words[end].is_finite and self.low_at(end) not in lexicon.helpers

    def is_property(self, place: int, role: Role) -> bool:
        """`Restarted pods: 3`, `Deleted files cannot be recovered`, `Increased latency`."""
        lexicon = self.lexicon
        if any(low in lexicon.property_adverbs for low in role.adverbs):
            return True
        if place + 1 >= len(self.words):
            return False
        after = self.words[place + 1]
        if after.low in _AFTER_A_LABEL:
            is_list = after.low == ":" and self._names_thing(place + 2)
            return not is_list and not any(low in lexicon.successes for low in role.adverbs)
        if not after.is_word or after.low in lexicon.before_nouns:
            return after.kind is Kind.NUMBER and self.low_at(place + 2) in lexicon.times
        is_label = place == 0 and self.low_at(place + 2) == ":"
        return is_label or self._is_level(place) or self.has_finite_after(place)

    def _names_thing(self, place: int) -> bool:
        """Not a version or a date, which begin with digits or have them after a letter."""
        if place >= len(self.words) or not self.words[place].is_named:
            return False
        return not any(character.isdigit() for character in self.words[place].low.strip("`")[:2])

    def _is_level(self, place: int) -> bool:
        rest = self.words[place + 1 :]
        return self.words[place].low in self.lexicon.levels and not any(word.low in _CHANGE_OF_LEVEL for word in rest)

    def has_success(self, role: Role) -> bool:
        successes = self.lexicon.successes
        return any(low in successes for low in role.adverbs) or "successfully" in self.low or self.has_mark

    def is_now(self, place: int) -> bool:
        """`is being restarted now`, `is restarted and healthy`."""
        if any(self.low_at(after) in self.lexicon.successes for after in (place + 1, place + 2)):
            return True
        if self.low_at(place + 1) in self.lexicon.agains and self.grammar.is_end(place + 2):
            return True
        return self.low_at(place + 1) in self.lexicon.additions and self._is_state(place + 2)

    def _is_state(self, place: int) -> bool:
        is_adverb = place < len(self.words) and self.words[place].is_adverb
        return self.low_at(place + 1 if is_adverb else place) in self.lexicon.akin

    def find_head(self, phrase: tuple[int, int]) -> str:
        """The noun a phrase is about: its last word before a preposition."""
        head = ""
        for word in self.words[slice(*phrase)]:
            if word.is_word and word.low in self.lexicon.prepositions:
                break
            head = word.low
        return head

    def is_short(self, subject: Sequence[Word]) -> bool:
        return 0 < len(subject) <= _LONGEST_HEADLINE

    def has_means(self, place: int) -> bool:
        """`resolved by restarting`."""
        is_gerund = any(entry.is_gerund for entry in self.lexicon.entries.get(self.low_at(place + 2), ()))
        return self.low_at(place + 1) in self.lexicon.means and is_gerund

    def _has_object(self, place: int, action: Action) -> bool:
        if self.low_at(place + 1) in self.lexicon.pronouns:
            near, subject = self.words[:place], ()
        else:
            near = self.words[place + 1 : place + 1 + REACH]
            subject = self.words[slice(*self.grammar.role_of(place).subject)]
        return any(fits_object(word, action) for word in (*near, *subject))

    def _has_particle(self, place: int, particles: frozenset[str]) -> bool:
        for word in self.words[place + 1 : place + 1 + REACH]:
            if word.low in particles:
                return True
            if word.is_stop and word.low not in "()":
                return False
        return False

    def _is_noun(self, place: int, entry: Entry) -> bool:
        """A word that may be a verb is a noun after a determiner or an adjective; `out of rotation` is a place."""
        lexicon, before = self.lexicon, self.low_at(place - 1)
        if before in lexicon.moving or (before in lexicon.owning and self.low_at(place - 2) in lexicon.directions):
            return False
        if not entry.is_base or before in lexicon.generic or before in lexicon.before_nouns or before in ("(", ""):
            return True
        is_adjective = self.words[place - 1].is_finite and self.low_at(place - 2) in lexicon.before_nouns
        return is_adjective or before in lexicon.performing

    def _starts_verb(self, place: int) -> bool:
        low, lexicon = self.words[place].low, self.lexicon
        if low in lexicon.firsts or low in lexicon.modals:
            return True
        return self.low_at(place - 1) in lexicon.joiners and self.grammar.is_finite(place)

    def _starts_clause(self, joiner: int) -> bool:
        """After "and": something that has a verb of its own, rather than one more object."""
        rest = self.until_stop(joiner + 1)
        return any(word.is_word and self._is_verb(word.low) for word in rest)

    def _is_verb(self, low: str) -> bool:
        lexicon = self.lexicon
        is_past = low in lexicon.irregular_past or low in lexicon.results or low in lexicon.looking
        return is_past or low in lexicon.helpers

    def _continues_list(self, place: int) -> bool:
        if self.words[place].low not in _LISTING or place + 1 >= len(self.words):
            return False
        after = self.words[place + 1]
        if after.low in self.lexicon.joiners:
            return not self._starts_clause(place + 1)
        return after.is_named or self.words[place].low != ","


def fits_object(word: Word, action: Action) -> bool:
    is_named = word.is_named and ANYTHING_NAMED in action.objects
    return is_named or word.low in action.objects


def take_apart(sentence: Sentence, *, hints: int, lexicon: Lexicon) -> Reading:
    opening = lexicon.openings.match(sentence.low)
    begin = opening.end() if opening else 0
    words = cut_words(sentence.low, lexicon=lexicon, begin=begin)
    has_mark = not sentence.low.isascii() and any(word.kind is Kind.MARK for word in words)
    is_done = _is_told_as_done(sentence, lexicon, has_mark=has_mark, may_end=bool(hints & ENDS))
    return Reading(sentence, sentence.low, hints, begin, words, lexicon, Grammar(words, lexicon), has_mark, is_done)


def _is_told_as_done(sentence: Sentence, lexicon: Lexicon, *, has_mark: bool, may_end: bool) -> bool:
    if sentence.mood is Mood.ADVICE:
        return False
    if sentence.is_ticked or (sentence.mood is Mood.DONE and sentence.is_item):
        return True
    if sentence.is_head:
        return False
    if has_mark or not may_end:
        return has_mark
    return lexicon.done_marks.search(sentence.low) is not None or lexicon.done_tags.match(sentence.low) is not None
