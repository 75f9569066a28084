"""Old results give way to references before a model's window is full, and from then on they can be opened."""

from collections.abc import Sequence
from dataclasses import replace

from midwatch.domain.messages import Message, ToolMessage, Usage
from midwatch.domain.tools import ToolResult
from midwatch.llm.scripted import ScriptedTurn
from tests.fakes.toolset import define_tool
from tests.unit.agent.bench import Bench, calling, saying

OPENER = define_tool("result.slice", read_only_hint=True)


def count_cut(messages: Sequence[Message]) -> int:
    return sum("were removed here" in message.content for message in messages if isinstance(message, ToolMessage))


def look(tokens: int) -> ScriptedTurn:
    """A turn for which the provider counted so many tokens."""
    return replace(calling("get"), usage=Usage(input_tokens=tokens))


def fill(bench: Bench) -> None:
    bench.tools.results["k8s.get"] = ToolResult(content="x" * 2_000)


async def test_what_the_provider_counts_beyond_our_estimate_is_taken_into_account() -> None:
    for counted, cut in ((0, 0), (3_500, 1)):
        bench = Bench([look(counted), look(counted), saying("Full.")])
        bench.agent.ladder.window = 5_000
        fill(bench)
        await bench.agent.investigate()
        assert count_cut(bench.model.asked[-1].messages) == cut


async def test_the_question_after_a_cut_offers_the_tools_that_open_results() -> None:
    bench = Bench([calling("get"), calling("get"), saying("Full.")])
    bench.agent.ladder.window = 1_000
    fill(bench)

    def offer() -> None:
        bench.tools.tools = (*bench.tools.tools, OPENER)

    bench.agent.offer_results = offer
    await bench.agent.investigate()
    assert [OPENER in request.tools for request in bench.model.asked] == [False, False, True]
    assert [count_cut(request.messages) for request in bench.model.asked] == [0, 0, 1]
