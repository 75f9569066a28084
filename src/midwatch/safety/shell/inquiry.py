"""Follows a command through its tree and everything that it runs in turn, and collects what the rules say."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from midwatch.safety.shell.parse import parse
from midwatch.safety.shell.plain import read_plain
from midwatch.safety.shell.programs.arguments import Refused
from midwatch.safety.shell.programs.destinations import is_metadata
from midwatch.safety.shell.programs.judge import judge, refuse
from midwatch.safety.shell.programs.model import Judgement, Nested, Program
from midwatch.safety.shell.programs.registry import find_program
from midwatch.safety.shell.refusal import Beyond
from midwatch.safety.shell.secrets import find_secret, normalize
from midwatch.safety.shell.source import guard_text
from midwatch.safety.shell.verdict import Finding, Intent, Phase, Risk, read_finding, write_finding
from midwatch.safety.shell.walk import Walk
from midwatch.safety.shell.words import UNKNOWN_WORDS, Word, names, show

DEEPEST = 8
"""Commands inside commands inside commands; nobody reads further."""

FOLDERS = frozenset({"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/snap/bin"})
_NEVER: dict[str, str] = {
    **dict.fromkeys(names("sudo doas su pkexec runuser sg newgrp gosu su-exec setpriv capsh run0"), "guard:privilege"),
    **dict.fromkeys(names("eval source . coproc trap"), "guard:evaluates"),
    "tee": "guard:tee",
}
"""Whatever their arguments are."""
_RESERVED = names("if then elif else fi for while until do done case esac in function select { } [[ ]] !")


@dataclass(frozen=True, slots=True)
class Endless:
    """A call that never ends, and where it stands in the source."""

    judgement: Judgement
    words: tuple[Word, ...]
    start: int
    end: int


@dataclass(slots=True)
class Inquiry:
    findings: list[Finding]
    endless: list[Endless]
    functions: set[str]
    depth: int = 0
    timed: bool = False
    conditional: bool = False
    targets: tuple[str, ...] = ()
    folder: str = ""
    """Where `cd` went, if that is known: relative paths start there."""

    @classmethod
    def open(cls) -> Self:
        return cls([], [], set())

    def inquire(self, command: str, *, bash: bool = True) -> None:
        refused = guard_text(command)
        if refused is not None:
            self.note(refused)
            return
        plain = read_plain(command)
        if plain is not None:
            for words in plain:
                self.run(words, start=words[0].start, end=words[-1].end)
            return
        self._inquire_tree(command.encode(), bash=bash)

    def _inquire_tree(self, source: bytes, *, bash: bool) -> None:
        root = parse(source)
        if root.has_error:
            self.note(write_finding("parse:error", phase=Phase.GUARD))
            return
        try:
            Walk(source, self, bash=bash).visit(root)
        except Beyond as beyond:
            self.note(beyond.finding)

    def note(self, finding: Finding) -> None:
        if finding.endless and self.timed:
            finding = finding._replace(endless=None)
        if self.conditional and finding.intent is Intent.CERTAIN:
            finding = finding._replace(intent=Intent.CONDITIONAL, phase=Phase.INSPECT)
        if self.targets:
            finding = finding._replace(targets=self.targets)
        if finding.egress and any(map(is_metadata, finding.egress)):
            finding = finding._replace(sensitive=(*finding.sensitive, "instance metadata"))
        self.findings.append(finding)

    def define(self, name: str) -> None:
        if name in _NEVER or find_program(name) is not None:
            raise Beyond("function:shadows", name)
        self.functions.add(name)

    def run(self, words: list[Word], *, start: int, end: int) -> None:
        judgement = self._judge(words[0] if words else Word(""), tuple(words[1:]))
        finding = judgement.finding
        if self.folder and not judgement.names_only and not judgement.nested:
            finding = finding._replace(sensitive=finding.sensitive + self._find_in_folder(words[1:]))
        self.note(finding)
        if finding.rule == "read:cd":
            self.folder = normalize(words[-1].text, folder=self.folder) if words[-1].known else ""
        if judgement.finding.endless and not self.timed and end and self.depth == 0:
            self.endless.append(Endless(judgement, tuple(words), start, end))
        for nested in judgement.nested:
            self._run_nested(nested)

    def _judge(self, first: Word, arguments: tuple[Word, ...]) -> Judgement:
        if not first.known or not first.text:
            return _refuse("expansion:command", first.text, Phase.GUARD)
        folder, slash, name = first.text.rpartition("/")
        if slash and folder not in FOLDERS:
            return _refuse("program:unusual-place", first.text, Phase.UNKNOWN)
        if name in _NEVER:
            return Judgement(write_finding(_NEVER[name], phase=Phase.GUARD, risk=Risk.HIGH, part=name))
        if name in self.functions:
            return Judgement(read_finding("read:own-function", part=name))
        return _judge_program(name, arguments)

    def _find_in_folder(self, words: list[Word]) -> tuple[str, ...]:
        relative = (word.text for word in words if not word.text.startswith(("-", "/", "~")))
        return tuple(secret for text in relative if (secret := find_secret(text, folder=self.folder)))

    def _run_nested(self, nested: Nested) -> None:
        if self.depth >= DEEPEST:
            self.note(write_finding("guard:too-deep", phase=Phase.GUARD))
            return
        with self._inside(nested):
            if not nested.text:
                words = [*nested.words, UNKNOWN_WORDS] if nested.more else list(nested.words)
                self.run(words, start=0, end=0)
            elif all(word.known for word in nested.words):
                self.inquire(" ".join(word.text for word in nested.words), bash=nested.bash)
            else:
                text = show(" ".join(word.text for word in nested.words))
                self.note(write_finding("expansion:code", phase=Phase.GUARD, part=text))

    @contextmanager
    def _inside(self, nested: Nested) -> Generator[None]:
        before = (self.timed, self.conditional, self.targets, self.functions, self.folder)
        self.depth += 1
        self.timed = self.timed or nested.timed
        self.conditional = self.conditional or nested.conditional
        self.targets += nested.targets
        self.folder = "" if nested.targets else self.folder
        self.functions = set()
        try:
            yield
        finally:
            self.depth -= 1
            self.timed, self.conditional, self.targets, self.functions, self.folder = before


def _judge_program(name: str, arguments: tuple[Word, ...]) -> Judgement:
    model = find_program(name)
    if model is None:
        reserved = name in _RESERVED
        return _refuse("parse:reserved-word" if reserved else "program:unknown", name, Phase.UNKNOWN)
    if isinstance(model, Program):
        return judge(name, model, arguments)
    try:
        return model(name, arguments)
    except Refused as refused:
        return Judgement(refuse(refused))


def _refuse(rule: str, part: str, phase: Phase) -> Judgement:
    return Judgement(write_finding(rule, phase=phase, part=show(part)))
