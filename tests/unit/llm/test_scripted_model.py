"""The scripted model plays by the conversation, and its files are checked."""

from dataclasses import replace
from pathlib import Path

import pytest

from midwatch.domain.errors import Misconfigured, ModelUnavailable
from midwatch.domain.messages import AssistantMessage, Message, Usage, UserMessage
from midwatch.llm.model import CallChunk, Chunk, Model, ModelRequest, TextChunk, ThinkingChunk, UsageChunk
from midwatch.llm.scripted import ScriptedCall, ScriptedModel, ScriptedTurn, load_script

QUIET = UsageChunk(usage=Usage())


def make_request(spoken: int, *, agent: str = "A") -> ModelRequest:
    messages: list[Message] = [UserMessage(text="go")]
    for number in range(spoken):
        messages += [AssistantMessage(text=str(number)), UserMessage(text="go on")]
    return ModelRequest(messages=messages, tools=(), agent=agent)


async def play(model: Model, spoken: int, *, agent: str = "A", occasion: int = 0) -> list[Chunk]:
    request = replace(make_request(spoken, agent=agent), occasion=occasion)
    return [chunk async for chunk in model.stream(request)]


async def test_the_conversation_alone_decides_which_turn_is_played() -> None:
    model = ScriptedModel(turns=[ScriptedTurn(text="one"), ScriptedTurn(text="two")])
    expected = {0: "one", 1: "two", 2: "The script has ended.", 7: "The script has ended."}
    for spoken in (1, 0, 1, 7, 0, 2):
        assert await play(model, spoken) == [TextChunk(text=expected[spoken]), QUIET]


async def test_a_turn_is_played_in_the_order_of_a_real_answer() -> None:
    usage = Usage(input_tokens=3, output_tokens=4)
    calls = (ScriptedCall(name="a.b", arguments={"n": 1}), ScriptedCall(name="a.c", arguments="{oops"))
    turn = ScriptedTurn(text="text", thinking="hmm", calls=calls, usage=usage, chunk_size=2)
    assert await play(ScriptedModel(turns=[ScriptedTurn(), turn]), 1) == [
        ThinkingChunk(text="hm"),
        ThinkingChunk(text="m"),
        TextChunk(text="te"),
        TextChunk(text="xt"),
        CallChunk(provider_id="call_1_0", name="a.b", arguments='{"n":1}'),
        CallChunk(provider_id="call_1_1", name="a.c", arguments="{oops"),
        UsageChunk(usage=usage),
    ]


async def test_each_agent_has_its_own_part() -> None:
    model = ScriptedModel(turns={"A": [ScriptedTurn(text="I am A")], "B": [ScriptedTurn(text="I am B")]})
    assert await play(model, 0, agent="A") == [TextChunk(text="I am A"), QUIET]
    assert await play(model, 0, agent="B") == [TextChunk(text="I am B"), QUIET]
    assert await play(model, 1, agent="B") == [TextChunk(text="The script has ended."), QUIET]


async def test_a_replica_plays_its_own_part_or_that_of_its_agent() -> None:
    model = ScriptedModel(turns={"A": [ScriptedTurn(text="I am A")], "A-2": [ScriptedTurn(text="I am the second")]})
    assert await play(model, 0, agent="A-1") == [TextChunk(text="I am A"), QUIET]
    assert await play(model, 0, agent="A-2") == [TextChunk(text="I am the second"), QUIET]


@pytest.mark.parametrize("agent", ["ExecSummaryAgent", "SynthesisAgent"])
async def test_a_list_of_turns_is_no_part_for_those_who_are_asked_something_else(agent: str) -> None:
    with pytest.raises(ModelUnavailable, match=f"the script has no part for {agent}"):
        await play(ScriptedModel(turns=[ScriptedTurn(text="I look.")]), 0, agent=agent)


async def test_an_agent_that_a_script_does_not_name_is_told_so() -> None:
    with pytest.raises(ModelUnavailable, match="the script has no part for C"):
        await play(ScriptedModel(turns={"A": [ScriptedTurn(text="I am A")]}), 0, agent="C")


