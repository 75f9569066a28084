"""A table of a reply, row by row: what its columns are about, and what the cells of a row say of each other."""

from collections.abc import Iterator
from enum import Enum, auto
from typing import Final, NamedTuple

from midwatch.safety.claims.headings import judge_head
from midwatch.safety.claims.lexicon import Lexicon
from midwatch.safety.claims.sentences import Mood, Sentence
from midwatch.safety.claims.words import MARKS

_LONGEST_BESIDE: Final = 400


class _Column(Enum):
    PLAIN = auto()
    CHANGES = auto()
    """What stands there was changed, or is to be."""
    DEEDS = auto()
    """What stands there is told as done: "What I did"."""


class _Cell(NamedTuple):
    text: str
    low: str
    start: int
    column: int


class Table:
    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._columns: list[_Column] | None = None

    def read_row(self, line: str, low: str, *, start: int, mood: Mood) -> Iterator[Sentence]:
        """The first row is that of the heads."""
        lexicon, beside, is_done = self._lexicon, "", False
        cells = list(_cut_cells(line, low, start))
        if self._columns is None:
            self._columns = [_judge_column(cell, lexicon) for cell in low.split("|")]
        if not lexicon.triggers.isdisjoint(lexicon.cut(low)):
            beside = low[:_LONGEST_BESIDE]
            is_done = _has_mark(low) or any(lexicon.done_marks.search(f":{cell.low}") for cell in cells)
            if lexicon.failures.search("|".join(f" : {cell.low}" for cell in cells)):
                is_done, mood = False, Mood.ADVICE
        for cell in cells:
            column = self._columns[cell.column] if cell.column < len(self._columns) else _Column.PLAIN
            is_deed = column is _Column.DEEDS and mood is not Mood.ADVICE
            yield Sentence(
                cell.text,
                cell.low,
                cell.start,
                Mood.DONE if is_deed else mood,
                is_item=True,
                is_ticked=is_done,
                beside=beside,
                is_change=column is not _Column.PLAIN,
            )


def _judge_column(head: str, lexicon: Lexicon) -> _Column:
    mood = judge_head(head, lexicon)
    if mood is Mood.DONE:
        return _Column.DEEDS
    is_change = mood is Mood.PLAIN and not lexicon.change_columns.isdisjoint(lexicon.cut(head))
    return _Column.CHANGES if is_change else _Column.PLAIN


def _cut_cells(line: str, low: str, start: int) -> Iterator[_Cell]:
    at = 0
    for column, cell in enumerate(line.split("|")):
        text = cell.strip()
        if text:
            begin = at + cell.index(text[0])
            yield _Cell(text, low[begin : begin + len(text)], start + begin, column)
        at += len(cell) + 1


def _has_mark(text: str) -> bool:
    return not text.isascii() and any(mark in text for mark in MARKS)
