"""Which files decide what a command does: what it runs, applies, copies or is fed with.

A person who approves a command approves it with these as they are. Whatever only loses, moves or gets its content by
the command is none of them.
"""

import shlex
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import Final, Protocol

from tree_sitter import Node

from midwatch.safety.shell.contents.carriers import find_loaded, list_carried, looks_like_path
from midwatch.safety.shell.contents.wrappers import Inner, is_wrapper, list_buried, unwrap
from midwatch.safety.shell.inquiry import DEEPEST, FOLDERS, Inquiry
from midwatch.safety.shell.lexemes import WordReader
from midwatch.safety.shell.parse import parse
from midwatch.safety.shell.programs.arguments import Refused, choose_operands, read_arguments
from midwatch.safety.shell.programs.model import Meaning, Program
from midwatch.safety.shell.programs.registry import find_program
from midwatch.safety.shell.refusal import Beyond
from midwatch.safety.shell.source import guard_text
from midwatch.safety.shell.verdict import Finding
from midwatch.safety.shell.walk import Walk
from midwatch.safety.shell.words import HOLE, UNKNOWN_WORDS, Word, show

_NOT_FOLLOWED: Final = ("parse:", "expansion:", "heredoc:", "redirect:words-behind", "test:")
_MOST_CALLS: Final = 200
_MOST_BURIED: Final = 8
_LONGEST_PART: Final = 120
_FETCHING: Final = ("http://", "https://", "ftp://")
_NO_FILES: Final = ("-", "/dev/", *_FETCHING)
_FED: Final = frozenset({"xargs", "parallel"})
"""They run something, and are told by a file on what."""
_STREAMS: Final = (
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/urandom",
    "/dev/random",
    "/dev/stdin",
    "/dev/fd/",
    "/proc/",
)
"""Nobody has written these."""
_FEEDABLE: Final = ("command", "redirected_statement")
_OUTPUT: Final = frozenset({">", ">>", ">|", "&>", "&>>"})
_NOWHERE: Final = (b"/dev/null", b"/dev/stdout", b"/dev/stderr")
_MOVING: Final = frozenset({"cd", "pushd", "popd"})

Reach = Callable[[str], str]
"""A command that does there what the given one does here."""


@dataclass(frozen=True, slots=True)
class Content:
    path: str
    digesting: str | None
    """A command that prints its SHA-256 where it lies. None when it cannot be told where that is, or which it is."""


@dataclass(frozen=True, slots=True)
class Contents:
    files: tuple[Content, ...] = ()
    unclear: str | None = None
    """A part that cannot be followed, so that there may be more."""


def find_contents(command: str) -> Contents:
    search = _Search()
    search.follow(command, _Place(_here, 0, is_moving=False))
    return Contents(tuple(search.found), search.unclear)


def _here(command: str) -> str:
    return command


@dataclass(frozen=True, slots=True)
class _Call:
    words: tuple[Word, ...]
    start: int
    end: int
    writes: bool


@dataclass(slots=True)
class _Calls:
    """Hears of every command in a text."""

    found: list[_Call] = field(default_factory=list[_Call])
    unclear: str | None = None

    def note(self, finding: Finding) -> None:
        if finding.writes and finding.rule.startswith(_NOT_FOLLOWED):
            self.unclear = self.unclear or show(finding.part) or finding.rule

    def run(self, words: list[Word], *, start: int, end: int) -> None:
        inquiry = Inquiry.open()
        inquiry.run(words, start=0, end=0)
        writes = any(finding.writes for finding in inquiry.findings)
        self.found.append(_Call(tuple(words), start, end, writes))

    def define(self, name: str) -> None:
        """Its body has been walked."""

    @property
    def has_blanks(self) -> bool:
        """A change is told only by the shell what it is made to: by a variable that something was read into."""
        return any(call.writes and any(word.splits or HOLE in word.text for word in call.words) for call in self.found)

    def within(self, node: Node) -> Iterator[_Call]:
        return (call for call in self.found if node.start_byte <= call.start and call.end <= node.end_byte)


