"""Thoughts, actions and final answers, read out of plain text. A small machine that goes line by line.

Text goes in as it comes, and what is certain comes out at once: thoughts and the final answer are shown while the
model still writes. What it wants done is known only at the end.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import final

_MARKER = re.compile(
    r"^[ \t>#*_`-]*(thought|action input|action|final answer|observation)[ \t]*[*_`]*[ \t]*:[ \t]*[*_`]*[ \t]?",
    re.IGNORECASE,
)


class Section(Enum):
    THOUGHT = "thought"
    ACTION = "action"
    INPUT = "action input"
    ANSWER = "final answer"
    OBSERVATION = "observation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    section: Section
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the text comes to: a call, an answer, or neither."""

    action: str | None = None
    action_input: str = ""
    answer: str | None = None


@final
@dataclass(slots=True)
class ReactParser:
    _line: str = ""
    _section: Section = Section.THOUGHT
    _parts: dict[Section, list[str]] = field(default_factory=lambda: {section: [] for section in Section})
    _over: bool = False
    """An observation was written: that is for us to say, and nothing behind it counts."""
    _kept: list[str] = field(default_factory=list[str])

    def feed(self, text: str) -> Iterator[Said]:
        lines = (self._line + text).split("\n")
        self._line = lines.pop()
        for line in lines:
            yield from self._read(line + "\n")

    def finish(self) -> Iterator[Said]:
        line, self._line = self._line, ""
        if line:
            yield from self._read(line)

    @property
    def wish(self) -> Wish:
        answer = self._text(Section.ANSWER)
        action = self._text(Section.ACTION).strip("`*\"' ")
        if action:
            return Wish(action=action, action_input=strip_fence(self._text(Section.INPUT)))
        return Wish(answer=answer or None)

    @property
    def text(self) -> str:
        """All that counts, as it was written."""
        return "".join(self._kept).strip()

    def _read(self, line: str) -> Iterator[Said]:
        # Inside the final answer everything is the answer, headings that look like ours included.
        found = None if self._section is Section.ANSWER else _MARKER.match(line)
        if found is not None:
            self._enter(Section(found[1].lower()))
        if self._over:
            return
        self._kept.append(line)
        text = line if found is None else line[found.end() :]
        self._parts[self._section].append(text)
        if self._section in {Section.THOUGHT, Section.ANSWER} and text.strip():
            yield Said(section=self._section, text=text)

    def _enter(self, section: Section) -> None:
        """One action at a time: with the first, the rest is talk about things that have not happened."""
        has_acted = bool(self._text(Section.ACTION))
        if section is Section.OBSERVATION or (has_acted and section in {Section.ACTION, Section.ANSWER}):
            self._over = True
        self._section = section

    def _text(self, section: Section) -> str:
        return "".join(self._parts[section]).strip()


def strip_fence(text: str) -> str:
    """Models like to put JSON between backquotes."""
    lines = text.strip().splitlines()
    if lines and lines[0].startswith("```"):
        lines = lines[1:]
        end = next((place for place, line in enumerate(lines) if line.startswith("```")), len(lines))
        lines = lines[:end]
    return "\n".join(lines).strip().strip("`")
