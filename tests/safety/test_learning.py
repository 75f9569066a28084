"""What a session learns from what its looks bring back."""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from midwatch.domain.tools import Clearance, ClearedCall, ToolCall, ToolKind, ToolResult
from midwatch.kit.ids import new_id
from midwatch.safety.resources import Resource
from midwatch.safety.session import SessionSafety
from midwatch.tools.learning import Learning
from tests.fakes.toolset import FakeToolset, define_tool
from tests.logged import logged
from tests.safety.requirements import requirement

PATHS = {"ship": {"list*": "items[]", "find": "[thing]"}}
PUMP = {"kind": "container", "host": "server1", "uid": "c0ffee", "name": "web"}
PUMP_ID = "container:server1:c0ffee"


class Bench:
    def __init__(self, paths: Mapping[str, Mapping[str, str]] = PATHS) -> None:
        self.tools = FakeToolset(define_tool("ship.list"), log=[])
        self.safety = SessionSafety()
        self.learning = Learning(inner=self.tools, safety=self.safety, paths=paths)

    async def look(
        self,
        tool: str,
        answer: Any,
        *,
        kind: ToolKind = ToolKind.READ,
        target: str = "fleet:all",
        parent: str | None = None,
        error: str | None = None,
        whole: str | None = None,
    ) -> None:
        text = answer if isinstance(answer, str) else json.dumps(answer)
        self.tools.results[f"ship.{tool}"] = ToolResult(content=text, error=error, whole=whole)
        targets = (target,) if target else ()
        call = ToolCall(call_id=new_id(), provider_id="p", name=f"ship.{tool}", arguments='{"a":1}')
        clearance = Clearance(kind=kind, proven=True, rule="r", targets=targets, timeout=1, parent=parent)
        await self.learning.call(ClearedCall(call=call, tool=define_tool(call.name), arguments={}, clearance=clearance))

    @property
    def found(self) -> frozenset[str]:
        return self.safety.context.ids

    @property
    def meant(self) -> list[str]:
        return list(self.safety.context.meant)


@requirement("gate:learns")
async def test_what_a_look_lists_is_found_and_code_could_look_again() -> None:
    bench = Bench()
    await bench.look("list", {"items": [PUMP, "pump:db"]})
    assert bench.found == {PUMP_ID, "pump:db"}
    resource = bench.safety.context.find("web")
    assert isinstance(resource, Resource)
    assert resource.origin is not None
    assert (resource.origin.tool, resource.origin.arguments) == ("ship.list", '{"a":1}')


@requirement("gate:learns")
async def test_all_of_a_long_result_is_looked_through() -> None:
    bench = Bench()
    items = [f"pump:{number}" for number in range(400)]
    await bench.look("list", "cut", whole=json.dumps({"items": items, "rest": "x" * 100_000}))
    assert len(bench.found) == 400


class WatchedPaths(Mapping[str, str]):
    """Keeps which threads have looked."""

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def __getitem__(self, glob: str) -> str:
        return PATHS["ship"][glob]

    def __iter__(self) -> Iterator[str]:
        self.threads.add(threading.get_ident())
        return iter(PATHS["ship"])

    def __len__(self) -> int:
        return len(PATHS["ship"])


@requirement("gate:learns")
@pytest.mark.parametrize(("length", "is_apart"), [(100, False), (100_000, True)])
async def test_only_a_large_result_is_looked_through_in_a_thread_of_its_own(
    length: int,
    is_apart: bool,  # noqa: FBT001 - a parameter
) -> None:
    paths = WatchedPaths()
    bench = Bench({"ship": paths})
    async with asyncio.timeout(60):
        await bench.look("list", {"items": ["pump:db"], "rest": "x" * length})
    assert bench.found == {"pump:db"}
    assert (paths.threads != {threading.get_ident()}) is is_apart


@requirement("gate:learns")
async def test_how_much_of_a_result_could_not_be_read_is_logged_and_nothing_of_it() -> None:
    bench = Bench()
    with logged() as logs:
        await bench.look("list", {"items": [PUMP, {"x": 1}, {"y": 2}]})
        await bench.look("list", {"items": [PUMP]})
    assert logs == [
        {"event": "discoveries_left_out", "log_level": "debug", "server": "ship", "tool": "list", "count": 2}
    ]


@requirement("gate:learns")
@pytest.mark.parametrize("answer", ["not JSON", {"items": "odd"}, {"items": [{"x": 1}, None]}, {}, "[" * 10_000])
async def test_what_cannot_be_read_teaches_nothing_and_ends_nothing(answer: Any) -> None:
    bench = Bench()
    await bench.look("list", answer)
    assert bench.found <= {"resource:odd"}


@requirement("gate:learns")
async def test_failures_and_changes_teach_nothing() -> None:
    bench = Bench()
    await bench.look("list", {"items": [PUMP]}, error="TOOL_ERROR")
    await bench.look("list", {"items": [PUMP]}, kind=ToolKind.WRITE)
    await bench.look("get", {"items": [PUMP]}, target="pump:web")
    assert bench.found == frozenset()
    assert await bench.learning.list_tools() == bench.tools.tools


@requirement("gate:only-resolving-means")
async def test_one_thing_that_was_resolved_by_its_name_is_meant() -> None:
    bench = Bench()
    await bench.look("find", {"thing": PUMP}, kind=ToolKind.RESOLVE, target="pump:web")
    assert bench.meant == [PUMP_ID]


@requirement("gate:only-resolving-means")
@pytest.mark.parametrize(
    ("kind", "target", "things"),
    [
        (ToolKind.READ, "pump:web", [PUMP]),
        (ToolKind.RESOLVE, "mcp:ship", [PUMP]),
        (ToolKind.RESOLVE, "", [PUMP]),
        (ToolKind.RESOLVE, "pump:web", [PUMP, "pump:db"]),
    ],
)
async def test_what_is_read_or_listed_is_found_and_not_meant(kind: ToolKind, target: str, things: list[Any]) -> None:
    bench = Bench()
    await bench.look("list", {"items": things}, kind=kind, target=target)
    assert PUMP_ID in bench.found
    assert bench.meant == []


@requirement("gate:only-resolving-means")
async def test_a_tool_that_resolves_without_a_path_has_resolved_its_target() -> None:
    bench = Bench()
    await bench.look("get", "it is there", kind=ToolKind.RESOLVE, target="guest:pve1:141", parent="node:pve1")
    assert bench.meant == ["guest:pve1:141"]
    found = bench.safety.context.find("guest:pve1:141")
    assert isinstance(found, Resource)
    assert found.parent == "node:pve1"
    await bench.look("get", "it is there", kind=ToolKind.RESOLVE, target="mcp:ship")
    assert bench.found == {"guest:pve1:141"}
