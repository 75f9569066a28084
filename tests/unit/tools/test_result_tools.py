"""The tools that open stored results: behind a process that can be killed, masked again, and only where they help."""

import asyncio
import json
import os
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import psutil
import pytest

from midwatch.domain.errors import StoreUnavailable
from midwatch.domain.results import name_result, read_name
from midwatch.domain.tools import ClearedCall, ToolResult
from midwatch.kit.ids import new_id
from midwatch.masking.mask import CustomRule, NoMask, compile_mask
from midwatch.store.results import StoredResult, pack
from midwatch.tools.portioned import Portion, Portioned, cut_result
from midwatch.tools.results.ask_child import ask_child
from midwatch.tools.results.definitions import RESULT_TOOLS
from midwatch.tools.results.opener import ResultTools
from midwatch.tools.schemas import find_mistakes
from tests.fakes.cleared_calls import cleared_read
from tests.fakes.toolset import FakeToolset, define_tool
from tests.safety.requirements import requirement
from tests.waiting import eventually

CALL = new_id()


class FakeShelf:
    """Results in memory."""

    def __init__(self, *results: StoredResult) -> None:
        self.results = {read_name(name_result(result.call_id)): result for result in results}
        self.offered = bool(results)
        self.is_down = False

    async def has_something(self) -> bool:
        return self.offered

    def offer(self) -> None:
        self.offered = True

    async def find(self, tail: str) -> StoredResult | None:
        if self.is_down:
            raise StoreUnavailable("gone")
        return self.results.get(tail)

    async def list_long(self) -> Sequence[tuple[UUID, str, int]]:
        return [(result.call_id, result.tool_name, result.characters) for result in self.results.values()]


def stored(content: str, *, characters: int | None = None) -> StoredResult:
    return StoredResult(
        call_id=CALL,
        tool_name="deck.report",
        error=None,
        shown=content,
        packed=None,
        characters=len(content) if characters is None else characters,
        finished_at=None,
    )


def opener(shelf: FakeShelf) -> ResultTools:
    hot = compile_mask(custom=[CustomRule(name="hot", pattern="hot-[0-9]+", replacement="[MASKED_HOT]")])
    return ResultTools(shelf=shelf, masks={"deck": hot}, default=NoMask())


def ask(tool: str, **arguments: Any) -> ClearedCall:
    return cleared_read(f"result.{tool}", {"result": name_result(CALL)} | arguments)


async def test_the_tools_are_there_once_there_is_something_to_open() -> None:
    shelf = FakeShelf()
    tools = opener(shelf)
    assert await tools.list_tools() == ()
    shelf.offer()
    assert [tool.full_name for tool in await tools.list_tools()] == ["result.search", "result.slice", "result.query"]


@pytest.mark.parametrize(
    ("tool", "arguments", "answer"),
    [
        ("slice", {"from_line": 2, "lines": 1}, "lines 2 to 2 of 3:\nb"),
        ("slice", {"from_character": 3, "characters": 1}, "characters 3 to 3 of 5 (go on with from_character=4):\nb"),
        ("search", {"text": "c", "context": 0}, "1 found in 3 lines; these are 1 to 1:\n3: c"),
    ],
)
async def test_an_answer_says_what_it_is_of(tool: str, arguments: dict[str, Any], answer: str) -> None:
    result = await opener(FakeShelf(stored("a\nb\nc"))).call(ask(tool, **arguments))
    assert result == ToolResult(content=f"[result {name_result(CALL)} of deck.report, 5 characters]\n{answer}")


@requirement("result:masked-again")
async def test_an_answer_is_masked_as_the_server_that_gave_it_is() -> None:
    result = await opener(FakeShelf(stored('{"pump": "hot", "number": "17"}'))).call(
        ask("query", expression="join('-', [pump, number])")
    )
    assert result.content.endswith('\n"[MASKED_HOT]"')


async def test_what_is_left_of_an_old_result_is_called_that() -> None:
    result = await opener(FakeShelf(stored("a\n[… 9 left out …]\nz", characters=90))).call(ask("slice"))
    assert "90 characters; it was kept whole for 7 days, and this is what is left of it]" in result.content


@pytest.mark.parametrize("name", ["rffffffff", "R-1", "", "r123", pytest.param(str(new_id()), id="an id")])
async def test_a_result_that_is_not_there_is_answered_with_those_that_are(name: str) -> None:
    result = await opener(FakeShelf(stored("abc"))).call(ask("slice", result=name))
    assert result.error == "TOOL_ERROR"
    assert f"{name_result(CALL)} (deck.report, 3 characters)" in result.content


async def test_a_name_is_taken_as_models_write_it() -> None:
    for written in (f" `{name_result(CALL)}` ", name_result(CALL).upper(), f"[{name_result(CALL)}]"):
        assert (await opener(FakeShelf(stored("abc"))).call(ask("slice", result=written))).error is None


async def test_a_store_that_is_away_is_an_error_of_this_call_alone() -> None:
    shelf = FakeShelf(stored("abc"))
    shelf.is_down = True
    assert (await opener(shelf).call(ask("slice"))).error == "TOOL_ERROR"


