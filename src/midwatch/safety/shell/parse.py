"""From text to a syntax tree of bash, as tree-sitter sees it."""

from functools import cache

import tree_sitter_bash
from tree_sitter import Language, Node, Parser


def parse(source: bytes) -> Node:
    return _parser().parse(source).root_node


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_bash.language()))
