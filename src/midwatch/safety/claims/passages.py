"""A reply cut into sentences, each with what its place in the page says of it: under which heading, in what list."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from midwatch.safety.claims.lexicon import STEM, Lexicon
from midwatch.safety.claims.words import MARKS, fold

_SOFT_WRAP: Final = 70
_LONGEST_HEAD: Final = 60
_LONGEST: Final = 1200
"""Nobody writes such sentences; what goes on longer is read in pieces."""
_FENCE: Final = re.compile(r"\s*(?:>\s*)*(```|~~~)")
_LINE: Final = re.compile(
    r"[ \t]*(?P<quote>(?:>[ \t]?)+)?[ \t]*(?P<hashes>#{1,6}[ \t]+)?"
    r"(?P<bullet>(?:[-*+•▪◦‣]|\(?\d{1,3}[.)])[ \t]+)?(?P<box>\[[ xX✓✔]\][ \t]*)?"
)
_BOLD_HEAD: Final = re.compile(r"\s*(?:\*\*|__)[^*_\n]{2,80}(?:\*\*|__):?\s*")
_RULE: Final = re.compile(r"[\s|:+=-]+")
_END: Final = re.compile(rf"[.!?…{MARKS}]+[\"'”’)\]*_]*(?=\s|$|[{MARKS}])")
_CAPITAL: Final = re.compile(r"\s+[A-Z`]|\s*$")
_NO_END: Final = (
    "e.g.",
    "i.e.",
    "vs.",
    "approx.",
    "resp.",
    "incl.",
    "cf.",
    "ca.",
    "z.b.",
    "d.h.",
    "bzw.",
    "usw.",
    "nr.",
)
_LONGEST_SHORTHAND: Final = 8
_BEFORE_WORDS: Final = f" \t*_-•{MARKS}"
_LABEL: Final = re.compile(r"[^:\n.!?]{3,50}:(?=\s)")
_LAST_SENTENCE: Final = re.compile(r"(?<=[.!?])\s")


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

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class _Line(NamedTuple):
    text: str
    start: int


def cut_sentences(text: str, *, lexicon: Lexicon) -> Iterator[Sentence]:
    """In order, without code blocks. Spans are those of `text`."""
    for sentence in _Page(lexicon).read(text):
        if ":" in sentence.text and not sentence.is_head:
            yield from _read_label(sentence, lexicon)
        else:
            yield sentence


def judge_head(low: str, lexicon: Lexicon) -> Mood:
    if lexicon.head_stems.isdisjoint([word[:STEM] for word in lexicon.cut(low)]):
        return Mood.PLAIN
    if lexicon.advice_heads.search(low):
        return Mood.ADVICE
    if lexicon.done_heads.search(low):
        return Mood.DONE
    if lexicon.plan_heads.search(low):
        return Mood.ADVICE
    return Mood.REPORT if lexicon.report_heads.search(low) else Mood.PLAIN


def _read_label(sentence: Sentence, lexicon: Lexicon) -> Iterator[Sentence]:
    """`Expected outcome: …` and `Action taken: …` are headings of one line."""
    label = _LABEL.match(sentence.low)
    mood = Mood.PLAIN if label is None else judge_head(label.group(), lexicon)
    if label is None or mood is Mood.PLAIN:
        yield sentence
    elif mood is Mood.DONE:
        yield _cut(sentence, 0, label.end())
        begin = len(sentence.text) - len(sentence.text[label.end() :].lstrip())
        if begin < len(sentence.text):
            yield _cut(sentence, begin, len(sentence.text))._replace(mood=mood, is_item=True)
    else:
        yield sentence._replace(mood=mood)


def _cut(sentence: Sentence, begin: int, end: int) -> Sentence:
    return sentence._replace(text=sentence.text[begin:end], low=sentence.low[begin:end], start=sentence.start + begin)


class _Page:
    """Reads line by line and remembers under what it stands."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._low = ""
        self._section = Mood.PLAIN
        self._list: Mood | None = None
        self._paragraph: list[_Line] = []
        self._found: list[Sentence] = []

    def read(self, text: str) -> list[Sentence]:
        self._low = fold(text)
        fence, at = "", 0
        for line in text.split("\n"):
            here = _Line(line, at)
            at += len(line) + 1
            opening = _FENCE.match(line) if "```" in line or "~~~" in line else None
            if opening and (not fence or opening[1] == fence):
                self._flush()
                fence = "" if fence else opening[1]
            elif not fence:
                self._read_line(here)
        self._flush()
        return self._found

    def _fold(self, text: str, start: int) -> str:
        return self._low[start : start + len(text)]

    def _read_line(self, line: _Line) -> None:
        content = line.text.strip()
        if content[:1].isalpha() and content.count("|") <= 1:
            self._read_prose(line)
        elif not content or _RULE.fullmatch(content):
            self._flush()
        elif content[0] == "|" or content.count("|") > 1:
            self._flush()
            self._read_row(line)
        else:
            self._read_shaped(line)

    def _read_shaped(self, line: _Line) -> None:
        shape = _LINE.match(line.text)
        begin = shape.end() if shape else 0
        body = _Line(line.text[begin:], line.start + begin)
        if shape is None or not begin or not line.text[:begin].strip():
            if _BOLD_HEAD.fullmatch(line.text):
                self._flush()
                self._read_head(body)
            else:
                self._read_prose(line)
            return
        self._flush(is_before_list=not shape["hashes"])
        if shape["hashes"]:
            self._read_head(body)
        else:
            self._read_item(body, box=shape["box"] or "", is_quoted=bool(shape["quote"]))

    def _read_head(self, body: _Line) -> None:
        self._section, self._list = judge_head(fold(body.text), self._lexicon), None
        for text, start in _split(body):
            self._found.append(Sentence(text, self._fold(text, start), start, is_head=True))

    def _read_item(self, body: _Line, *, box: str, is_quoted: bool) -> None:
        mood = Mood.ADVICE if "[ ]" in box else self._list or self._section
        is_ticked = bool(box) and "[ ]" not in box
        is_first = True
        for text, start in _split(body):
            self._found.append(Sentence(text, self._fold(text, start), start, mood, is_first, is_ticked, is_quoted))
            is_first = False
        if not is_quoted:
            self._open_list(body.text, otherwise=mood)

    def _read_prose(self, line: _Line) -> None:
        if self._paragraph and not _goes_on(self._paragraph[-1].text, line.text):
            self._flush()
        if not self._paragraph and not line.text[:1].isspace():
            self._list = None
        self._paragraph.append(line)

    def _flush(self, *, is_before_list: bool = False) -> None:
        if not self._paragraph:
            return
        lines, self._paragraph = self._paragraph, []
        body = _Line("\n".join(line.text for line in lines), lines[0].start)
        mood = Mood.PLAIN if self._section is Mood.DONE else self._section
        for text, start in _split(body):
            self._found.append(Sentence(text, self._fold(text, start), start, mood))
        self._open_list(body.text, otherwise=self._section, is_head=is_before_list)

    def _read_row(self, line: _Line) -> None:
        lexicon, low = self._lexicon, self._fold(line.text, line.start)
        cells = [(cell, self._fold(cell.text, cell.start)) for cell in _cut_cells(line)]
        mood, is_done = self._list or self._section, False
        if not lexicon.triggers.isdisjoint(lexicon.cut(low)):
            is_done = _has_mark(low) or any(lexicon.done_marks.search(f":{each}") for _, each in cells)
            if lexicon.failures.search("|".join(f" : {each}" for _, each in cells)):
                is_done, mood = False, Mood.ADVICE
        for cell, each in cells:
            self._found.append(Sentence(cell.text, each, cell.start, mood, is_item=True, is_ticked=is_done))

    def _open_list(self, text: str, *, otherwise: Mood, is_head: bool = False) -> None:
        """By the last sentence of what stands before a list; a short line without an end is a heading, too."""
        ending = text.rstrip(" *_\t")
        is_head = is_head and len(ending) <= _LONGEST_HEAD and not ending.endswith((".", "!", "?", ","))
        if is_head or ending.endswith(":"):
            judged = judge_head(fold(_LAST_SENTENCE.split(ending)[-1]), self._lexicon)
            self._list = otherwise if judged is Mood.PLAIN else judged


