"""A reply cut into sentences, each with what its place in the page says of it: under which heading, in what list."""

import re
from collections.abc import Iterator
from typing import Final

from midwatch.safety.claims.headings import judge_head
from midwatch.safety.claims.lexicon import Lexicon
from midwatch.safety.claims.rows import Table
from midwatch.safety.claims.sentences import Mood, Sentence
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
_PLAIN_END: Final = re.compile(r"[.!?][.!?]*[\"')\]*_]*(?!\S)")
"""The same where all is ASCII, and faster."""
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


_Piece = tuple[str, int]
"""A text, and where it begins."""


def cut_sentences(text: str, *, lexicon: Lexicon) -> Iterator[Sentence]:
    """In order, without code blocks. Spans are those of `text`."""
    for sentence in _Page(lexicon).read(text):
        if ":" in sentence.text and not sentence.is_head:
            yield from _read_label(sentence, lexicon)
        else:
            yield sentence


def _read_label(sentence: Sentence, lexicon: Lexicon) -> Iterator[Sentence]:
    """`Expected outcome: …` and `Action taken: …` are headings of one line."""
    label = _LABEL.match(sentence.low)
    mood = Mood.PLAIN if label is None else judge_head(label.group(), lexicon)
    if label is None or mood is Mood.PLAIN:
        yield sentence
    elif mood is Mood.DONE:
        end = sentence.start + label.end()
        if lexicon.nothings.isdisjoint(lexicon.cut(sentence.low[label.end() :])[:1]):
            yield from sentence.cut(sentence.start, end)
        yield from (rest._replace(mood=mood, is_item=True) for rest in sentence.cut(end, sentence.end))
    else:
        yield sentence._replace(mood=mood)


class _Page:
    """Reads line by line and remembers under what it stands."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._low = ""
        self._section = Mood.PLAIN
        self._list: Mood | None = None
        self._paragraph: list[str] = []
        self._begin = 0
        self._table: Table | None = None
        self._found: list[Sentence] = []

    def read(self, text: str) -> list[Sentence]:
        self._low = fold(text)
        fence, at = "", 0
        for line in text.split("\n"):
            if not line:
                self._end_block()
                at += 1
                continue
            opening = _FENCE.match(line) if "```" in line or "~~~" in line else None
            if opening and (not fence or opening[1] == fence):
                self._flush()
                fence = "" if fence else opening[1]
            elif not fence:
                self._read_line(line, at)
            at += len(line) + 1
        self._flush()
        return self._found

    def _end_block(self) -> None:
        self._table = None
        self._flush()

    def _read_line(self, line: str, start: int) -> None:
        content = line.strip()
        bars = content.count("|")
        if bars > 1 or content[:1] == "|":
            self._flush()
            if not _RULE.fullmatch(content):
                self._read_row(line, start)
            return
        self._table = None
        if content[:1].isalpha():
            self._read_prose(line, start)
        elif not content or _RULE.fullmatch(content):
            self._flush()
        else:
            self._read_shaped(line, start)

    def _read_shaped(self, line: str, start: int) -> None:
        shape = _LINE.match(line)
        begin = shape.end() if shape else 0
        if shape is None or not begin or line[:begin].isspace():
            if _BOLD_HEAD.fullmatch(line):
                self._flush()
                self._read_head(line[begin:], start + begin)
            else:
                self._read_prose(line, start)
            return
        quote, hashes, _, box = shape.groups("")
        self._flush(is_before_list=not hashes)
        if hashes:
            self._read_head(line[begin:], start + begin)
        else:
            self._read_item(line[begin:], start + begin, box=box, is_quoted=bool(quote))

    def _read_head(self, body: str, at: int) -> None:
        self._section, self._list = judge_head(fold(body), self._lexicon), None
        low = self._low
        for text, start in _split(body, at):
            self._found.append(Sentence(text, low[start : start + len(text)], start, is_head=True))

    def _read_item(self, body: str, at: int, *, box: str, is_quoted: bool) -> None:
        mood = Mood.ADVICE if "[ ]" in box else self._list or self._section
        is_ticked = bool(box) and "[ ]" not in box
        low, is_first = self._low, True
        for text, start in _split(body, at):
            folded = low[start : start + len(text)]
            self._found.append(Sentence(text, folded, start, mood, is_first, is_ticked, is_quoted))
            is_first = False
        if not is_quoted:
            self._open_list(body, otherwise=mood)

    def _read_prose(self, line: str, start: int) -> None:
        if self._paragraph and not _goes_on(self._paragraph[-1], line):
            self._flush()
        if not self._paragraph:
            self._begin = start
            if not line[:1].isspace():
                self._list = None
        self._paragraph.append(line)

    def _flush(self, *, is_before_list: bool = False) -> None:
        if not self._paragraph:
            return
        body, self._paragraph = "\n".join(self._paragraph), []
        mood = Mood.PLAIN if self._section is Mood.DONE else self._section
        low = self._low
        for text, start in _split(body, self._begin):
            self._found.append(Sentence(text, low[start : start + len(text)], start, mood))
        self._open_list(body, otherwise=self._section, is_head=is_before_list)

    def _read_row(self, line: str, at: int) -> None:
        if self._table is None:
            self._table = Table(self._lexicon)
        low = self._low[at : at + len(line)]
        self._found += self._table.read_row(line, low, start=at, mood=self._list or self._section)

    def _open_list(self, text: str, *, otherwise: Mood, is_head: bool = False) -> None:
        """By the last sentence of what stands before a list; a short line without an end is a heading, too."""
        ending = text.rstrip(" *_\t")
        is_head = is_head and len(ending) <= _LONGEST_HEAD and not ending.endswith((".", "!", "?", ","))
        if is_head or ending.endswith(":"):
            judged = judge_head(fold(_LAST_SENTENCE.split(ending)[-1]), self._lexicon)
            self._list = otherwise if judged is Mood.PLAIN else judged


def _goes_on(before: str, line: str) -> bool:
    """Whether a line is the rest of the sentence before it, only wrapped."""
    first = line.lstrip()[:1]
    if first.islower():
        return True
    return len(before) >= _SOFT_WRAP and not before.rstrip().endswith((".", "!", "?", ":", ";"))


def _split(text: str, start: int) -> list[_Piece]:
    pieces: list[_Piece] = []
    begin = 0
    for found in (_PLAIN_END if text.isascii() else _END).finditer(text):
        at, end = found.span()
        if _ends_sentence(text, at, begin=begin, end=end):
            _add_piece(pieces, text[begin:end], start + begin)
            begin = end
    if begin < len(text):
        _add_piece(pieces, text[begin:], start + begin)
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


def _add_piece(pieces: list[_Piece], piece: str, start: int) -> None:
    stripped = piece.strip()
    if not stripped:
        return
    start += piece.index(stripped[0])
    while len(stripped) > _LONGEST:
        cut = stripped.rfind(" ", 0, _LONGEST) + 1 or _LONGEST
        pieces.append((stripped[:cut], start))
        stripped, start = stripped[cut:], start + cut
    pieces.append((stripped, start))
