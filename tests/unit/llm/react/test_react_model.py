"""A model without tool calling: what it is told, what its words become, and what happens when it breaks the form."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

from midwatch.agent.outcome import Concluded
from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, Usage, UserMessage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit.ids import new_id
from midwatch.llm.model import CallChunk, Chunk, ModelRequest, StateChunk, TextChunk, ThinkingChunk, UsageChunk
from midwatch.llm.react.conversation import FEEDBACK
from midwatch.llm.react.model import ReactModel
from tests.unit.agent.bench import Bench

TOOL = ToolDefinition(server="k8s", name="get", description="Gets a thing.", schema={"type": "object"})
ACTING = 'Thought: look first\nAction: k8s.get\nAction Input: {"name": "web"}\nObservation: I make this up\n'
ANSWER = "Thought: enough\nFinal Answer: It is full.\nReally."


@dataclass
class FakeTextModel:
    """Says these texts one after another, in small pieces, and keeps what it was asked."""

    texts: Sequence[str]
    asked: list[ModelRequest] = field(default_factory=list[ModelRequest])
    provider: str = "plain"
    name: str = "plain"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        self.asked.append(ModelRequest(messages=tuple(request.messages), tools=request.tools, agent=request.agent))
        text = self.texts[min(len(self.asked), len(self.texts)) - 1]
        for start in range(0, len(text), 7):
            yield TextChunk(text=text[start : start + 7])
        yield UsageChunk(usage=Usage(output_tokens=1))


def ask_for(*messages: Message, tools: Sequence[ToolDefinition] = (TOOL,)) -> ModelRequest:
    return ModelRequest(messages=messages or (UserMessage(text="go"),), tools=tools, agent="A")


async def collect(model: ReactModel, request: ModelRequest) -> list[Chunk]:
    async with aclosing(model.stream(request)) as chunks:
        return [chunk async for chunk in chunks]


async def test_an_action_becomes_a_call_and_a_thought_thinking() -> None:
    chunks = await collect(ReactModel(FakeTextModel([ACTING])), ask_for())
    assert chunks[0] == ThinkingChunk(text="look first\n", source="react")
    (call,) = [chunk for chunk in chunks if isinstance(chunk, CallChunk)]
    assert (call.name, call.arguments) == ("k8s.get", '{"name": "web"}')
    assert not any(isinstance(chunk, TextChunk) for chunk in chunks)


async def test_a_final_answer_becomes_text() -> None:
    chunks = await collect(ReactModel(FakeTextModel([ANSWER])), ask_for())
    assert "".join(chunk.text for chunk in chunks if isinstance(chunk, TextChunk)) == "It is full.\nReally."
    assert not any(isinstance(chunk, CallChunk) for chunk in chunks)


async def test_tools_calls_and_results_are_told_in_words() -> None:
    inner = FakeTextModel([ANSWER])
    call = ToolCall(call_id=new_id(), provider_id="c1", name="k8s.get", arguments='{"name": "web"}')
    said = AssistantMessage(text="I look.", calls=(call,))
    heard = ToolMessage(provider_id="c1", name="k8s.get", content="it is down")
    await collect(ReactModel(inner), ask_for(SystemMessage(text="You are A."), said, heard))
    system, acted, observed = inner.asked[0].messages
    assert list(inner.asked[0].tools) == []
    assert isinstance(system, SystemMessage)
    assert system.text.startswith("You are A.\n\n## How to answer")
    assert system.text.endswith('### k8s.get\nGets a thing.\nArguments: {"type":"object"}')
    assert acted == AssistantMessage(text='Thought: I look.\nAction: k8s.get\nAction Input: {"name": "web"}')
    assert observed == UserMessage(text="Observation: k8s.get: it is down")


async def test_its_own_words_come_back_to_it_as_it_wrote_them() -> None:
    inner = FakeTextModel([ACTING, ANSWER])
    model = ReactModel(inner)
    (state,) = [chunk.state for chunk in await collect(model, ask_for()) if isinstance(chunk, StateChunk)]
    await collect(model, ask_for(UserMessage(text="go"), AssistantMessage(text="", provider_state=state)))
    assert inner.asked[1].messages[1] == AssistantMessage(
        text='Thought: look first\nAction: k8s.get\nAction Input: {"name": "web"}'
    )


async def test_messages_keep_their_identity_from_question_to_question() -> None:
    inner = FakeTextModel([ANSWER])
    model = ReactModel(inner)
    opening = (SystemMessage(text="s"), UserMessage(text="go"))
    await collect(model, ask_for(*opening))
    await collect(model, ask_for(*opening, AssistantMessage(text="so")))
    first, second = inner.asked
    assert all(one is other for one, other in zip(first.messages, second.messages, strict=False))


async def test_who_is_asked_to_conclude_may_write_as_it_likes() -> None:
    chunks = await collect(ReactModel(FakeTextModel(["It is full."])), ask_for(tools=()))
    assert TextChunk(text="It is full.") in chunks


async def test_a_model_that_breaks_the_form_is_told_the_form() -> None:
    failure: ModelUnavailable | None = None
    try:
        await collect(ReactModel(FakeTextModel(["It is full, I think."])), ask_for())
    except ModelUnavailable as error:
        failure = error
    assert failure is not None
    assert (failure.code, failure.retryable, failure.feedback) == ("malformed_answer", True, FEEDBACK)


async def test_a_whole_investigation_runs_over_plain_text() -> None:
    inner = FakeTextModel(["I would look at it.", ACTING, ANSWER])
    bench = Bench(ReactModel(inner))
    assert await bench.agent.investigate() == Concluded(text="It is full.\nReally.", iterations=2)
    assert bench.ran == ["k8s.get"]
    assert bench.agent.messages[2] == UserMessage(text=FEEDBACK)
    assert UserMessage(text="Observation: k8s.get: ran k8s.get") in inner.asked[-1].messages
