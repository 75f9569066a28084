"""What is known in one investigation, and the words in which the topics speak about it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from midwatch.llm.demo.alert_text import Alert
from midwatch.llm.demo.clues import Clues
from midwatch.llm.demo.needs import Need
from midwatch.llm.demo.observations import Facts
from midwatch.llm.demo.symptoms import Symptom


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    alert: Alert
    symptoms: tuple[Symptom, ...]
    clues: Clues
    facts: Facts
    rounds: int = 0
    """How often tools were called already."""

    @property
    def has_looked(self) -> bool:
        return self.rounds > 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Something a rule would like to know next, and why."""

    need: Need
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A piece of evidence: which tool showed what."""

    source: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    text: str
    command: str = ""
    destroys: str = ""
    """What the command ends or deletes; empty when it only looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    symptom: Symptom
    headline: str
    evidence: tuple[Point, ...]
    advice: tuple[Advice, ...] = ()
    explained: bool = False
    """What causes it was seen too, not only that it is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One kind of trouble: what to ask about it, what is wrong, and what was seen that is in order."""

    symptom: Symptom
    wish: Callable[[Case], Iterable[Wish]]
    find: Callable[[Case], Iterable[Problem]]
    read: Callable[[Case], Iterable[Point]]
