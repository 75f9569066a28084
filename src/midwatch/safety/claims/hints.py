"""What single words let a sentence say: one look at each, so that most sentences are passed over at once."""

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from typing import Final

from midwatch.safety.claims.memory import Memory

TELLS: Final = 1
"""A form that may tell an action by itself."""
NAMES: Final = 2
"""A form that tells one only beside a partner, or as an item that is told as done."""
PARTNERS: Final = 4
COMMANDS: Final = 8
STATES: Final = 16
FAILS: Final = 32
"""Without such a word no pattern of failures matches."""
DOUBTS: Final = 64
"""Without such a word every statement is one of fact."""
PRESUMES: Final = 128
"""Without such a word a clause presumes nothing."""
ENDS: Final = 256
"""Without such a word nothing is marked as done, save by a sign."""
RUNS: Final = 512
"""The name of a program, or the beginning of one."""

WORDS: Final = 1024
"""There are words at all."""
CHANGES: Final = 2048
"""A part of a command that changes something."""
JOINS: Final = 4096
"""The first half of a form that may be written with a hyphen: "re-ran"."""

_MOST_KNOWN: Final = 16384


class Hints:
    """Of each word, in lower case."""

    def __init__(self, tests: Mapping[int, Callable[[str], object]]) -> None:
        self._tests = tests
        self._of = Memory(self._look_at, most=_MOST_KNOWN)

    def gather(self, words: Iterable[str]) -> int:
        return reduce(int.__or__, set(map(self._of.__getitem__, words)), 0)

    def _look_at(self, word: str) -> int:
        return sum(hint for hint, test in self._tests.items() if test(word))
