"""A sentence of a reply, with what its place in the page says of it."""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple, Self


class Mood(StrEnum):
    PLAIN = "plain"
    DONE = "done"  # what stands here is told as done: "Actions taken"
    ADVICE = "advice"
    REPORT = "report"


class Sentence(NamedTuple):
    text: str
    low: str
    start: int
    mood: Mood = Mood.PLAIN
    is_item: bool = False
    is_ticked: bool = False
    is_quoted: bool = False
    is_head: bool = False
    beside: str = ""
    """What else stands in the same row of a table."""
    is_change: bool = False
    """It stands in a column of changes."""

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def cut(self, start: int, end: int) -> Iterator[Self]:
        """What lies between two places of the text, as a sentence of its own, when there are words."""
        begin, end = max(start - self.start, 0), max(end - self.start, 0)
        text = self.text[begin:end].strip()
        if text:
            begin += len(self.text[begin:end]) - len(self.text[begin:end].lstrip())
            low = self.low[begin : begin + len(text)]
            yield self._replace(text=text, low=low, start=self.start + begin)
