"""Reads the words of a command by its model. The first word the model does not allow makes it a refusal."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from midwatch.safety.shell.programs.model import NESTED, REPEATS, Arity, Meaning, Operands, Option, Program
from midwatch.safety.shell.verdict import Risk
from midwatch.safety.shell.words import HOLE, Word


@dataclass(frozen=True, slots=True)
class Refused(Exception):
    """Not an error: the reason why a command is a write."""

    rule: str
    part: str
    risk: Risk = Risk.MEDIUM
    known: bool = False
    """It is known to write, rather than not known to read."""


@dataclass(slots=True)
class Reading:
    """A command as its model sees it."""

    name: str
    model: Program
    options: dict[str, list[Word | None]]
    values: list[tuple[Meaning, Word]]
    operands: list[Word]
    follow: tuple[tuple[str, Word], ...] = ()
    bounds: bool = False
    tty: tuple[tuple[str, Word], ...] = ()


_NONE, _ONE = Arity.NONE, Arity.ONE
_DENIED: Mapping[Meaning, tuple[str, Risk]] = {
    Meaning.WRITE: ("option:writes", Risk.MEDIUM),
    Meaning.DESTROY: ("option:writes", Risk.HIGH),
    Meaning.FOREIGN: ("option:foreign", Risk.MEDIUM),
}


def read_arguments(name: str, model: Program, words: Sequence[Word]) -> Reading:
    """Raises Refused when the model does not allow one of the words."""
    return _Reader(Reading(name, model, {}, [], []), model, model.options, words).read()


@dataclass(slots=True)
class _Reader:
    reading: Reading
    model: Program
    options: Mapping[str, Option]
    words: Sequence[Word]
    at: int = 0
    inherit: bool = False

    def read(self) -> Reading:
        model = self.model
        if model.writes:
            raise self._refuse("verb:writes", self.reading.name, model.risk, known=True)
        words, verbs, stops = self.words, bool(model.verbs), model.style == "stop"
        while self.at < len(words):
            word = words[self.at]
            self.at += 1
            text, start = word.text, word.text[:1]
            if (word.splits or word.glob or start == HOLE) and not word.starts_known:
                self._take_unknown(word)
            elif start == "-" and text != "-":
                if text == "--":
                    self._end_options()
                else:
                    self._take_option(word)
            elif verbs:
                return self._enter_verb(word)
            else:
                self.reading.operands.append(word)
                if stops:
                    self._take_rest()
        if verbs:
            return self._enter_default()
        return self.reading

    def _operands(self) -> Operands:
        return choose_operands(self.model, self.reading.options)

    def _end_options(self) -> None:
        """A verb may still follow, and not everyone stops reading options."""
        rest = self.words[self.at :]
        if self.model.verbs:
            raise self._refuse("verb:missing", "--")
        if not self.model.inert and self._operands().last not in NESTED and any(map(_looks_like_option, rest)):
            raise self._refuse("option:unknown", " ".join(word.text for word in rest))
        self._take_rest()

    def _take_rest(self) -> None:
        rest = self.words[self.at :]
        if not self.model.inert and any(word.splits for word in rest) and not self._rest_is_free():
            raise self._refuse("expansion:operand", " ".join(word.text for word in rest))
        self.reading.operands.extend(rest)
        self.at = len(self.words)

    def _rest_is_free(self) -> bool:
        """Behind `--` nothing is an option; only a number of operands could still be exceeded."""
        return self._operands().most == REPEATS

    def _take_unknown(self, word: Word) -> None:
        if self.model.verbs or not self.model.inert:
            raise self._refuse("expansion:option", word.text)
        self.reading.operands.append(word)

    def _take_option(self, word: Word) -> None:
        if self.model.style == "single":
            self._take_single(word)
        elif word.text.startswith("--"):
            self._take_long(word)
        elif self.model.digits and (match := _NUMBERED.fullmatch(word.text)):
            self._note("-NUM", None, word)
            self._take_cluster(word._replace(text=f"-{match[1]}"))
        else:
            self._take_cluster(word)

    def _take_long(self, word: Word) -> None:
        name, equals, value = word.text.partition("=")
        option = self._allow(name, word)
        attached = Word(value, word.splits, word.glob) if equals else None
        if option.arity is _NONE and equals:
            raise self._refuse("option:unknown", word.text)
        if option.arity is _ONE and attached is None:
            attached = self._next_value()
        self._note(name, attached, word, option)

    def _take_single(self, word: Word) -> None:
        name, equals, value = word.text.partition("=")
        name = "-" + name.lstrip("-")
        option = self._allow(name, word)
        attached = Word(value, word.splits, word.glob) if equals else None
        if option.arity is _NONE and equals and value != "true":
            raise self._refuse("option:unknown", word.text)
        if option.arity is _ONE and attached is None:
            attached = self._next_value()
        self._note(name, attached, word, option)

    def _take_cluster(self, word: Word) -> None:
        text = word.text
        for position in range(1, len(text)):
            name = "-" + text[position]
            option = self._allow(name, word)
            rest = text[position + 1 :]
            if option.arity is _NONE:
                self._note(name, None, word, option)
                continue
            attached = Word(rest, word.splits, word.glob) if rest else None
            if option.arity is _ONE and attached is None:
                attached = self._next_value()
            self._note(name, attached, word, option)
            return

    def _allow(self, name: str, word: Word) -> Option:
        option = self.options.get(name)
        if option is None:
            raise self._refuse("option:unknown", word.text)
        if (word.splits or word.glob) and not self.model.inert:
            raise self._refuse("expansion:option", word.text)
        denied = _DENIED.get(option.meaning)
        if denied:
            rule, risk = denied
            raise self._refuse(rule, name, risk, known=True)
        return option

    def _next_value(self) -> Word | None:
        if self.at >= len(self.words):
            return None
        value = self.words[self.at]
        self.at += 1
        if not self.model.inert:
            self._check_value(value)
        return value

    def _check_value(self, value: Word) -> None:
        if value.splits or value.glob:
            raise self._refuse("expansion:option", value.text)
        if value.text.startswith("-") and not _DASHED_VALUE.match(value.text):
            # In another version the option may take no value, and then this is an option itself.
            raise self._refuse("option:as-value", value.text)

    def _note(self, name: str, value: Word | None, word: Word, option: Option | None = None) -> None:
        reading, model = self.reading, self.model
        reading.options.setdefault(name, []).append(value)
        if value is not None and option is not None:
            reading.values.append((option.meaning, value))
        if value is None or value.text not in _OFF:
            if name in model.follow:
                reading.follow += ((name, word),)
            if name in model.tty:
                reading.tty += ((name, word),)
        reading.bounds = reading.bounds or name in model.bounds

    def _enter_verb(self, word: Word) -> Reading:
        verb = self.model.verbs.get(word.text)
        if verb is None or not word.known:
            raise self._refuse("verb:unknown", f"{self.reading.name} {word.text}")
        return self._enter(f"{self.reading.name} {word.text}", verb)

    def _enter_default(self) -> Reading:
        name = self.model.default_verb
        if name is not None:
            return self._enter(self.reading.name, self.model.verbs[name])
        if (_ASKS_ONLY | self.model.needs).isdisjoint(self.reading.options):
            # Without a verb some print their help, and others do what they do most often.
            raise self._refuse("verb:missing", self.reading.name)
        return self.reading

    def _enter(self, name: str, verb: Program) -> Reading:
        self.inherit = self.inherit or self.model.inherit
        options = {**self.options, **verb.options} if self.inherit else verb.options
        self.reading.name, self.reading.model = name, verb
        self.model, self.options = verb, options
        return self.read()

    def _refuse(self, rule: str, part: str, risk: Risk | None = None, *, known: bool = False) -> Refused:
        shown = part if part.startswith(self.reading.name) else f"{self.reading.name} {part}"
        return Refused(rule, shown.replace(HOLE, "$…"), risk or self.model.risk, known)


def choose_operands(model: Program, options: Mapping[str, object]) -> Operands:
    for names, operands in model.operands_with:
        if not names.isdisjoint(options):
            return operands
    return model.operands


def _looks_like_option(word: Word) -> bool:
    return word.text.startswith("-") and word.text != "-"


_NUMBERED = re.compile(r"-[0-9]+([A-Za-z]*)")
_DASHED_VALUE = re.compile(r"-(?:[0-9]|\Z)")
_OFF = frozenset({"false", "0", "no"})
_ASKS_ONLY = frozenset({"--help", "--version", "-h", "-V", "-help", "-version"})
