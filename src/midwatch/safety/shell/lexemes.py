"""Reads words from the nodes of a syntax tree: pieces, quotes, expansions. Commands inside them are handed on."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from tree_sitter import Node

from midwatch.safety.shell.quoting import (
    expand_braces,
    remove_from_ansi,
    remove_from_bare,
    remove_from_quoted,
    remove_from_raw,
)
from midwatch.safety.shell.refusal import Beyond
from midwatch.safety.shell.words import HOLE, STUB, UNKNOWN_WORDS, Word, names

is_plain = re.compile(rb"[A-Za-z0-9_./:=@%+-]+").fullmatch
"""Whether raw text is a word as it stands."""
_VALUES = {"HOME": "~", "PWD": STUB}
_COUNTS = frozenset({"?", "$", "#", "!"})
"""Special variables that are always a number."""
_LITERAL_DOLLAR = re.compile(rb"\$(?=[\s)|;&/.,:%^~+\]=]|\Z)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")


@dataclass(slots=True)
class Piece:
    """A part of a word: text with unquoted braces marked."""

    text: str
    splits: bool = False
    glob: bool = False
    always: bool = False
    """Becomes several words even between double quotes: `$@`."""


@dataclass(slots=True)
class WordReader:
    source: bytes
    visit: Callable[[Node], None]
    """Takes every substitution that is met."""
    holds_plain: Callable[[str, int], bool]
    """Whether a variable, used at a place, holds one word that does not begin with a dash."""
    braces: bool = True

    def text_of(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode()

    def read(self, node: Node) -> list[Word]:
        """The words that a node becomes; more than one when braces are expanded."""
        start, end = node.start_byte, node.end_byte
        if node.type in {"word", "number"}:
            raw = self.source[start:end]
            if is_plain(raw):
                return [Word(raw.decode(), start=start, end=end)]
        if self.source[start : start + 1] == b"#":
            raise Beyond("parse:comment-as-word")
        return _join(self.pieces(node), start, end, braces=self.braces)

    def read_one(self, node: Node) -> Word:
        """A word where brace expansion has no place or would be an error."""
        words = self.read(node)
        return words[0] if len(words) == 1 else Word(HOLE, splits=True, start=node.start_byte, end=node.end_byte)

    def pieces(self, node: Node) -> list[Piece]:
        method = _READERS.get(node.type)
        if method is None:
            raise Beyond("parse:unknown-construct", node.type)
        return method(self, node)

    def read_bare(self, node: Node) -> list[Piece]:
        if node.child_count:
            raise Beyond("parse:unknown-construct", self.text_of(node))
        text, glob = remove_from_bare(self.text_of(node))
        return [Piece(text, glob=glob)]

    def read_raw(self, node: Node) -> list[Piece]:
        return [Piece(remove_from_raw(self.text_of(node)))]

    def read_ansi(self, node: Node) -> list[Piece]:
        if not self.braces:
            raise Beyond("parse:not-in-this-shell", self.text_of(node))
        return [Piece(remove_from_ansi(self.text_of(node)))]

    def read_dollar(self, node: Node) -> list[Piece]:
        if not _LITERAL_DOLLAR.match(self.source, node.start_byte):
            raise Beyond("parse:odd-dollar", self.text_of(node))
        return [Piece("$")]

    def read_string(self, node: Node) -> list[Piece]:
        """Whatever is not an expansion is text, also where the tree has no node for it."""
        children = node.children
        whole = self.source[node.start_byte : node.end_byte]
        if len(children) < 2 or whole[:1] != b'"' or whole[-1:] != b'"':  # noqa: PLR2004 -- two quotes
            raise Beyond("parse:odd-string", self.text_of(node))
        found: list[Piece] = []
        at = children[0].end_byte
        for child in children[1:-1]:
            if child.type in {"string_content", "$"}:
                continue
            found.append(Piece(remove_from_quoted(self.source[at : child.start_byte].decode())))
            found.extend(Piece(piece.text, splits=piece.always) for piece in self.pieces(child))
            at = child.end_byte
        found.append(Piece(remove_from_quoted(self.source[at : children[-1].start_byte].decode())))
        return found

    def read_concatenation(self, node: Node) -> list[Piece]:
        found: list[Piece] = []
        at = node.start_byte
        for child in node.children:
            if child.start_byte != at:
                raise Beyond("parse:gap", self.text_of(node))
            found.extend(self.pieces(child))
            at = child.end_byte
        if at != node.end_byte:
            raise Beyond("parse:gap", self.text_of(node))
        return found

    def read_variable(self, node: Node) -> list[Piece]:
        """`$x`."""
        return [self._value_of(self.text_of(node)[1:], node.start_byte)]

    def _value_of(self, name: str, place: int) -> Piece:
        if not _NAME.fullmatch(name):
            raise Beyond("parse:odd-variable", name)
        if name in _VALUES:
            return Piece(_VALUES[name])
        if name in _COUNTS or self.holds_plain(name, place):
            return Piece(STUB)
        return Piece(HOLE, splits=True, always=name == "@")

    def read_expansion(self, node: Node) -> list[Piece]:
        """`${...}`; only forms that neither assign, nor evaluate, nor look a name up by a value."""
        children, whole = node.children, self.text_of(node)
        if "`" in whole or children[0].type != "${" or children[-1].type != "}":
            raise Beyond("expansion:unusual", whole)
        inner = children[1:-1]
        if len(inner) == 1 and inner[0].type in {"variable_name", "special_variable_name"}:
            return [self._value_of(self.text_of(inner[0]), node.start_byte)]
        if any(child.type == ":" for child in inner) and not _SUBSTRING.fullmatch(whole):
            raise Beyond("expansion:arithmetic", whole)
        at = children[0].end_byte
        for child in (*inner, children[-1]):
            if not _HARMLESS_INSIDE.fullmatch(self.source[at : child.start_byte].decode()):
                raise Beyond("expansion:unusual", whole)
            at = child.end_byte
        for child in inner:
            self._check_inside_expansion(child)
        return [Piece(HOLE, splits=True, always="@" in whole)]

    def _check_inside_expansion(self, child: Node) -> None:
        kind = child.type
        if kind in _EXPANSION_SIGNS or kind in {"variable_name", "special_variable_name"}:
            return
        if kind == "subscript":
            self._check_subscript(child)
        elif kind in {"word", "number", "regex", "string_content"}:
            if not _HARMLESS_INSIDE.fullmatch(self.text_of(child)):
                raise Beyond("expansion:unusual", self.text_of(child))
        elif kind in {"string", "raw_string", "simple_expansion", "expansion", "command_substitution", "concatenation"}:
            self.pieces(child)
        else:
            raise Beyond("expansion:unusual", self.text_of(child))

    def _check_subscript(self, node: Node) -> None:
        if not _SUBSCRIPT.fullmatch(self.text_of(node)):
            raise Beyond("expansion:subscript", self.text_of(node))

    def read_substitution(self, node: Node) -> list[Piece]:
        if self.source[node.start_byte : node.start_byte + 2] != b"$(":
            raise Beyond("expansion:backtick", self.text_of(node))
        self.visit(node)
        return [Piece(HOLE, splits=True)]

    def read_process(self, node: Node) -> list[Piece]:
        if self.source[node.start_byte : node.start_byte + 2] != b"<(":
            raise Beyond("expansion:process-output", self.text_of(node))
        self.visit(node)
        return [Piece("/dev/fd/" + STUB)]

    def read_arithmetic(self, node: Node) -> list[Piece]:
        """Only over numbers: the value of a variable is evaluated again and may hold a command."""
        if not _NUMBERS_ONLY.fullmatch(self.text_of(node)):
            raise Beyond("expansion:arithmetic", self.text_of(node))
        return [Piece(STUB)]

    def read_range(self, node: Node) -> list[Piece]:
        text, _ = remove_from_bare(self.text_of(node))
        return [Piece(text)]


_EXPANSION_SIGNS = names("# ## % %% / // /# /% : :- - :+ + ^ ^^ , ,, *")
_HARMLESS_INSIDE = re.compile(r"[^$`(){}<>|;&\"'\\]*")
_SUBSCRIPT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\[(?:[0-9]+|@|\*)\]")
_SUBSTRING = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*: ?-?[0-9]+(?::-?[0-9]+)?\}")
_NUMBERS_ONLY = re.compile(r"\$\(\(([0-9\s+*/%<>=!&|^~?:()-]|\$[?#$!])*\)\)")

_READERS: dict[str, Callable[[WordReader, Node], list[Piece]]] = {
    "word": WordReader.read_bare,
    "number": WordReader.read_bare,
    "extglob_pattern": WordReader.read_bare,
    "regex": WordReader.read_bare,
    "test_operator": WordReader.read_bare,
    "==": WordReader.read_bare,
    "=~": WordReader.read_bare,
    "!=": WordReader.read_bare,
    "=": WordReader.read_bare,
    "raw_string": WordReader.read_raw,
    "ansi_c_string": WordReader.read_ansi,
    "$": WordReader.read_dollar,
    "string": WordReader.read_string,
    "concatenation": WordReader.read_concatenation,
    "simple_expansion": WordReader.read_variable,
    "expansion": WordReader.read_expansion,
    "command_substitution": WordReader.read_substitution,
    "process_substitution": WordReader.read_process,
    "arithmetic_expansion": WordReader.read_arithmetic,
    "brace_expression": WordReader.read_range,
}


def _join(pieces: list[Piece], start: int, end: int, *, braces: bool) -> list[Word]:
    text = "".join(piece.text for piece in pieces)
    splits = any(piece.splits for piece in pieces)
    glob = any(piece.glob for piece in pieces)
    expanded = expand_braces(text)
    if expanded is None or (len(expanded) > 1 and not braces):
        return [Word(HOLE, splits=True, start=start, end=end)]
    if len(expanded) > 1:
        # Of an empty choice nothing is left, unless it was quoted.
        return [Word(part, splits, glob) if part else UNKNOWN_WORDS for part in expanded]
    return [Word(expanded[0], splits, glob, start, end)]