@dataclass(slots=True)
class _Search:
    found: dict[Content, None] = field(default_factory=dict[Content, None])
    unclear: str | None = None

    def follow(self, text: str, place: "_Place") -> None:
        walked = self._walk(text)
        if walked is None:
            return
        calls, root, reader = walked
        beneath = replace(place, is_moving=place.is_moving or any(map(_moves, calls.found)))
        for call in calls.found:
            if call.writes:
                self._take_call(call.words, beneath)
        for node in _descend(root):
            for fed in _list_feeding(node, calls):
                self._take_read(fed.words, beneath)
            if node.type == "file_redirect" and _is_input(node, calls):
                self._add(_read_last(node, reader), beneath)
            elif node.type == "variable_assignment" and (loaded := find_loaded(reader.text_of(node))):
                self._add([Word(loaded.strip("\"'"))], beneath)

    def _walk(self, text: str) -> tuple[_Calls, Node, WordReader] | None:
        source = text.encode()
        root = None if guard_text(text) else parse(source)
        if root is None or root.has_error:
            self._give_up(text)
            return None
        calls = _Calls()
        walk = Walk(source, calls)
        walk.visit_part(root)
        if calls.unclear is not None:
            self._give_up(calls.unclear)
        if len(calls.found) > _MOST_CALLS:
            self._give_up(f"it has more than {_MOST_CALLS} commands, and the rest of it")
            return None
        return calls, root, walk.reader

    def _give_up(self, part: str) -> None:
        self.unclear = self.unclear or textwrap.shorten(part, _LONGEST_PART, placeholder=" …")

    def _take_call(self, words: tuple[Word, ...], place: "_Place") -> None:
        folder, slash, name = words[0].text.rpartition("/")
        if not words[0].known or (slash and folder not in FOLDERS):
            self._add(words[:1], place)
            return
        inner = unwrap(name, words)
        self._add((Word(loaded) for word in words[1:] if (loaded := find_loaded(word.text))), place)
        buried = () if inner else tuple(islice(list_buried(name, words), _MOST_BURIED + 1))
        if len(buried) > _MOST_BURIED:
            self._give_up(show(" ".join(word.text for word in words)))
        for each in (*inner, *buried):
            self._enter(each, place, take=self._take_call, follow=self.follow)
        if not inner or name in _FED:
            is_opaque = not inner and is_wrapper(name)
            is_known = find_program(name) is not None and not is_opaque
            where = place.leave() if is_opaque else place
            self._add(list_carried(name, words[1:], is_known=is_known), where)

    def _enter(self, inner: Inner, place: "_Place", *, take: "_Take", follow: "_Follow") -> None:
        beneath = place.enter(inner)
        if beneath.depth > DEEPEST:
            self._give_up(show(" ".join(word.text for word in inner.words)))
        elif inner.is_text:
            self._take_text(inner, partial(follow, place=beneath))
        elif inner.words:
            take(inner.words, beneath)

    def _take_text(self, inner: Inner, take: Callable[[str], None]) -> None:
        text = " ".join(word.text for word in inner.words)
        if all(word.known for word in inner.words):
            take(text)
        else:
            self._give_up(show(text))

    def _take_read(self, words: tuple[Word, ...], place: "_Place") -> None:
        """What a command that only reads takes its output from, as far as that is files or an address."""
        name = words[0].text.rpartition("/")[2]
        inner = unwrap(name, words)
        for each in inner:
            self._enter(each, place, take=self._take_read, follow=self._take_all_read)
        if not inner:
            self._add((word for word in words[1:] if word.text.startswith(_FETCHING)), place)
            self._add(_list_paths(name, words[1:]), place)

    def _take_all_read(self, text: str, place: "_Place") -> None:
        walked = self._walk(text)
        for call in walked[0].found if walked else ():
            self._take_read(call.words, place)

    def _add(self, words: Iterable[Word], place: "_Place") -> None:
        for word in words:
            if word.text not in ("", "-") and not word.text.startswith(_STREAMS):
                self.found[Content(show(word.text), place.find_digesting(word))] = None


