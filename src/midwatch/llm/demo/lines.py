"""Lines of logs that speak of trouble, and what they hint at."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from midwatch.llm.demo.answers import ContainerLines, Journal, LogLines
from midwatch.llm.demo.clues import find_ports
from midwatch.llm.demo.observations import Facts
from midwatch.llm.demo.symptoms import Symptom
from midwatch.llm.demo.thresholds import LINES_SHOWN

_LONGEST = 2_000
_TROUBLE = re.compile(
    r"\b(?:error|err|fatal|panic|crit|critical|emerg|alert|fail|failed|failure|exception|traceback|cannot|could not"
    r"|unable|denied|refused|timed out|timeout|no space|out of memory|oom|killed|segfault|already in use|expired"
    r"|core dumped|corrupt\w*|unreachable|not found|no such)\b"
    r"|EADDRINUSE|ENOSPC|EMFILE|EACCES|[a-z]Error\b|Exception\b",
    re.IGNORECASE,
)
_WRONG_CONFIGURATION = "its configuration is wrong"
_HINTS: tuple[tuple[re.Pattern[str], str, Symptom | None], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), meaning, symptom)
    for pattern, meaning, symptom in (
        (r"address (?:is )?already in use|EADDRINUSE", "another process holds its port", Symptom.PORT),
        (r"no space left|ENOSPC|disk quota exceeded", "a disk is full", Symptom.DISK),
        (r"out of memory|cannot allocate memory|oom-kill|\boom\b", "memory ran out", Symptom.MEMORY),
        (r"too many open files|EMFILE", "it ran out of file handles", None),
        (r"read-only file system", "a file system is mounted read-only", Symptom.DISK),
        (r"permission denied|EACCES|operation not permitted", "it lacks a permission", None),
        (r"certificate.{0,40}expired", "a certificate has expired", None),
        (
            r"syntax error|parse error|(?:unknown|invalid) (?:configuration|directive|option)",
            _WRONG_CONFIGURATION,
            None,
        ),
        (r"bad configuration|configuration (?:file )?.{0,60}(?:failed|error|invalid)", _WRONG_CONFIGURATION, None),
        (r"authentication failed|access denied for user|invalid password", "its credentials are refused", None),
        (r"connection refused|could not connect|no route to host", "something it depends on does not answer", None),
        (r"segfault|SIGSEGV|core dumped|signal 11", "it crashed on a memory error", None),
        (r"no such file or directory|file not found", "a file is missing", None),
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    source: str
    """Full name of the tool."""
    origin: str
    """Unit, file or container it was written by; may be empty."""
    text: str

    @property
    def is_trouble(self) -> bool:
        return _TROUBLE.search(self.text[:_LONGEST]) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    line: Line
    meaning: str
    symptom: Symptom | None

    @property
    def ports(self) -> list[int]:
        return find_ports(self.line.text[:_LONGEST]) if self.symptom is Symptom.PORT else []


def list_lines(facts: Facts) -> Iterator[Line]:
    for journal in facts.of(Journal):
        for entry in journal.answer.entries:
            yield Line(source=journal.source, origin=entry.unit or "", text=entry.message)
    for log in facts.of(LogLines):
        yield from (Line(source=log.source, origin=log.answer.path, text=line) for line in log.answer.lines)
    for box in facts.of(ContainerLines):
        yield from (Line(source=box.source, origin=box.answer.name, text=line) for line in box.answer.lines)


def find_trouble(facts: Facts) -> list[Line]:
    """The last lines that speak of trouble, in the order they were written, each text once."""
    found = {line.text: line for line in list_lines(facts) if line.is_trouble}
    return list(found.values())[-LINES_SHOWN:]


def find_hints(facts: Facts) -> list[Hint]:
    """What the lines hint at, the most telling first, each meaning once."""
    lines = list(list_lines(facts))
    hints: dict[str, Hint] = {}
    for pattern, meaning, symptom in _HINTS:
        for line in reversed(lines):
            if pattern.search(line.text[:_LONGEST]):
                hints.setdefault(meaning, Hint(line=line, meaning=meaning, symptom=symptom))
    return list(hints.values())
