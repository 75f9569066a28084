"""A reply cut into sentences, each with what its place in the page says of it: under which heading, in what list."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple

from midwatch.safety.claims.lexicon import Lexicon
from midwatch.safety.claims.words import MARKS

WITHHELD: Final = "[Withheld:"
"""What stands where a claim stood begins like this."""
_LONGEST_HEAD: Final = 90
_SOFT_WRAP: Final = 70
_FENCE: Final = re.compile(r"\s*(?:>\s*)*(```|~~~)")
_LINE: Final = re.compile(
    r"(?P<indent>[ \t]*)(?P<quote>(?:>[ \t]?)+)?[ \t]*"
    r"(?P<hashes>#{1,6}[ \t]+)?(?P<bullet>(?:[-*+•▪◦‣]|\(?\d{1,3}[.)])[ \t]+)?(?P<box>\[[ xX✓✔]\][ \t]*)?"
)
_BOLD_HEAD: Final = re.compile(r"\s*(?:\*\*|__)[^*_\n]{2,80}(?:\*\*|__):?\s*")
_RULE: Final = re.compile(r"[\s|:+=-]+")
_END: Final = re.compile(
    rf"(?:[!?]+|(?<!\.)\.(?!\.)|(?:\.{{2,}}|…)(?=\s+[A-Z]|\s*$))[\"'”’)\]*_]*(?=\s|$|[{MARKS}])"
    rf"|(?<=[^\s{MARKS}*_-]\s)[{MARKS}](?=\s+[A-Z`])"
)
_LABEL: Final = re.compile(r"[^:\n.!?]{3,50}:(?=\s)")
_NO_END: Final = re.compile(r"(?:^|[\s(])(?:e\.g|i\.e|vs|approx|resp|incl|cf|ca|z\.b|d\.h|bzw|usw|nr)\.$", re.IGNORECASE)
_TAIL: Final = 10


class Mood(StrEnum):
    PLAIN = "plain"
    DONE = "done"  # what stands here is told as done: "Actions taken"
    ADVICE = "advice"
    REPORT = "report"


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    start: int
    mood: Mood = Mood.PLAIN
    is_item: bool = False
    is_ticked: bool = False
    is_quoted: bool = False
    is_head: bool = False

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class _Line(NamedTuple):
    text: str
    start: int


def cut_sentences(text: str, *, lexicon: Lexicon) -> Iterator[Sentence]:
    """In order, without code blocks. Spans are those of `text`."""
    for sentence in _Page(lexicon).read(text):
        yield from _read_label(sentence, lexicon)


def _read_label(sentence: Sentence, lexicon: Lexicon) -> Iterator[Sentence]:
    """`Expected outcome: …` and `Action taken: …` are headings of one line."""
    label = _LABEL.match(sentence.text) if ":" in sentence.text else None
    mood = Mood.PLAIN if label is None or sentence.is_head else judge_head(label.group(), lexicon)
    if label is None or mood is Mood.PLAIN:
        yield sentence
    elif mood is Mood.DONE:
        yield replace(sentence, text=label.group())
        for rest in _trim(sentence.text[label.end() :], sentence.start + label.end()):
            yield replace(sentence, text=rest.text, start=rest.start, mood=mood, is_item=True)
    else:
        yield replace(sentence, mood=mood)


def judge_head(head: str, lexicon: Lexicon) -> Mood:
    low = head.lower()
    if lexicon.advice_heads.search(low):
        return Mood.ADVICE
    if lexicon.done_heads.search(low):
        return Mood.DONE
    if lexicon.plan_heads.search(low):
        return Mood.ADVICE
    return Mood.REPORT if lexicon.report_heads.search(low) else Mood.PLAIN


class _Page:
    """Reads line by line and remembers under what it stands."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._section = Mood.PLAIN
        self._list: Mood | None = None
        self._paragraph: list[_Line] = []

    def read(self, text: str) -> Iterator[Sentence]:
        fence, at = "", 0
        for line in text.split("\n"):
            here = _Line(line, at)
            at += len(line) + 1
            opening = _FENCE.match(line) if fence or "```" in line or "~~~" in line else None
            if opening and (not fence or opening[1] == fence):
                yield from self._flush()
                fence = "" if fence else opening[1]
            elif not fence:
                yield from self._read_line(here)
        yield from self._flush()

    def _read_line(self, line: _Line) -> Iterator[Sentence]:
        content = line.text.strip()
        if not content or _RULE.fullmatch(content):
            yield from self._flush()
            return
        if content.startswith("|") or content.count("|") > 1:
            yield from self._flush()
            yield from self._read_row(line)
            return
        parts = _LINE.match(line.text)
        shape = parts.groupdict() if parts else {}
        body = _Line(line.text[parts.end() :] if parts else line.text, line.start + (parts.end() if parts else 0))
        if shape.get("hashes") or _BOLD_HEAD.fullmatch(line.text):
            yield from self._flush()
            yield from self._read_head(body)
        elif shape.get("bullet") or shape.get("box") or shape.get("quote"):
            yield from self._flush()
            yield from self._read_item(body, shape)
        else:
            yield from self._read_prose(line)

    def _read_head(self, body: _Line) -> Iterator[Sentence]:
        self._section, self._list = judge_head(body.text, self._lexicon), None
        for sentence in _split(body):
            yield replace(sentence, mood=Mood.PLAIN, is_head=True)

    def _read_item(self, body: _Line, shape: dict[str, str | None]) -> Iterator[Sentence]:
        box = shape.get("box") or ""
        mood = self._list or self._section
        if "[ ]" in box:
            mood = Mood.ADVICE
        is_ticked = bool(box) and "[ ]" not in box
        for number, sentence in enumerate(_split(body)):
            yield replace(
                sentence,
                mood=mood,
                is_item=number == 0,
                is_ticked=is_ticked,
                is_quoted=bool(shape.get("quote")),
            )
        if body.text.rstrip(" *_").endswith(":") and not shape.get("quote"):
            self._list = self._judge_label(body.text, otherwise=mood)

    def _read_prose(self, line: _Line) -> Iterator[Sentence]:
        if self._paragraph and not _goes_on(self._paragraph[-1].text, line.text):
            yield from self._flush()
        if not self._paragraph and not line.text[:1].isspace():
            self._list = None
        self._paragraph.append(line)

    def _flush(self) -> Iterator[Sentence]:
        if not self._paragraph:
            return
        lines, self._paragraph = self._paragraph, []
        body = _Line("\n".join(line.text for line in lines), lines[0].start)
        mood = Mood.PLAIN if self._section is Mood.DONE else self._section
        for sentence in _split(body):
            yield replace(sentence, mood=mood)
        if body.text.rstrip(" *_").endswith(":"):
            self._list = self._judge_label(body.text, otherwise=self._section)

    def _read_row(self, line: _Line) -> Iterator[Sentence]:
        cells = list(_cut_cells(line))
        texts = " ".join(cell.text for cell in cells)
        mood = self._list or self._section
        is_done = any(self._lexicon.done_marks.search(f":{cell.text.lower()}") for cell in cells) or any(
            mark in texts for mark in MARKS
        )
        if self._lexicon.failures.search("|".join(f" : {cell.text.lower()}" for cell in cells)):
            is_done, mood = False, Mood.ADVICE
        for cell in cells:
            yield Sentence(cell.text, cell.start, mood=mood, is_item=True, is_ticked=is_done)

    def _judge_label(self, text: str, *, otherwise: Mood) -> Mood:
        """The last sentence of what stands before a list."""
        last = re.split(r"(?<=[.!?])\s", text.strip())[-1]
        judged = judge_head(last, self._lexicon)
        return otherwise if judged is Mood.PLAIN else judged


def _goes_on(before: str, line: str) -> bool:
    """Whether a line is the rest of the sentence before it, only wrapped."""
    first = line.lstrip()[:1]
    if first.islower():
        return True
    return len(before) >= _SOFT_WRAP and not before.rstrip().endswith((".", "!", "?", ":", ";"))


def _cut_cells(line: _Line) -> Iterator[_Line]:
    at = line.start
    for cell in line.text.split("|"):
        stripped = cell.strip()
        if stripped:
            yield _Line(stripped, at + cell.index(stripped[0]))
        at += len(cell) + 1


def _split(body: _Line) -> Iterator[Sentence]:
    text, begin = body.text, 0
    for end in _END.finditer(text):
        piece = text[begin : end.end()]
        if _NO_END.search(piece[-_TAIL:]):
            continue
        yield from _trim(piece, body.start + begin)
        begin = end.end()
    yield from _trim(text[begin:], body.start + begin)


def _trim(piece: str, start: int) -> Iterator[Sentence]:
    stripped = piece.strip()
    if stripped:
        yield Sentence(stripped, start + piece.index(stripped[0]))
