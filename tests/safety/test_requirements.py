"""The manifest, the tests and the documentation name the same requirements."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.safety.requirements import REQUIREMENTS, requirement

ROOT = Path(__file__).parents[2]
ID = re.compile(r"`([a-z]+:[a-z:-]+)`")


def used_ids() -> Iterator[str]:
    for path in (ROOT / "tests").rglob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                yield from ids_of(node)


def ids_of(test: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for decorator in test.decorator_list:
        match decorator:
            case ast.Call(func=ast.Name(id="requirement"), args=arguments):
                yield from (str(ast.literal_eval(argument)) for argument in arguments)
            case _:
                pass


@requirement("manifest:both-ways")
def test_every_requirement_has_a_test_and_every_test_a_known_requirement() -> None:
    assert set(used_ids()) == set(REQUIREMENTS)


@requirement("manifest:both-ways")
def test_every_requirement_stands_once_in_the_documentation() -> None:
    documented = Counter(ID.findall((ROOT / "docs" / "safety.md").read_text(encoding="utf-8")))
    assert documented == Counter(REQUIREMENTS.keys())
