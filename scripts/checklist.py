"""The checklist of the safety layer, checked: its lines, what proves them, and every tool that comes with Midwatch.

Run as `python -m scripts.checklist`; `make check` does. Prints what is missing and exits 1.
"""

import ast
import asyncio
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from midwatch.bundled.host.server import build_server
from midwatch.config.builtins import build_host_servers
from midwatch.domain.results import RESULT_SERVER
from midwatch.domain.tools import ToolDefinition, ToolKind
from midwatch.safety.context import SERVER_PREFIX
from midwatch.safety.kinds import OperatorKinds, decide_kind
from midwatch.tools.results.definitions import RESULT_TOOLS
from tests.safety.checklist import CHECKLIST, Line
from tests.safety.own_tools import OWN_TOOLS, OwnTool
from tests.safety.requirements import REQUIREMENTS

ROOT = Path(__file__).parents[1]
LINES = ROOT / "src" / "midwatch" / "safety" / "AGENTS.md"
BUNDLED = ROOT / "src" / "midwatch" / "bundled"
_ID = re.compile(r"`(checklist:[a-z:-]+)`")
_HOST = "midwatch-host"
_KNOWN_SERVERS = {"host": _HOST}
"""Folders of `bundled` and the servers in them. A new one is listed here, and its tools below."""
_CHOICES = frozenset({"action", "operation", "verb", "mode", "command", "method", "do"})
"""Arguments by which a tool may be told to do different things."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """A tool as the product has it."""

    definition: ToolDefinition
    kind: ToolKind
    target: str | None


def find_problems() -> list[str]:
    shipped = list_shipped()
    return [
        *compare_lines(LINES.read_text(encoding="utf-8"), CHECKLIST, known=REQUIREMENTS),
        *_find_unlisted_servers(),
        *compare_tools(shipped, OWN_TOOLS),
        *(problem for name, tool in OWN_TOOLS.items() for problem in check_test(name, tool)),
    ]


def compare_lines(text: str, checklist: Mapping[str, Line], *, known: Collection[str]) -> Iterator[str]:
    written = Counter(_ID.findall(text))
    for name in sorted(written.keys() | checklist.keys()):
        if written[name] != 1:
            yield f"{name} stands {written[name]} times in {LINES.name}, and should once"
        line = checklist.get(name)
        if line is None:
            yield f"{name} has no entry in tests/safety/checklist.py"
            continue
        if bool(line.proven_by) == bool(line.missing):
            yield f"{name} needs requirements that prove it, or else the reason why there are none"
        yield from (
            f"{name} is proven by {proof}, which nobody knows" for proof in line.proven_by if proof not in known
        )


def compare_tools(shipped: Collection[Shipped], declared: Mapping[str, OwnTool]) -> Iterator[str]:
    found = {each.definition.full_name: each for each in shipped}
    for name in sorted(found.keys() | declared.keys()):
        tool, entry = found.get(name), declared.get(name)
        if entry is None:
            yield f"{name} has no kind, target and test in tests/safety/own_tools.py"
        elif tool is None:
            yield f"{name} is declared and does not exist"
        else:
            yield from _compare(name, tool, entry)


def _compare(name: str, tool: Shipped, entry: OwnTool) -> Iterator[str]:
    if tool.kind is not entry.kind:
        yield f"{name} is declared as {entry.kind}, and the gate takes it for {tool.kind}"
    if tool.target != entry.target:
        yield f"{name} is declared to act on {entry.target}, and acts on {tool.target}"
    actions = list_actions(tool.definition.schema)
    if actions is None:
        yield f"{name} is told what to do by an argument that does not list its choices"
    elif undeclared := actions.symmetric_difference(entry.actions):
        yield f"{name} has actions without a kind, or kinds without an action: {', '.join(sorted(undeclared))}"
    elif ToolKind.WRITE in entry.actions.values() and entry.kind is not ToolKind.WRITE:
        yield f"{name} has an action that writes, and is no write itself"


def list_actions(schema: Mapping[str, Any]) -> set[str] | None:
    """What its arguments may choose to do; None when they may choose anything."""
    chosen: set[str] = set()
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    for name, described in properties.items():
        if name not in _CHOICES:
            continue
        if "enum" not in described:
            return None
        chosen |= {str(value) for value in described["enum"]}
    return chosen


def check_test(name: str, tool: OwnTool) -> Iterator[str]:
    path = ROOT / tool.test
    if not path.is_file():
        yield f"{name} is tested in {tool.test}, which does not exist"
    elif name.partition(".")[2] not in _list_words_of_tests(path):
        yield f"no test of {tool.test} calls {name}"


def _list_words_of_tests(path: Path) -> set[str]:
    """Names, attributes and texts that stand in test functions and in what they are parametrised with."""
    tests = [
        node
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    ]
    return {word for test in tests for node in ast.walk(test) for word in _words_of(node)}


def _words_of(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Constant(value=str() as text):
            yield text
        case ast.Attribute(attr=name) | ast.Name(id=name):
            yield name
            yield name.lower()
        case _:
            pass


def _find_unlisted_servers() -> Iterator[str]:
    for folder in sorted(path.name for path in BUNDLED.iterdir() if (path / "__init__.py").is_file()):
        if folder not in _KNOWN_SERVERS:
            yield f"bundled/{folder} is a server that scripts/checklist.py does not look at"


def list_shipped() -> list[Shipped]:
    return [*_list_host_tools(), *_list_result_tools()]


def _list_host_tools() -> Iterator[Shipped]:
    kinds = build_host_servers()[_HOST].kinds
    assert kinds is not None  # noqa: S101 -- it vouches for each of them
    operator = OperatorKinds(read=kinds.read, write=kinds.write, resolve=kinds.resolve, default=kinds.default)
    for tool in asyncio.run(build_server().list_tools()):
        definition = ToolDefinition(
            server=_HOST, name=tool.name, description=tool.description or "", schema=tool.input_schema
        )
        kind = decide_kind(definition, kinds=operator, trust_annotations=False).kind
        yield Shipped(definition=definition, kind=kind, target=f"{SERVER_PREFIX}{_HOST}")


def _list_result_tools() -> Iterator[Shipped]:
    for definition in RESULT_TOOLS:
        assert definition.server == RESULT_SERVER  # noqa: S101 -- as their room has it
        yield Shipped(definition=definition, kind=ToolKind.READ, target=None)


def main() -> int:
    problems = find_problems()
    for problem in problems:
        print(problem)
    missing = Counter(line.missing for line in CHECKLIST.values() if line.missing)
    proven = sum(not line.missing for line in CHECKLIST.values())
    print(f"Safety checklist: {proven} lines proven, {len(OWN_TOOLS)} tools declared")
    for reason, lines in missing.items():
        print(f"  {lines} lines open: {reason}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
