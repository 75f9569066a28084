"""Actions, the families they fall into, and the words that may stand for them."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

ANYTHING_NAMED: Final = "#"
"""Among the objects of an action: whatever has a name of its own."""


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
    nouns: tuple[str, ...] = field(default=(), compare=False)


class Entry(NamedTuple):
    """A word as a form, or several forms, of an action."""

    action: Action
    is_base: bool = False
    is_past: bool = False
    is_gerund: bool = False
    is_noun: bool = False