_Take = Callable[[tuple[Word, ...], "_Place"], None]


class _Follow(Protocol):
    def __call__(self, text: str, place: "_Place") -> None: ...


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a command runs."""

    reach: Reach | None
    depth: int
    is_moving: bool
    """It may be another folder than at the beginning."""

    def leave(self) -> "_Place":
        """For somewhere that cannot be told."""
        return _Place(None, self.depth + 1, self.is_moving)

    def enter(self, inner: Inner) -> "_Place":
        outer, prefix = self.reach, inner.prefix
        if outer is None or prefix is None:
            return self.leave()
        if not prefix:
            return _Place(outer, self.depth + 1, self.is_moving)
        lead = shlex.join(word.text for word in prefix)
        quote = shlex.quote if inner.is_text else _here
        return _Place(lambda command: outer(f"{lead} {quote(command)}"), self.depth + 1, is_moving=False)

    def find_digesting(self, word: Word) -> str | None:
        path = word.text
        is_relative = self.is_moving and not path.startswith(("/", "~"))
        if self.reach is None or not word.known or is_relative or path.startswith(_NO_FILES):
            return None
        home, rest = ("~/", path[2:]) if path.startswith("~/") else ("", path)
        return self.reach(f"sha256sum -- {home}{shlex.quote(rest)}")


def _moves(call: _Call) -> bool:
    return call.words[0].text in _MOVING


def _descend(root: Node) -> Iterator[Node]:
    nodes = [root]
    while nodes:
        node = nodes.pop()
        yield node
        nodes.extend(node.children)


def _list_feeding(node: Node, calls: _Calls) -> Iterator[_Call]:
    """Commands whose output is kept, or taken by one that changes something."""
    inside = list(calls.within(node))
    match node.type:
        case "pipeline":
            last = max((call.start for call in inside if call.writes), default=0)
            yield from (call for call in inside if call.end <= last)
        case "command" if any(call.writes and call.start == node.start_byte for call in inside):
            yield from (call for call in inside if call.start > node.start_byte)
        case "redirected_statement":
            keeps, writes = any(map(_keeps, node.children)), any(call.writes for call in inside)
            fed = [node] if keeps else node.children[1:] if writes else []
            yield from (call for part in fed for call in calls.within(part))
        case "command_substitution" | "process_substitution" if calls.has_blanks:
            yield from inside
        case _:
            pass


def _keeps(node: Node) -> bool:
    """Whether it puts output into a file."""
    operators = [child.type for child in node.children if not child.is_named]
    is_output = bool(_OUTPUT.intersection(operators)) and node.children[0].type != "file_descriptor"
    return is_output and (node.children[-1].text or b"") not in _NOWHERE


def _list_paths(name: str, words: tuple[Word, ...]) -> Iterator[Word]:
    model = find_program(name)
    if name == "find" or (isinstance(model, Program) and model.names_only):
        return
    try:
        reading = read_arguments(name, model, words) if isinstance(model, Program) else None
    except Refused:
        reading = None
    operands = None if reading is None else choose_operands(reading.model, reading.options)
    if reading is None or operands is None or not operands.meanings:
        yield from (word for word in words if looks_like_path(word.text))
    else:
        yield from (word for meaning, word in reading.values if meaning is Meaning.PATH)
        for position, word in enumerate(reading.operands):
            if operands.meaning_of(position) is Meaning.PATH:
                yield word


def _is_input(node: Node, calls: _Calls) -> bool:
    """Whether it is fed by `<` to a command that changes something."""
    outer = node.parent
    if outer is None or not any(child.type == "<" for child in node.children):
        return False
    return calls.has_blanks or (outer.type in _FEEDABLE and any(call.writes for call in calls.within(outer)))


def _read_last(node: Node, reader: WordReader) -> list[Word]:
    try:
        return [reader.read_one(node.children[-1])]
    except Beyond:
        return [UNKNOWN_WORDS]
