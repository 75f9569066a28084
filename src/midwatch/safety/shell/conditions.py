"""Tests in brackets: they look, except where a value is evaluated as arithmetic or names an array element."""

import re
from collections.abc import Set as AbstractSet

from tree_sitter import Node

from midwatch.safety.shell.lexemes import WordReader
from midwatch.safety.shell.refusal import Beyond
from midwatch.safety.shell.verdict import Risk

_NUMERIC = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_EVALUATED = frozenset({"-v", "-R"})
_INTEGER = re.compile(r"-?[0-9]{1,18}|\$[?#$]|\"\$[?#$]\"")
_EXPRESSIONS = frozenset({"binary_expression", "unary_expression", "parenthesized_expression"})
_BRACKETS = frozenset({"[", "]", "[[", "]]"})
_SIGNS = frozenset({"!", "(", ")", "=", "==", "!=", "=~", "&&", "||", "-a", "-o"})
_BLANKS = {True: re.compile(rb"(?:[ \t\n]|\\\n)*"), False: re.compile(rb"(?:[ \t]|\\\n)*")}
"""A newline ends `[` like any command; `[[` goes on."""
_PATTERN = re.compile(r"[^$`\"';&<>\\]*|(?:[^$`\"';&<>\\]|\\.)*")

computes = re.compile(rb"\((?:\\\n)*\(").match
"""Whether bash computes here, also where the tree sees a subshell in a subshell. The value of a name is code to it."""


def check_condition(reader: WordReader, node: Node) -> None:
    """Raises Beyond unless the test only looks."""
    opening, closing = node.children[0].type, node.children[-1].type
    if (opening, closing) not in {("[", "]"), ("[[", "]]")}:
        raise Beyond("expansion:arithmetic", reader.text_of(node))
    _Condition(reader, double=opening == "[[").check_inside(node, _BRACKETS)


class _Condition:
    def __init__(self, reader: WordReader, *, double: bool) -> None:
        self.reader = reader
        self.double = double

    def check_inside(self, node: Node, skipped: AbstractSet[str] = frozenset()) -> None:
        blank = _BLANKS[self.double]
        at = node.start_byte
        for child in node.children:
            if not blank.fullmatch(self.reader.source, at, child.start_byte):
                raise Beyond("parse:gap", self.reader.text_of(node))
            at = child.end_byte
            if child.type not in skipped:
                self._check(child)

    def _check(self, node: Node) -> None:
        kind = node.type
        if kind in _EXPRESSIONS:
            self._check_numbers(node)
            self.check_inside(node)
        elif kind == "test_operator":
            if self.reader.text_of(node) in _EVALUATED:
                raise Beyond("test:evaluates", self.reader.text_of(node))
        elif kind in {"<", ">"}:
            if not self.double:
                raise Beyond("redirect:write", kind, Risk.HIGH)
        elif kind in {"extglob_pattern", "regex"}:
            if not _PATTERN.fullmatch(self.reader.text_of(node)):
                raise Beyond("parse:odd-pattern", self.reader.text_of(node))
        elif kind not in _SIGNS:
            self._check_word(node)

    def _check_word(self, node: Node) -> None:
        if not node.is_named and node.type != "$":
            raise Beyond("parse:unknown-construct", node.type)
        for word in self.reader.read(node):
            if word.text in _EVALUATED or (word.splits and not self.double):
                raise Beyond("test:evaluates", self.reader.text_of(node))

    def _check_numbers(self, node: Node) -> None:
        """`[[` evaluates both sides of a comparison of numbers; `[` only reads them."""
        children = node.children
        if self.double and any(self.reader.text_of(child) in _NUMERIC for child in children):
            for child in (children[0], children[-1]):
                if not _INTEGER.fullmatch(self.reader.text_of(child)):
                    raise Beyond("test:evaluates", self.reader.text_of(node))
