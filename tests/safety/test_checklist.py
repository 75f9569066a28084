"""The checklist holds today, and would be missed if it did not."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from midwatch.domain.tools import ToolDefinition, ToolKind
from scripts.checklist import LINES, Shipped, check_test, compare_lines, compare_tools, find_problems, list_shipped
from tests.safety.checklist import CHECKLIST, Line
from tests.safety.own_tools import OWN_TOOLS, OwnTool
from tests.safety.requirements import REQUIREMENTS, requirement

SOURCE = Path(__file__).parents[2] / "src" / "midwatch"
ENTRY = OwnTool(kind=ToolKind.READ, target="mcp:deck", test="tests/unit/bundled/test_host_server.py")


@requirement("tools:declared")
def test_nothing_is_missing() -> None:
    assert find_problems() == []


@requirement("tools:declared")
def test_all_tools_of_ours_are_looked_at() -> None:
    assert {each.definition.full_name for each in list_shipped()} == set(OWN_TOOLS)


def ship(*, kind: ToolKind = ToolKind.READ, target: str | None = "mcp:deck", **properties: object) -> Shipped:
    schema = {"type": "object", "properties": properties}
    return Shipped(
        definition=ToolDefinition(server="deck", name="scrub", description="", schema=schema), kind=kind, target=target
    )


ACTIONS = {"type": "string", "enum": ["look", "scrub"]}


@requirement("tools:declared")
@pytest.mark.parametrize(
    ("shipped", "entry", "told"),
    [
        (ship(), None, "deck.scrub has no kind, target and test in tests/safety/own_tools.py"),
        (ship(kind=ToolKind.WRITE), ENTRY, "deck.scrub is declared as read, and the gate takes it for write"),
        (ship(target=None), ENTRY, "deck.scrub is declared to act on mcp:deck, and acts on None"),
        (
            ship(action=ACTIONS),
            ENTRY,
            "deck.scrub has actions without a kind, or kinds without an action: look, scrub",
        ),
        (
            ship(action=ACTIONS),
            replace(ENTRY, actions={"look": ToolKind.READ}),
            "deck.scrub has actions without a kind, or kinds without an action: scrub",
        ),
        (
            ship(action=ACTIONS),
            replace(ENTRY, actions={"look": ToolKind.READ, "scrub": ToolKind.WRITE}),
            "deck.scrub has an action that writes, and is no write itself",
        ),
        (
            ship(command={"type": "string"}),
            ENTRY,
            "deck.scrub is told what to do by an argument that does not list its choices",
        ),
        (None, ENTRY, "deck.scrub is declared and does not exist"),
    ],
)
def test_a_tool_or_an_action_that_is_not_declared_is_told(
    shipped: Shipped | None, entry: OwnTool | None, told: str
) -> None:
    declared = {} if entry is None else {"deck.scrub": entry}
    assert list(compare_tools([] if shipped is None else [shipped], declared)) == [told]


@requirement("tools:declared")
def test_a_tool_that_is_declared_as_it_is_passes() -> None:
    declared = {"deck.scrub": replace(ENTRY, actions={"look": ToolKind.READ, "scrub": ToolKind.READ})}
    assert list(compare_tools([ship(action=ACTIONS, type={"type": "string"})], declared)) == []


@requirement("tools:declared")
def test_a_tool_that_no_test_calls_is_told() -> None:
    assert list(check_test("deck.overview", ENTRY)) == []
    assert list(check_test("deck.scrub", ENTRY)) == [f"no test of {ENTRY.test} calls deck.scrub"]
    gone = replace(ENTRY, test="tests/unit/nowhere.py")
    assert list(check_test("deck.overview", gone)) == [
        "deck.overview is tested in tests/unit/nowhere.py, which does not exist"
    ]


def lines_of(text: str, **checklist: Line) -> list[str]:
    renamed = {name.replace("__", ":"): line for name, line in checklist.items()}
    return list(compare_lines(text, renamed, known=["a:b"]))


@pytest.mark.parametrize(
    ("text", "line", "told"),
    [
        ("`checklist:x`", Line(("a:b",)), []),
        ("`checklist:x`", Line(missing="later"), []),
        ("", Line(("a:b",)), ["checklist:x stands 0 times in AGENTS.md, and should once"]),
        ("`checklist:x` `checklist:x`", Line(("a:b",)), ["checklist:x stands 2 times in AGENTS.md, and should once"]),
        ("`checklist:x`", None, ["checklist:x has no entry in tests/safety/checklist.py"]),
        (
            "`checklist:x`",
            Line(),
            ["checklist:x needs requirements that prove it, or else the reason why there are none"],
        ),
        ("`checklist:x`", Line(("a:c",)), ["checklist:x is proven by a:c, which nobody knows"]),
    ],
)
def test_a_line_without_a_place_or_a_proof_is_told(text: str, line: Line | None, told: list[str]) -> None:
    assert lines_of(text, **({} if line is None else {"checklist__x": line})) == told


def test_the_lines_are_all_of_them() -> None:
    assert list(compare_lines(LINES.read_text(encoding="utf-8"), CHECKLIST, known=REQUIREMENTS)) == []
    assert len(CHECKLIST) == 10 + 8 + 5 + 6 + 5 + 3


def imported_by(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module=str() as module):
                yield module
            case ast.Import(names=names):
                yield from (name.name for name in names)
            case _:
                pass


@requirement("context:memory-only")
def test_nothing_that_writes_knows_what_a_session_has_found() -> None:
    rooms = ("store", "timeline", "api", "intake", "notify", "upkeep", "telemetry", "kit")
    writers = [path for room in rooms for path in (SOURCE / room).rglob("*.py")]
    knowing = {"midwatch.safety.context", "midwatch.safety.session"}
    assert writers
    assert [str(path) for path in writers if knowing.intersection(imported_by(path))] == []
