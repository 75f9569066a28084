"""Walks a syntax tree of bash and finds every command in it, however deep. What it does not know, it refuses."""

import re
from collections.abc import Callable, Iterable
from typing import Protocol

from tree_sitter import Node

from midwatch.safety.shell.assignments import holds_secret, only_prints, sets_environment_safely, sets_variable_safely
from midwatch.safety.shell.conditions import check_condition, computes
from midwatch.safety.shell.heredocs import check_heredoc
from midwatch.safety.shell.lexemes import WordReader, is_plain
from midwatch.safety.shell.redirects import judge_redirect
from midwatch.safety.shell.refusal import Beyond
from midwatch.safety.shell.verdict import Category, Finding, Intent, Phase, read_finding
from midwatch.safety.shell.words import UNKNOWN_WORDS, Word


class Judge(Protocol):
    """Is told of everything that is found."""

    def note(self, finding: Finding) -> None: ...

    def run(self, words: list[Word], *, start: int, end: int) -> None:
        """A command with its arguments, at bytes `start` to `end` of the source."""
        ...

    def define(self, name: str) -> None:
        """A function whose body was walked."""
        ...


_BLANK = re.compile(rb"(?:[ \t\n]|\\\n)*")
_BLANK_IN_LINE = re.compile(rb"(?:[ \t]|\\\n)*")
_BEFORE_COMMENT = frozenset(b" \t\n;&|()")
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_./:@%+=][A-Za-z0-9_./:@%+=-]*")
_ENDS = frozenset({";", "&", "\n"})

_TOKENS: dict[str, frozenset[str]] = {
    "program": _ENDS | {";;"},
    "list": _ENDS | {"&&", "||"},
    "pipeline": frozenset({"|", "|&"}),
    "subshell": _ENDS | {"(", ")"},
    "compound_statement": _ENDS | {"{", "}"},
    "do_group": _ENDS | {"do", "done"},
    "if_statement": _ENDS | {"if", "then", "fi"},
    "elif_clause": _ENDS | {"elif", "then"},
    "else_clause": _ENDS | {"else"},
    "negated_command": frozenset({"!"}),
    "command_substitution": _ENDS | {"$(", ")"},
    "process_substitution": _ENDS | {"<(", ")"},
    "variable_assignments": frozenset[str](),
}


