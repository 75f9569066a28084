"""Tools are chosen by what they offer, not by who offers them."""

from typing import Any

import pytest

from midwatch.llm.demo.needs import Need
from midwatch.llm.demo.toolbox import Chosen, Toolbox, fill_arguments
from tests.unit.llm.demo.desk import Desk, define, host_tools
from tests.unit.llm.demo.findings import QUIET, disk

TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def choose(need: Need, *tools: Any, **wanted: Any) -> Chosen | None:
    return Toolbox(tools).choose(need, wanted)


def name_of(chosen: Chosen | None) -> str | None:
    return chosen.name if chosen else None


@pytest.mark.parametrize("server", ["midwatch-host", "this-machine", "x"])
def test_the_server_may_bear_any_name(server: str) -> None:
    chosen = choose(Need.PROCESSES, *host_tools(server=server), sort="memory", limit=10)
    assert chosen == Chosen(name=f"{server}.processes", arguments={"sort": "memory", "limit": 10})


def test_the_very_name_wins_over_one_like_it_and_that_over_a_description() -> None:
    exact, alias = define("disks"), define("df")
    described = define("space", description="How full the file systems are.")
    assert name_of(choose(Need.DISKS, described, alias, exact)) == "midwatch-host.disks"
    assert name_of(choose(Need.DISKS, described, alias)) == "midwatch-host.df"
    assert name_of(choose(Need.DISKS, described)) == "midwatch-host.space"


def test_the_first_of_equals_is_taken() -> None:
    assert name_of(choose(Need.DISKS, define("disks", server="a"), define("disks", server="b"))) == "a.disks"


@pytest.mark.parametrize(
    "tool",
    [
        define("weather", description="Tells the weather."),
        define("kill_processes", description="Ends processes."),
        define("processes", reads=False),
        define("nodes", description="Lists the processes of a Kubernetes node."),
        define("process", description="Shows processes."),
        define("listing", description="Shows files. Does not show processes."),
        define("processes", required=["cluster"], properties={"cluster": TEXT}),
    ],
)
def test_a_tool_that_does_not_suit_is_not_chosen(tool: Any) -> None:
    assert choose(Need.PROCESSES, tool) is None


def test_where_the_best_cannot_be_filled_the_next_is_taken() -> None:
    strange = define("disks", server="a", required=["tenant"], properties={"tenant": TEXT})
    assert name_of(choose(Need.DISKS, strange, define("df", server="b"))) == "b.df"


def test_what_is_essential_must_find_a_place() -> None:
    assert choose(Need.PROCESS, define("process"), pid=7) is None
    assert choose(Need.LARGEST, define("largest", properties={"path": TEXT}, required=["path"])) is None
    other = define("du", properties={"directory": TEXT}, required=["directory"])
    assert choose(Need.LARGEST, other, path="/data") == Chosen(
        name="midwatch-host.du", arguments={"directory": "/data"}
    )


@pytest.mark.parametrize(
    ("prop", "value", "expected"),
    [
        ({"type": "string", "enum": ["cpu", "memory"]}, "memory", {"sort": "memory"}),
        ({"enum": ["CPU_PERCENT", "MEM"]}, "memory", {"sort": "MEM"}),
        ({"enum": ["name", "pid"]}, "cpu", {}),
        ({"const": "cpu"}, "cpu", {"sort": "cpu"}),
        ({"$ref": "#/$defs/Sort"}, "cpu", {"sort": "cpu"}),
        ({"anyOf": [{"type": "null"}, {"type": "string"}]}, "cpu", {"sort": "cpu"}),
        ({"type": ["string", "null"]}, "cpu", {"sort": "cpu"}),
        ({"type": "integer"}, "cpu", {}),
        ({"type": "array", "items": {"type": "string"}}, "cpu", {}),
        ({}, "cpu", {"sort": "cpu"}),
        ({"$ref": "#/$defs/Loop"}, "cpu", {}),
        ("nonsense", "cpu", {"sort": "cpu"}),
    ],
)
def test_a_value_is_given_only_where_it_fits(prop: Any, value: str, expected: dict[str, Any]) -> None:
    schema = {
        "properties": {"sort": prop},
        "$defs": {"Sort": {"enum": ["cpu", "memory"]}, "Loop": {"$ref": "#/$defs/Loop"}},
    }
    assert fill_arguments(schema, {"sort": value}, essential=frozenset()) == expected


@pytest.mark.parametrize(
    ("name", "prop", "value", "expected"),
    [
        ("limit", {"type": "integer", "maximum": 5}, 10, {"limit": 5}),
        ("limit", {"type": "integer", "minimum": 20.5}, 10, {"limit": 21}),
        ("limit", {"type": "integer", "maximum": float("inf")}, 10, {"limit": 10}),
        ("port", {"type": "integer", "maximum": 1000}, 8080, {}),
        ("port", {"type": "string"}, 8080, {"port": "8080"}),
        ("all", {"type": "boolean"}, True, {"all": True}),
        ("all", {"type": "string"}, True, {}),
    ],
)
def test_how_much_is_asked_for_may_be_bent_but_not_what(
    name: str, prop: dict[str, Any], value: object, expected: dict[str, Any]
) -> None:
    assert fill_arguments({"properties": {name: prop}}, {name: value}, essential=frozenset()) == expected


@pytest.mark.parametrize(
    "schema", [{}, {"properties": None}, {"properties": [1], "required": "path"}, {"required": None}]
)
def test_a_schema_that_is_none_takes_no_arguments(schema: dict[str, Any]) -> None:
    assert fill_arguments(schema, {"limit": 1}, essential=frozenset()) == {}


async def test_an_investigation_goes_on_with_tools_of_another_name() -> None:
    tools = (
        define("df", server="box"),
        define("biggest_files", server="box", properties={"directory": TEXT, "count": NUMBER}, required=["directory"]),
    )
    desk = Desk("Disk /data is full", {"df": QUIET["disks"] | {"disks": [disk("/data", 99.0)]}}, tools=tools)
    text = await desk.investigate()
    assert desk.rounds == [["df"], ["biggest_files directory=/data"]]
    assert "- `box.df`: `/data` is 99.0 % full" in text