def _has_mark(text: str) -> bool:
    return not text.isascii() and any(mark in text for mark in MARKS)


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


def _split(body: _Line) -> list[_Line]:
    text, begin = body.text, 0
    pieces: list[_Line] = []
    for found in _END.finditer(text):
        end = found.end()
        if _ends_sentence(text, found.start(), begin=begin, end=end):
            pieces += _trim(text[begin:end], body.start + begin)
            begin = end
    pieces += _trim(text[begin:], body.start + begin)
    return pieces


def _ends_sentence(text: str, at: int, *, begin: int, end: int) -> bool:
    """An ellipsis or a mark ends one only before a capital, and a mark not when it stands before the words."""
    first = text[at]
    if first == "." and text[at + 1 : at + 2] != ".":
        return not text[max(end - _LONGEST_SHORTHAND, begin) : end].lower().endswith(_NO_END)
    if first in "!?":
        return True
    is_after_words = first not in MARKS or bool(text[begin:at].strip(_BEFORE_WORDS))
    return is_after_words and _CAPITAL.match(text, end) is not None


def _trim(piece: str, start: int) -> list[_Line]:
    stripped = piece.strip()
    if not stripped:
        return []
    start += piece.index(stripped[0])
    pieces: list[_Line] = []
    while len(stripped) > _LONGEST:
        cut = stripped.rfind(" ", 0, _LONGEST) + 1 or _LONGEST
        pieces.append(_Line(stripped[:cut], start))
        stripped, start = stripped[cut:], start + cut
    return [*pieces, _Line(stripped, start)]
