"""A word of a command after quotes and escapes are gone, with what is not known of it kept in view."""

from typing import NamedTuple

HOLE = "\ufffc"
"""Stands in a word for what only the shell will know: a variable, a substitution."""
STUB = "\ufffb"
"""Stands for what is not known but is neither empty nor begins with a dash: the name of a file that was found."""


class Word(NamedTuple):
    """A tuple, because every argument of every command becomes one."""

    text: str
    splits: bool = False
    """May become several words, or none: an unquoted expansion."""
    glob: bool = False
    """Holds unquoted `*`, `?` or `[`: becomes the names of files."""
    start: int = 0
    end: int = 0
    """Bytes in the source, for rewriting; both 0 when the word was made up."""

    @property
    def known(self) -> bool:
        """Every character is known, and it stays one word."""
        return not (self.splits or self.glob or HOLE in self.text or STUB in self.text)

    @property
    def starts_known(self) -> bool:
        """It stays one word, and whether it is an option can be told."""
        return not self.splits and self.text[:1] not in _OPEN_STARTS[self.glob]


_OPEN_STARTS = {True: frozenset({HOLE, "*", "?", "["}), False: frozenset({HOLE})}

UNKNOWN_WORDS = Word(HOLE, splits=True)
"""Any number of words of which nothing is known."""


def show(text: str) -> str:
    """For people: what is not known becomes an ellipsis."""
    return text.replace(HOLE, "$…").replace(STUB, "…")


def names(text: str) -> frozenset[str]:
    """A set written as a line of names."""
    return frozenset(text.split())