async def test_lines_and_characters_at_once_are_refused() -> None:
    result = await opener(FakeShelf(stored("abc"))).call(ask("slice", from_line=1, from_character=1))
    assert result.error == "TOOL_ERROR"


@pytest.mark.parametrize(
    ("tool", "arguments", "is_right"),
    [
        (0, {"text": "a", "context": 3}, True),
        (0, {"text": "a" * 501}, False),
        (0, {"text": "a", "limit": 0}, False),
        (1, {}, True),
        (1, {"from_line": -5, "lines": 1001}, False),
        (2, {"expression": "a"}, True),
        (2, {}, False),
        (2, {"expression": "a", "path": "/etc/passwd"}, False),
    ],
)
def test_arguments_are_checked_against_the_schemas(tool: int, arguments: dict[str, Any], *, is_right: bool) -> None:
    assert (find_mistakes(RESULT_TOOLS[tool].schema, {"result": "r1", **arguments}) == []) is is_right


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "midwatch.tools.results.child" in child.cmdline()]


TWICE = "[@,@]"
ENDLESS = f"sort_by({'|'.join([f'{TWICE}[]'] * 26)}, &to_string(@))"
"""A list that doubles two dozen times, and then has to be sorted."""


@requirement("result:bounded-questions")
async def test_a_question_that_asks_for_too_much_is_ended() -> None:
    async with asyncio.timeout(60):
        result = await ask_child("query", b'["a"]', {"expression": ENDLESS})
    assert result.error == "TIMEOUT"
    assert children() == []


async def test_whoever_is_cancelled_leaves_no_child_behind() -> None:
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        asking = group.create_task(ask_child("query", b'["a"]', {"expression": ENDLESS}))
        await eventually(children)
        asking.cancel()
    assert children() == []


@requirement("result:bounded-questions")
async def test_a_child_sees_nothing_of_our_environment() -> None:
    os.environ["MIDWATCH_TEST_SECRET"] = "hidden"
    try:
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            asking = group.create_task(ask_child("query", b'["a"]', {"expression": ENDLESS}))
            (child,) = await eventually(children)
            environment = child.environ()
            asking.cancel()
    finally:
        del os.environ["MIDWATCH_TEST_SECRET"]
    assert "MIDWATCH_TEST_SECRET" not in environment
    assert "PATH" not in environment


async def test_a_large_document_is_asked_within_the_limits() -> None:
    document = json.dumps([{"name": f"pump-{number}", "hot": number % 7 == 0} for number in range(150_000)]).encode()
    assert len(document) > 5_000_000
    result = await ask_child("query", document, {"expression": "length([?hot])"})
    assert result == ToolResult(content="21429")


def test_a_result_is_packed_small_and_comes_back_whole() -> None:
    text = "all is well on deck é\n" * 10_000
    whole = pack(CALL, text)
    assert whole.characters == len(text)
    assert len(whole.content) < len(text) / 20


SUMMED_UP = Portion(summarised_above=100)


@pytest.mark.parametrize(
    ("content", "error", "portion", "cut", "awaits"),
    [
        ("x" * 400, None, SUMMED_UP, False, False),
        ("x" * 401, None, SUMMED_UP, False, True),
        ("x" * 32_000, None, SUMMED_UP, False, True),
        ("x" * 32_001, None, SUMMED_UP, True, True),
        ("x" * 401, "TOOL_ERROR", SUMMED_UP, False, False),
        ("x" * 32_001, "TOOL_ERROR", SUMMED_UP, True, False),
        ("x" * 32_001, None, Portion(), True, False),
        ("x" * 32_001, None, Portion(read=20_000), False, False),
        ("x" * 80_001, None, Portion(read=20_000), True, False),
        ("x" * 40_000, None, Portion(summarised_above=10_000), False, False),
    ],
)
def test_what_is_cut_and_what_is_summed_up(
    content: str, error: str | None, portion: Portion, *, cut: bool, awaits: bool
) -> None:
    result = ToolResult(content=content, error=error)
    portioned = cut_result(result, portion, call_id=CALL)
    assert portioned.awaits_summary is awaits
    assert portioned.error == error
    assert (portioned.whole == content) is cut
    assert (portioned.content == content) is not cut
    assert (portioned is result) is not (cut or awaits)
    if cut:
        assert len(portioned.content) <= max(portion.read, 8_000) * 4
        assert name_result(CALL) in portioned.content


async def test_whoever_can_open_long_results_is_told_of_one() -> None:
    shelf = FakeShelf()
    inner = FakeToolset(define_tool("deck.report"), log=[])
    portioned = Portioned(inner=inner, on_long=shelf.offer)
    assert await portioned.list_tools() == inner.tools
    await portioned.call(cleared_read("deck.report"))
    assert not shelf.offered
    inner.results["deck.report"] = ToolResult(content="x" * 40_000)
    assert "result.slice" in (await portioned.call(cleared_read("deck.report"))).content
    assert shelf.offered
