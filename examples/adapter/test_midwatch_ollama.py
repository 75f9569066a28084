"""The one test an adapter needs: what is sent, what is read, and how it fails."""

import tomllib
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import httpx
import pytest
from midwatch_ollama import open_ollama

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, Usage, UserMessage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.adapters import Opening
from midwatch.llm.breaker import Breaker
from midwatch.llm.model import CallChunk, Chunk, ModelRequest, TextChunk, ThinkingChunk, UsageChunk

PODS = ToolDefinition(server="k8s", name="pods", description="Lists pods", schema={"type": "object"})
CALL = ToolCall(call_id=new_id(), provider_id="a", name="k8s.pods", arguments='{"namespace":"web"}')
CONVERSATION: tuple[Message, ...] = (
    SystemMessage(text="be brief"),
    UserMessage(text="what is wrong?"),
    AssistantMessage(text="", calls=(CALL,)),
    ToolMessage(provider_id="a", name="k8s.pods", content="web-1 CrashLoopBackOff"),
)
DONE = {"done": True, "done_reason": "stop", "prompt_eval_count": 7, "eval_count": 3}


class FakeOllama:
    """Answers every request with the same lines, and keeps what it was asked."""

    def __init__(self, events: Sequence[object], *, status: int = 200) -> None:
        self.requests: list[httpx.Request] = []
        self._lines = b"\n".join(json.encode(event) for event in events)
        self._status = status

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        self.requests.append(request)
        return httpx.Response(self._status, content=self._lines)


async def ask(server: FakeOllama, *, key: str | None = None) -> list[Chunk]:
    async with httpx.AsyncClient(transport=httpx.MockTransport(server)) as http:
        opening = Opening(
            provider="mine",
            model="qwen3",
            base_url="http://ollama:11434",
            api_key=key,
            options={"think": "true"},
            http=http,
            backoff=(),
            breaker=Breaker(provider="mine"),
        )
        request = ModelRequest(messages=CONVERSATION, tools=(PODS,), agent="A")
        async with aclosing(open_ollama(opening).stream(request)) as stream:
            return [chunk async for chunk in stream]


async def test_words_thoughts_calls_and_counts_are_read() -> None:
    call = {"function": {"name": "k8s__pods", "arguments": {"namespace": "db"}}}
    events = [
        {"message": {"thinking": "hm"}},
        {"message": {"content": "look"}},
        {"message": {"tool_calls": [call]}},
        DONE,
    ]
    thinking, text, called, used = await ask(FakeOllama(events))
    assert thinking == ThinkingChunk(text="hm")
    assert text == TextChunk(text="look")
    assert isinstance(called, CallChunk)
    assert (called.name, called.arguments) == ("k8s.pods", '{"namespace":"db"}')
    assert used == UsageChunk(usage=Usage(input_tokens=7, output_tokens=3))


async def test_the_conversation_is_sent_in_ollamas_words() -> None:
    server = FakeOllama([DONE])
    await ask(server)
    (request,) = server.requests
    body = json.decode(request.content)
    assert str(request.url) == "http://ollama:11434/api/chat"
    assert body["think"] is True
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "tool"]
    assert body["messages"][2]["tool_calls"] == [{"function": {"name": "k8s__pods", "arguments": {"namespace": "web"}}}]
    assert body["tools"][0]["function"]["name"] == "k8s__pods"


@pytest.mark.parametrize(
    ("server", "code", "text"),
    [
        (FakeOllama([{"message": {"content": "so"}}]), "partial_stream_error", "the answer broke off"),
        (FakeOllama([{"error": "no model k-1"}], status=404), "invalid_request", "HTTP 404: no model [MASKED_API_KEY]"),
        (FakeOllama([{"error": "who is k-1?"}], status=401), "credentials", "HTTP 401: who is [MASKED_API_KEY]?"),
    ],
)
async def test_a_failure_has_a_code_and_a_text_without_the_key(server: FakeOllama, code: str, text: str) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        await ask(server, key="k-1")
    assert (caught.value.code, str(caught.value)) == (code, text)


def test_the_package_names_the_adapter_as_an_entry_point() -> None:
    project = tomllib.loads(Path(__file__).with_name("pyproject.toml").read_text())["project"]
    named = project["entry-points"]["midwatch.providers"]["ollama"]
    assert named == f"{open_ollama.__module__}:{open_ollama.__name__}"
