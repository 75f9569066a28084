"""Commands that a reply says were run: whether they change anything, as far as their words tell."""

import re
from collections.abc import Sequence
from typing import Final

from midwatch.safety.claims.lexicon import Lexicon
from midwatch.safety.claims.reading import Reading
from midwatch.safety.claims.words import Kind
from midwatch.safety.shell.classify import classify

_APART: Final = re.compile(r"[`._]")
_VERB_NOUN: Final = re.compile(r"([a-z]+)-[a-z]+")
_NEAR: Final = 2


def is_changing(reading: Reading, places: Sequence[int], *, is_run: bool = False) -> bool:
    """Whether there is a command, and one that changes something. `is_run`: it is said to have been run, so that one
    nobody knows is taken for a change.
    """
    said = [reading.words[place] for place in places]
    codes = [word.low.strip("`") for word in said if word.kind is Kind.CODE]
    words = " ".join(word.low for word in said if word.kind in (Kind.CODE, Kind.NAME, Kind.WORD))
    parts = _cut_command(words)
    lexicon = reading.lexicon
    if not codes and lexicon.programs.isdisjoint(parts):
        return False
    if not lexicon.command_effects.isdisjoint(parts):
        return True
    return is_run and any(_may_change(code, lexicon) for code in codes)


def _cut_command(text: str) -> list[str]:
    """With the verb of `Start-Service` by itself, and without paths: a folder may be called anything."""
    parts = _APART.sub(" ", " ".join(part for part in text.split() if "/" not in part)).split()
    return parts + [match[1] for part in parts if (match := _VERB_NOUN.fullmatch(part))]


def _may_change(code: str, lexicon: Lexicon) -> bool:
    """A single word may be the name of anything, and is left alone."""
    parts = code.split()
    if len(parts) < _NEAR or not lexicon.looking_commands.isdisjoint(_cut_command(" ".join(parts[:_NEAR]))):
        return False
    return not classify(code).reads