class Walk:
    __slots__ = ("bash", "extra", "judge", "plain", "reader", "source")

    def __init__(self, source: bytes, judge: Judge, *, bash: bool = True) -> None:
        self.source = source
        self.judge = judge
        self.bash = bash
        self.reader = WordReader(source, self.visit, self._is_plain, bash)
        self.plain: dict[str, tuple[int, int]] = {}
        """Variables that hold one harmless word, and between which bytes they do."""
        self.extra: list[Word] = []
        """Words that the tree hangs under a redirection although they belong to the command before it."""

    def visit(self, node: Node) -> None:
        handler = _HANDLERS.get(node.type)
        if handler is None:
            raise Beyond("parse:unknown-construct", node.type)
        handler(self, node)

    def _is_plain(self, name: str, place: int) -> bool:
        start, end = self.plain.get(name, (0, 0))
        if not end and holds_secret(name):
            self._show_variables(name)
        return start <= place < end

    def visit_all(self, node: Node) -> None:
        """A construct that only holds others. One part that is refused does not hide the risk of the rest."""
        kind, at, source = node.type, node.start_byte, self.source
        if kind == "subshell" and computes(source, at):
            raise Beyond("expansion:arithmetic", self._text(node))
        tokens, children = _TOKENS[kind], node.children
        extra, self.extra = self.extra, []
        if extra and not (kind in _TAKES_WORDS and children[-1].type in _TAKES_WORDS):
            raise Beyond("redirect:words-behind")
        apart = True
        for child in children:
            start = child.start_byte
            if start != at and source[at:start] != b" ":
                self._check_gap(at, start, _BLANK)
            if child.is_named:
                if not apart and b"\n" not in source[at:start] and child.type not in _NEED_NO_END:
                    raise Beyond("parse:gap", self._text(node))
                apart = kind == "variable_assignments"
                if extra and child == children[-1]:
                    self.extra = extra
                self.visit_part(child)
            elif child.type not in tokens:
                raise Beyond("parse:unknown-construct", child.type)
            else:
                apart = True
            at = child.end_byte
        if at != node.end_byte:
            self._check_gap(at, node.end_byte, _BLANK)

    def visit_part(self, node: Node) -> None:
        """Whatever is beyond us in it is noted."""
        try:
            self.visit(node)
        except Beyond as beyond:
            self.judge.note(beyond.finding)

    def _check_gap(self, start: int, end: int, blank: re.Pattern[bytes]) -> None:
        """Between nodes stand only blanks; anything else is something the tree does not show."""
        if start != end and (start > end or not blank.fullmatch(self.source, start, end)):
            raise Beyond("parse:gap", self.source[start:end].decode(errors="replace"))

    def _text(self, node: Node) -> str:
        return self.reader.text_of(node)

    def visit_command(self, node: Node) -> None:
        words: list[Word] = []
        extra, self.extra = self.extra, []
        environment: list[Node] = []
        at, source = node.start_byte, self.source
        for child in node.children:
            kind, start, end = child.type, child.start_byte, child.end_byte
            if start != at and source[at:start] != b" ":
                self._check_gap(at, start, _BLANK_IN_LINE)
            at = end
            if kind == "word" and is_plain(raw := source[start:end]):
                words.append(Word(raw.decode(), False, False, start, end))  # noqa: FBT003 -- the hottest line of all
            elif kind == "command_name":
                words.extend(self._read_argument(child.children[0]))
            elif kind == "variable_assignment":
                environment.append(child)
            elif kind == "file_redirect":
                self.visit_lone_redirect(child)
            elif kind == "herestring_redirect":
                self._herestring(child)
            else:
                words.extend(self._read_argument(child))
        if environment:
            self._export(environment, words)
        self.judge.run([*words, *extra], start=node.start_byte, end=node.end_byte)

    def _export(self, environment: list[Node], words: list[Word]) -> None:
        """What is set for one command. `read` may have its separators, which nothing else will see."""
        splits_lines = bool(words) and words[0].text == "read"
        for node in environment:
            if splits_lines and self._text(node).startswith("IFS="):
                continue
            try:
                self._assign(node, exported=True)
            except Beyond as beyond:
                self.judge.note(beyond.finding)

    def _read_argument(self, node: Node) -> list[Word]:
        try:
            return self.reader.read(node)
        except Beyond as beyond:
            self.judge.note(beyond.finding)
            return [UNKNOWN_WORDS]

    def visit_redirected(self, node: Node) -> None:
        children = node.children
        bodies = [child for child in children if child.type not in _REDIRECTS]
        at = node.start_byte
        extra = list(self.extra)
        self.extra = []
        for child in children:
            self._check_gap(at, child.start_byte, _BLANK)
            at = child.end_byte
            if child.type == "file_redirect":
                extra.extend(self._redirect(child))
            elif child.type == "herestring_redirect":
                self._herestring(child)
            elif child.type == "heredoc_redirect":
                check_heredoc(self.reader, child, visit=self.visit)
        if len(bodies) > 1 or (extra and not (bodies and bodies[0].type in _TAKES_WORDS)):
            raise Beyond("redirect:words-behind", self._text(node))
        self.extra = extra
        for body in bodies:
            self.visit(body)

    def _redirect(self, node: Node) -> list[Word]:
        """Notes what it does and gives back words that only look like a part of it."""
        operator, destinations = "", list[Word]()
        for child in node.children:
            if child.type == "file_descriptor":
                continue
            if child.is_named or child.type == "$":
                destinations.extend(self.reader.read(child))
            else:
                operator += child.type
        if operator in {">&-", "<&-"}:
            self.judge.note(judge_redirect(operator, None))
            return destinations
        self.judge.note(judge_redirect(operator, destinations[0] if destinations else None))
        return destinations[1:]

    def visit_lone_redirect(self, node: Node) -> None:
        if self._redirect(node):
            raise Beyond("redirect:words-behind", self._text(node))

    def _herestring(self, node: Node) -> None:
        for child in node.children:
            if child.type not in {"<<<", "file_descriptor"}:
                self.reader.read(child)

    def visit_assignment(self, node: Node) -> None:
        self._assign(node, exported=False)

    def _assign(self, node: Node, *, exported: bool) -> None:
        children = node.children
        name = self._text(children[0])
        if children[0].type != "variable_name" or children[1].type not in {"=", "+="}:
            raise Beyond("assignment:subscript", self._text(node))
        value = self._read_value(children[2:])
        known = None if value is None or not value.known else value.text
        safe = sets_environment_safely(name, known) if exported else sets_variable_safely(name)
        if not safe:
            raise Beyond("assignment:changes-what-runs", name)
        if not exported and known is not None and _PLAIN_VALUE.fullmatch(known) and _is_sure(node):
            self._hold_plain(name, node.end_byte, len(self.source))
        self.judge.note(read_finding("assignment:own-variable", part=name))

    def _read_value(self, children: list[Node]) -> Word | None:
        """The value, "" when there is none, None when it is a list."""
        if not children:
            return Word("")
        if children[0].type == "array":
            for child in children[0].children:
                if child.type not in {"(", ")"}:
                    self.reader.read(child)
            return None
        return self.reader.read_one(children[0])

    def visit_declare(self, node: Node) -> None:
        children = node.children
        keyword = children[0].type
        if only_prints([self._text(child) for child in children[1:]]):
            self._show_variables(keyword)
            return
        for child in children[1:]:
            if child.type == "variable_assignment":
                self._assign(child, exported=keyword == "export")
            elif child.type in {"variable_name", "word"} and self._is_declarable(keyword, self._text(child)):
                self.judge.note(read_finding("assignment:own-variable", part=self._text(child)))
            else:
                raise Beyond("assignment:declaration", self._text(node))

    def _show_variables(self, part: str) -> None:
        self.judge.note(read_finding("read:variables", part=part)._replace(sensitive=("an environment",)))

    def _is_declarable(self, keyword: str, word: str) -> bool:
        if word.startswith("-"):
            return keyword != "export" and word in {"-a", "-A", "-r", "-l", "-u"}
        return _IDENTIFIER.fullmatch(word) is not None and keyword != "export" and sets_variable_safely(word)

    def visit_unset(self, node: Node) -> None:
        for child in node.children[1:]:
            name = self._text(child)
            if not _IDENTIFIER.fullmatch(name) or name.isupper() or not sets_variable_safely(name):
                raise Beyond("assignment:unset", self._text(node))
        self.judge.note(read_finding("assignment:own-variable", part="unset"))

    def visit_for(self, node: Node) -> None:
        name, values = "", list[Word]()
        for child in node.children:
            kind = child.type
            if kind == "variable_name":
                name = self._text(child)
            elif kind in {"do_group", "compound_statement"}:
                self._loop_over(name, values, child)
            elif kind == "select":
                raise Beyond("parse:select")
            elif child.is_named or kind == "$":
                values.extend(self.reader.read(child))
            elif kind not in {"for", "in", ";", "\n"}:
                raise Beyond("parse:unknown-construct", kind)

    def _loop_over(self, name: str, values: Iterable[Word], body: Node) -> None:
        if not sets_variable_safely(name):
            raise Beyond("assignment:changes-what-runs", name)
        values = list(values)
        if values and all(value.known and _PLAIN_VALUE.fullmatch(value.text) for value in values):
            self._hold_plain(name, body.start_byte, body.end_byte)
        self.visit(body)

    def _hold_plain(self, name: str, start: int, end: int) -> None:
        """Only for a variable that is named once: whatever else could set it would name it too."""
        if len(re.findall(rb"(?<![A-Za-z0-9_$])(?<!\$\{)" + name.encode() + rb"(?![A-Za-z0-9_])", self.source)) == 1:
            self.plain[name] = (start, end)

    def visit_while(self, node: Node) -> None:
        for child in node.children:
            if child.is_named:
                self.visit(child)
            elif child.type not in {"while", "until", ";", "&"}:
                raise Beyond("parse:unknown-construct", child.type)
        condition = node.child_by_field_name("condition")
        if condition is None or not _READ_LOOP.match(self.source, condition.start_byte):
            self.judge.note(Finding(Intent.CERTAIN, "loop:open", Phase.READ, part="while", endless=Category.STREAM))

    def visit_case(self, node: Node) -> None:
        for child in node.children:
            if child.type == "case_item":
                self.visit_case_item(child)
            elif child.is_named:
                self.reader.read(child)
            elif child.type not in {"case", "in", "esac", ";", "\n"}:
                raise Beyond("parse:unknown-construct", child.type)

    def visit_case_item(self, node: Node) -> None:
        pattern = True
        for child in node.children:
            if child.type == ")":
                pattern = False
            elif child.is_named and pattern:
                self._check_pattern(child)
            elif child.is_named:
                self.visit(child)
            elif child.type not in {"(", "|", ";;", ";&", ";;&", ";", "&", "\n"}:
                raise Beyond("parse:unknown-construct", child.type)

    def _check_pattern(self, node: Node) -> None:
        if node.type not in {"extglob_pattern", "word", "number"}:
            self.reader.read(node)
        elif not _PATTERN.fullmatch(self._text(node)):
            raise Beyond("parse:odd-pattern", self._text(node))

    def visit_function(self, node: Node) -> None:
        name, body = "", None
        for child in node.children:
            if child.type == "word" and not name:
                name = self._text(child)
            elif child.is_named and body is None:
                body = child
            elif child.is_named or child.type not in {"function", "(", ")"}:
                raise Beyond("parse:unknown-construct", child.type)
        if body is None or body.type not in {"compound_statement", "subshell"} or not _IDENTIFIER.fullmatch(name):
            raise Beyond("parse:unknown-construct", "function")
        self.visit(body)
        self.judge.define(name)

    def visit_compound(self, node: Node) -> None:
        if node.children[0].type == "((":
            raise Beyond("expansion:arithmetic", self._text(node))
        self.visit_all(node)

    def visit_test(self, node: Node) -> None:
        check_condition(self.reader, node)
        self.judge.note(read_finding("read:test", part=node.children[0].type))

    def visit_comment(self, node: Node) -> None:
        if node.start_byte and self.source[node.start_byte - 1] not in _BEFORE_COMMENT:
            raise Beyond("parse:odd-comment")
        if b"\n" in self.source[node.start_byte : node.end_byte]:
            raise Beyond("parse:odd-comment")