async def test_a_turn_may_be_made_from_the_request() -> None:
    model = ScriptedModel(turns=[lambda request: ScriptedTurn(text=f"{len(request.messages)} for {request.agent}")])
    assert await play(model, 0) == [TextChunk(text="1 for A"), QUIET]


async def test_an_error_comes_after_the_text_and_anew_each_time() -> None:
    error = ModelUnavailable("down", code="partial_stream_error", retryable=True)
    model = ScriptedModel(turns=[ScriptedTurn(text="half", error=error)])
    seen: list[Chunk] = []
    raised: list[ModelUnavailable] = []
    for _ in range(2):
        try:
            async for chunk in model.stream(make_request(0)):
                seen.append(chunk)  # noqa: PERF401 - what came before the error counts
        except ModelUnavailable as failure:
            raised.append(failure)
    assert seen == [TextChunk(text="half")] * 2
    told = [(str(failure), failure.code, failure.retryable) for failure in raised]
    assert told == [("down", "partial_stream_error", True)] * 2
    assert len({id(failure) for failure in [*raised, error]}) == 3


async def test_a_script_is_loaded_with_all_it_says(tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(
        """
turns:
  - thinking: hm
    calls:
      - {name: k8s.pods, arguments: {namespace: a}}
      - {name: k8s.nodes}
    usage: {input_tokens: 5, cache_write_tokens: 2}
  - text: done
  - error: {message: no key, code: credentials}
"""
    )
    model = load_script(path)(provider="example")
    assert (model.provider, model.name) == ("example", "scripted")
    assert await play(model, 0) == [
        ThinkingChunk(text="hm"),
        CallChunk(provider_id="call_0_0", name="k8s.pods", arguments='{"namespace":"a"}'),
        CallChunk(provider_id="call_0_1", name="k8s.nodes", arguments="{}"),
        UsageChunk(usage=Usage(input_tokens=5, cache_write_tokens=2)),
    ]
    assert await play(model, 1) == [TextChunk(text="done"), QUIET]
    with pytest.raises(ModelUnavailable, match="no key") as caught:
        await play(model, 2)
    assert (caught.value.code, caught.value.retryable) == ("credentials", False)


async def test_a_script_may_have_a_part_for_each_agent(tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_text("agents: {A: [{text: from A}], B: [{text: from B}]}")
    assert await play(load_script(path)(), 0, agent="B") == [TextChunk(text="from B"), QUIET]


async def test_an_agent_may_have_a_part_for_each_time_it_is_at_work(tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    path.write_text("agents: {A: [[{text: first}], [{text: second}, {text: more}]], B: [{text: always}]}")
    model = load_script(path)()
    assert await play(model, 0) == [TextChunk(text="first"), QUIET]
    assert await play(model, 1, occasion=1) == [TextChunk(text="more"), QUIET]
    assert await play(model, 0, occasion=2) == [TextChunk(text="The script has ended."), QUIET]
    assert await play(model, 0, agent="B", occasion=2) == [TextChunk(text="always"), QUIET]


@pytest.mark.parametrize(
    ("content", "problems"),
    [
        ("turns: [{txt: a}, {chunk_size: 0}]", ["turns.0.txt", "turns.1.chunk_size"]),
        ("agents: {A: [{txt: a}], B: [[{text: a}], [{chunk_size: 0}]]}", ["agents.A.0.txt", "agents.B.1.0.chunk_size"]),
        ("agents: {A: [[{text: a}], {text: b}], B: 7}", ["agents.A.1", "agents.B"]),
        ("{}", ["either turns or agents"]),
        ("{turns: [], agents: {A: []}}", ["either turns or agents"]),
        ("- a", ["valid dictionary"]),
        ("turns: [", ["expected"]),
        (None, ["No such file"]),
    ],
)
def test_a_bad_script_is_refused_with_every_problem(content: str | None, problems: list[str], tmp_path: Path) -> None:
    path = tmp_path / "script.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(Misconfigured) as caught:
        load_script(path)
    assert len(caught.value.problems) == len(problems)
    for told, problem in zip(caught.value.problems, problems, strict=True):
        assert told.startswith(str(path)) or str(path) in told
        assert problem in told
