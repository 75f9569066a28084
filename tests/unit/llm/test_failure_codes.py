"""Every code with which a model call can fail, and every notice, stands in docs/models.md; and nothing else does."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.documents import list_failure_codes, list_notices

SOURCES = Path(__file__).parents[3] / "src/midwatch"
ROOMS = ("llm", "agent")
NOTICE = "NoticeChunk"


def list_trees() -> list[ast.Module]:
    files = [file for room in ROOMS for file in sorted((SOURCES / room).rglob("*.py"))]
    return [ast.parse(file.read_text(encoding="utf-8")) for file in files]


def list_texts(node: ast.AST) -> Iterator[str]:
    """Texts that could be codes, in whatever chooses between them."""
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.IfExp():
            yield from list_texts(node.body)
            yield from list_texts(node.orelse)
        case _:
            pass


def find_given(tree: ast.AST, *, notices: bool) -> Iterator[str]:
    """`code=` of whatever makes a notice, or of whatever else takes a code; the journal's own are another matter."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and (node.func.id == NOTICE) is notices:
            for keyword in node.keywords:
                if keyword.arg == "code":
                    yield from list_texts(keyword.value)


def find_chosen(tree: ast.AST) -> Iterator[str]:
    """Assigned to `code`, alone or beside others, or the first of a verdict."""
    for node in ast.walk(tree):
        match node:
            case ast.AnnAssign(annotation=ast.Name(id="Verdict"), value=ast.Tuple(elts=[first, *_])):
                yield from list_texts(first)
            case ast.Assign(targets=[ast.Name(id="code")], value=value):
                yield from list_texts(value)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for name, value in zip(names, values, strict=True):
                    if isinstance(name, ast.Name) and name.id == "code":
                        yield from list_texts(value)
            case _:
                pass


@pytest.fixture(scope="module")
def raised() -> set[str]:
    trees = list_trees()
    return {code for tree in trees for code in (*find_given(tree, notices=False), *find_chosen(tree))}


def test_every_code_that_is_raised_is_documented(raised: set[str]) -> None:
    # Some of each kind, so that a search that finds nothing does not pass.
    assert {"credentials", "max_retries", "circuit_open", "call_timeout", "partial_stream_error"} <= raised
    assert raised - list_failure_codes() == set()


def test_every_documented_code_is_raised(raised: set[str]) -> None:
    assert list_failure_codes() - raised == set()


def test_every_notice_is_documented() -> None:
    said = {code for tree in list_trees() for code in find_given(tree, notices=True)}
    assert "thinking_off" in said
    assert said - list_notices() == set()
