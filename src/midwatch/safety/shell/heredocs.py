"""Here-documents: what bash expands in them, and where they really end."""

import re
from collections.abc import Callable

from tree_sitter import Node

from midwatch.safety.shell.lexemes import WordReader
from midwatch.safety.shell.refusal import Beyond

_DELIMITER = re.compile(r"(['\"]?)([A-Za-z0-9_]+)\1")
_PARTS = {"<<", "<<-", "heredoc_start", "heredoc_body", "heredoc_end", "pipeline", "|", "|&", "file_descriptor", "\n"}
_TEXT = re.compile(r"(?:[^\\`$]|\\.|\$(?![A-Za-z_0-9{(@*#?$!\[-]))*", re.DOTALL)


def check_heredoc(reader: WordReader, node: Node, *, visit: Callable[[Node], None]) -> None:
    """Raises Beyond unless its end is where the tree says and its expansions are ones we know."""
    parts = {child.type: child for child in node.children}
    if odd := parts.keys() - _PARTS:
        raise Beyond("heredoc:unusual", " ".join(sorted(odd)))
    start, body, end = parts.get("heredoc_start"), parts.get("heredoc_body"), parts.get("heredoc_end")
    if start is None or end is None or len(parts) != node.child_count:
        raise Beyond("heredoc:unusual", reader.text_of(node))
    tabs = "<<-" in parts
    first = reader.source.find(b"\n", start.end_byte) + 1
    quoted = _check_end(reader, (start, body, end), first=first, tabs=tabs)
    if body is not None and not quoted:
        _check_body(reader, body, first=first, last=end.start_byte)
    if "pipeline" in parts:
        visit(parts["pipeline"])


def _check_end(reader: WordReader, parts: tuple[Node, Node | None, Node], *, first: int, tabs: bool) -> bool:
    """Whether the delimiter is quoted, after making sure that no earlier line ends the document."""
    start, body, end = parts
    delimiter = _DELIMITER.fullmatch(reader.text_of(start))
    behind = reader.source[end.end_byte : end.end_byte + 1]
    if delimiter is None or reader.text_of(end).strip("\t\n") != delimiter[2] or behind not in {b"", b"\n"}:
        raise Beyond("heredoc:unusual", reader.text_of(start))
    lines = reader.source[first : end.start_byte].decode().split("\n")
    if body is not None and body.start_byte < first:
        raise Beyond("heredoc:unusual", reader.text_of(start))
    for line in lines[:-1]:
        if (line.lstrip("\t") if tabs else line) == delimiter[2]:
            raise Beyond("heredoc:unusual", line)
    if lines[-1].strip("\t" if tabs else ""):
        raise Beyond("heredoc:unusual", lines[-1])
    return bool(delimiter[1])


def _check_body(reader: WordReader, body: Node, *, first: int, last: int) -> None:
    at = first
    for child in body.children:
        if child.type in {"heredoc_content", "$"}:
            continue
        _check_text(reader.source[at : child.start_byte].decode())
        reader.pieces(child)
        at = child.end_byte
    _check_text(reader.source[at:last].decode())


def _check_text(text: str) -> None:
    if not _TEXT.fullmatch(text):
        raise Beyond("expansion:backtick" if "`" in text else "heredoc:unusual", text)
