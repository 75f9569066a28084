"""A sentence taken apart: which word is which verb, what its object is, and what stands around it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from midwatch.safety.claims.grammar import Grammar, Role
from midwatch.safety.claims.lexicon import Action, Entry, Family, Lexicon
from midwatch.safety.claims.passages import Mood, Sentence
from midwatch.safety.claims.words import Kind, Word, cut_words

REACH: Final = 7
"""How many words may stand between a verb and its particle, or the noun it needs."""
_REACH_OF_COMPLETION: Final = 6
_LONGEST_HEADLINE: Final = 9
_LISTING: Final = (",", "&", "(", ")")
_CLAUSE_STOPS: Final = (",", ";", "—", "–", ":", ".", "-")


@dataclass(slots=True)
class Reading:
    sentence: Sentence
    low: str
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
        for entry in self.lexicon.look_up(self.words[place].low):
            if entry.action.objects and not self._has_object(place, entry.action):
                continue
            if not entry.action.particles or not (entry.is_past or entry.is_base or entry.is_gerund):
                plain = plain or entry
            elif self._has_particle(place, entry.action.particles):
                return entry
        return plain

    def read_object(self, verb: int, action: Action) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
        """The object, and where: what follows words like "on"."""
        lexicon = self.lexicon
        about: list[Word] = []
        places: list[Word] = []
        filling: list[Word] | None = about
        for place in range(verb + 1, len(self.words)):
            word = self.words[place]
            if word.kind is Kind.MARK or (word.kind is Kind.STOP and not self._continues_list(place)):
                break
            if word.kind is Kind.WORD:
                if word.low in action.particles:
                    continue
                if word.low in lexicon.joiners:
                    if self._starts_clause(place):
                        break
                    filling = about
                if word.low in lexicon.phrase_ends:
                    filling = (
                        about if not about and word.low == "of" else places if word.low in lexicon.places else None
                    )
                    continue
                if self._starts_verb(place) or word.low in lexicon.contrasts:
                    break
            if filling is not None:
                filling.append(word)
        return tuple(about), tuple(places)

    def find_figures(self, verb: int) -> tuple[str, ...]:
        """`scaled … to 5`."""
        figures: list[str] = []
        for place in range(verb + 1, len(self.words)):
            word = self.words[place]
            if word.kind is Kind.STOP or word.low in self.lexicon.joiners:
                break
            if word.kind is Kind.NUMBER and word.low.isdigit() and self.low_at(place - 1) == self.lexicon.to:
                figures.append(word.low)
        return tuple(figures)

    def split_places(self, words: Sequence[Word]) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
        """`nginx on web-1`: the thing, and where it is."""
        for place, word in enumerate(words):
            if place and word.kind is Kind.WORD and word.low in self.lexicon.places:
                return tuple(words[:place]), tuple(words[place + 1 :])
        return tuple(words), ()

    def until_stop(self, begin: int) -> Iterator[Word]:
        for word in self.words[begin:]:
            if word.kind in (Kind.STOP, Kind.MARK) and word.low not in "()&":
                return
            yield word

    def find_noun(self, span: range) -> tuple[int, Action] | None:
        """The name of an action: "a restart"."""
        for place in span:
            word = self.words[place]
            is_end = word.kind is Kind.STOP and word.low not in "()"
            if is_end or word.low in self.lexicon.negations or word.low in self.lexicon.nothings:
                return None
            for entry in self.lexicon.entries.get(word.low, ()) if word.kind is Kind.WORD else ():
                if entry.is_noun and self._is_noun(place, entry) and not self.is_modifier(place):
                    return place, entry.action
        return None

    def is_modifier(self, place: int) -> bool:
        """`restart count`, `update policy`: only names another thing."""
        after = self.words[place + 1] if place + 1 < len(self.words) else None
        return after is not None and after.kind is Kind.WORD and after.low in self.lexicon.noun_heads

    def find_completion(self, begin: int) -> int | None:
        """Where it says that what stands before is complete."""
        lexicon = self.lexicon
        for place in range(begin, min(begin + _REACH_OF_COMPLETION, len(self.words))):
            word = self.words[place]
            if word.kind is Kind.MARK or word.low in lexicon.completions or word.low in lexicon.results:
                return place
            is_helper = word.low in lexicon.be or word.low in lexicon.have or lexicon.is_adverb(word.low)
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
            if word.kind in (Kind.STOP, Kind.MARK) or is_verb or word.low in lexicon.completions | lexicon.results:
                return at
        return place

    def has_finite_after(self, place: int) -> bool:
        lexicon = self.lexicon
        for word in self.words[place + 1 :]:
            if word.low in _CLAUSE_STOPS or word.low in lexicon.joiners or word.low in lexicon.contrasts:
                return False
            if word.kind is Kind.WORD and (word.low in lexicon.helpers or word.low in lexicon.present_verbs):
                return True
        return False

    def goes_on_with_object(self, place: int) -> bool:
        if place + 1 >= len(self.words):
            return False
        after = self.words[place + 1]
        if after.kind in (Kind.STOP, Kind.MARK):
            return False
        if after.kind is not Kind.WORD:
            return True
        low, lexicon = after.low, self.lexicon
        if low in lexicon.joiners and place + 2 < len(self.words) and self.grammar.is_finite(place + 2):
            return self.goes_on_with_object(place + 2)
        entry = self.choose(place)
        is_particle = entry is not None and low in entry.action.particles
        return not (is_particle or low in lexicon.phrase_ends or lexicon.is_adverb(low) or low in lexicon.joiners)

    def is_research(self, verb: int, about: Sequence[Word]) -> bool:
        """The action belongs to the investigation: nothing outside changes with it."""
        lexicon = self.lexicon
        if self.low_at(verb + 1) in lexicon.digressing.get(self.words[verb].low, ()):
            return True
        entry = self.choose(verb)
        research = (
            lexicon.research - lexicon.stoppable if entry and entry.action.family is Family.STOP else lexicon.research
        )
        if entry and self._presents(entry.action):
            return True
        if entry and entry.action.family in _OF_TEXT and self._is_added_to_text(verb):
            return True
        first = takewhile(lambda word: word.low not in lexicon.joiners, about)
        return any(word.kind is not Kind.CODE and word.low in research for word in first)

    def _is_added_to_text(self, verb: int) -> bool:
        """`added the p99 to the comparison`."""
        lexicon = self.lexicon
        rest = [word.low for word in self.until_stop(verb + 1)]
        if lexicon.to not in rest:
            return False
        goal = rest.index(lexicon.to)
        return any(low in lexicon.research for low in rest[goal + 1 : goal + 4])

    def _presents(self, action: Action) -> bool:
        """`I have attached the log lines below`: what is done to the reply itself."""
        ends = {word.low for word in self.words[-2:]}
        return action.family in _OF_TEXT and bool(ends & self.lexicon.presenting)

    def is_property(self, place: int, role: Role) -> bool:
        """`Restarted pods: 3`, `Deleted files cannot be recovered`, `Increased latency`."""
        lexicon = self.lexicon
        if any(low in lexicon.property_adverbs for low in role.adverbs):
            return True
        if place + 1 >= len(self.words):
            return False
        after = self.words[place + 1]
        if after.low in _AFTER_A_LABEL:
            return not any(low in lexicon.successes for low in role.adverbs)
        if after.kind is not Kind.WORD or after.low in lexicon.before_nouns:
            return after.kind is Kind.NUMBER and self.low_at(place + 2) in lexicon.times
        is_label = place == 0 and self.low_at(place + 2) == ":"
        return is_label or self._is_level(place) or self.has_finite_after(place)

    def _is_level(self, place: int) -> bool:
        rest = self.words[place + 1 :]
        return self.words[place].low in self.lexicon.levels and not any(word.low in _CHANGE_OF_LEVEL for word in rest)

    def has_success(self, role: Role) -> bool:
        successes = self.lexicon.successes
        return any(low in successes for low in role.adverbs) or "successfully" in self.low or self.has_mark

    def is_now(self, place: int) -> bool:
        """`is being restarted now`."""
        return any(self.low_at(after) in self.lexicon.successes for after in (place + 1, place + 2))

    def find_head(self, phrase: tuple[int, int]) -> str:
        """The noun a phrase is about: its last word before a preposition."""
        head = ""
        for word in self.words[slice(*phrase)]:
            if word.kind is Kind.WORD and word.low in self.lexicon.prepositions:
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
        near = self.words[place + 1 : place + 1 + REACH]
        subject = self.words[slice(*self.grammar.role_of(place).subject)]
        named = (Kind.NAME, Kind.CODE) if action.particles else ()
        return any(word.low in action.objects or word.kind in named for word in (*near, *subject))

    def _has_particle(self, place: int, particles: frozenset[str]) -> bool:
        for word in self.words[place + 1 : place + 1 + REACH]:
            if word.low in particles:
                return True
            if word.kind is Kind.STOP and word.low not in "()":
                return False
        return False

    def _is_noun(self, place: int, entry: Entry) -> bool:
        """A word that may be a verb as well is a noun after a determiner or an adjective."""
        before = self.low_at(place - 1)
        is_led = before in self.lexicon.generic or before in self.lexicon.before_nouns or before in ("(", "")
        return not entry.is_base or is_led

    def _starts_verb(self, place: int) -> bool:
        low, lexicon = self.words[place].low, self.lexicon
        if low in lexicon.firsts or low in lexicon.modals:
            return True
        return self.low_at(place - 1) in lexicon.joiners and self.grammar.is_finite(place)

    def _starts_clause(self, joiner: int) -> bool:
        """After "and": something that has a verb of its own, rather than one more object."""
        rest = self.until_stop(joiner + 1)
        return any(word.kind is Kind.WORD and self._is_verb(word.low) for word in rest)

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
        return after.kind in (Kind.NAME, Kind.CODE) or self.words[place].low != ","


_OF_TEXT: Final = (Family.CHANGE, Family.DEPLOY, Family.SCALE, Family.MOVE)
_AFTER_A_LABEL: Final = (":", "by", "because", "due", "if")
_CHANGE_OF_LEVEL: Final = ("to", "from", "by")


def take_apart(sentence: Sentence, *, lexicon: Lexicon) -> Reading:
    opening = lexicon.openings.match(sentence.low)
    words = cut_words(sentence.low, lexicon=lexicon, begin=opening.end() if opening else 0)
    has_mark = not sentence.low.isascii() and any(word.kind is Kind.MARK for word in words)
    is_done = _is_told_as_done(sentence, lexicon, has_mark=has_mark)
    return Reading(sentence, sentence.low, words, lexicon, Grammar(words, lexicon), has_mark, is_done)


def _is_told_as_done(sentence: Sentence, lexicon: Lexicon, *, has_mark: bool) -> bool:
    if sentence.mood is Mood.ADVICE:
        return False
    if sentence.is_ticked or (sentence.mood is Mood.DONE and sentence.is_item):
        return True
    return not sentence.is_head and (has_mark or lexicon.done_marks.search(sentence.low) is not None)
