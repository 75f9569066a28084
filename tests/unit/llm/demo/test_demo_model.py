"""The demo model as a model: its name, its chunks, its pace, and how it is opened."""

from pathlib import Path

from midwatch.config.llm import DemoProvider
from midwatch.domain.messages import Usage
from midwatch.llm.demo.model import DemoModel
from midwatch.llm.gateway import Gateway
from midwatch.llm.http import new_http_client
from midwatch.llm.model import CallChunk, Chunk, Model, ModelRequest, TextChunk, ThinkingChunk, UsageChunk
from tests.unit.llm.demo.desk import host_tools, open_conversation


async def play(model: Model, *, tools: bool = True) -> list[Chunk]:
    request = ModelRequest(messages=open_conversation("HighCPU"), tools=host_tools() if tools else (), agent="watch")
    return [chunk async for chunk in model.stream(request)]


async def test_it_thinks_before_it_calls_and_nothing_was_used() -> None:
    chunks = await play(DemoModel())
    kinds = [type(chunk).__name__ for chunk in chunks]
    assert kinds == sorted(kinds, key=["ThinkingChunk", "CallChunk", "UsageChunk"].index)
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, ThinkingChunk)) == (
        "By my rules, the alert reads like processor load. First a look at the machine as a whole. "
        "The alert concerns the load, so I measure it."
    )
    assert [chunk for chunk in chunks if isinstance(chunk, CallChunk)] == [
        CallChunk(provider_id="call_0_0", name="midwatch-host.overview", arguments="{}"),
        CallChunk(provider_id="call_0_1", name="midwatch-host.load", arguments="{}"),
    ]
    assert chunks[-1] == UsageChunk(usage=Usage())


async def test_its_text_comes_in_small_pieces() -> None:
    pieces = [chunk.text for chunk in await play(DemoModel(), tools=False) if isinstance(chunk, TextChunk)]
    assert len(pieces) > 10
    assert max(map(len, pieces)) <= 24


async def test_it_paces_itself_when_told_to() -> None:
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)

    chunks = await play(DemoModel(pace=0.5, sleep=pause), tools=False)
    assert pauses == [0.5] * (len(chunks) - 1)
    pauses.clear()
    await play(DemoModel(sleep=pause), tools=False)
    assert pauses == []


async def test_the_gateway_opens_it_without_a_key() -> None:
    async with new_http_client() as http:
        model = Gateway(http=http, environ={}, folder=Path()).open("demo", DemoProvider(type="demo"))
    assert isinstance(model, DemoModel)
    assert (model.provider, model.name) == ("demo", "demo model")
