"""What was worked out for a word, kept for the next time it is met, within bounds."""

from collections.abc import Callable
from typing import Final, TypeVar

LONGEST: Final = 32
"""Longer words are hardly ever met again."""

T = TypeVar("T")


class Memory(dict[str, T]):
    """It forgets all words when they become too many."""

    def __init__(self, work_out: Callable[[str], T], *, most: int) -> None:
        super().__init__()
        self._work_out = work_out
        self._most = most

    def __missing__(self, word: str) -> T:
        found = self._work_out(word)
        if len(word) <= LONGEST:
            if len(self) >= self._most:
                self.clear()
            self[word] = found
        return found