def _is_sure(node: Node) -> bool:
    """It is reached on every path, in this very shell."""
    parent = node.parent
    while parent is not None and parent.type in {"variable_assignments", "list"} and parent.children[0] == node:
        node, parent = parent, parent.parent
    behind = node.next_sibling
    return parent is not None and parent.type == "program" and (behind is None or behind.type != "&")


_NEED_NO_END = frozenset({"comment", "elif_clause", "else_clause"})
_TAKES_WORDS = frozenset({"command", "pipeline", "list", "redirected_statement"})
"""Words behind a redirection belong to these: to the last command of a pipe or list."""
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_READ_LOOP = re.compile(rb"(?:IFS=(?:''|\"\")?[ \t]+)?read\b")
_PATTERN = re.compile(r"[^$`\"'(){};&<>\\]*")

_HANDLERS: dict[str, Callable[[Walk, Node], None]] = {
    **dict.fromkeys(_TOKENS, Walk.visit_all),
    "command": Walk.visit_command,
    "compound_statement": Walk.visit_compound,
    "redirected_statement": Walk.visit_redirected,
    "file_redirect": Walk.visit_lone_redirect,
    "variable_assignment": Walk.visit_assignment,
    "declaration_command": Walk.visit_declare,
    "unset_command": Walk.visit_unset,
    "for_statement": Walk.visit_for,
    "while_statement": Walk.visit_while,
    "case_statement": Walk.visit_case,
    "function_definition": Walk.visit_function,
    "test_command": Walk.visit_test,
    "comment": Walk.visit_comment,
}
