"""What asking a model costs beyond the bytes: CPU of this process per call, against a bare httpx POST of the same bytes
that reads the same stream from the same server, in conversations of several lengths; and what the imports cost.
"""

import asyncio
import gc
import json
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median

import httpx

from benchmarks.report import Check
from benchmarks.startup import measure_cpu
from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit.ids import new_id
from midwatch.llm.http import new_http_client
from midwatch.llm.model import CallChunk, ModelRequest
from midwatch.llm.providers.anthropic.client import Messages, extend_base
from midwatch.llm.providers.google.client import GenerateContent, build_url
from midwatch.llm.providers.openai.client import ChatCompletions
from midwatch.llm.providers.openai.responses_client import Responses
from midwatch.llm.wire import HttpModel, WireProtocol, bearer

SHORT, USUAL, LONG = 10, 100, 400
SIZES = (SHORT, USUAL, LONG)
_MOST_TIMES_HTTPX = 1.5
_MOST_GROWTH = 1.3
_MOST_TIMES_IMPORT = 3.0
_CALLS = 20
_TURNS_PER_ROUND = 4
_ROOT = Path(__file__).parents[1]
_RESULT = "host-7 cpu 12.5 memory 48.1 disk 61.0 load 0.42 uptime 93 days, 4 users, no failed units\n" * 11
_TOOLS = tuple(
    ToolDefinition(
        server="deck",
        name=name,
        description=f"Reads the {name} of one host.",
        schema={"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
    )
    for name in ("lookup", "load", "memory", "disks", "services", "logs", "ports", "processes")
)
_IMPORT_HTTPX = (sys.executable, "-c", "import httpx")
_OPEN_ONE = """
import httpx
from pathlib import Path
from midwatch.config.llm import OpenAiProvider
from midwatch.llm.gateway import Gateway
http = httpx.AsyncClient(transport=httpx.MockTransport(lambda request: httpx.Response(500)))
Gateway(http=http, environ={}, folder=Path()).open("main", OpenAiProvider(type="openai", model="gpt-4.1"))
"""

Play = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCost:
    """Seconds of CPU for one call, and how many times the one the other is: each the median of all rounds."""

    bare: float
    ours: float
    ratio: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFigures:
    """By protocol and number of messages, what a call costs; and seconds of CPU for the imports."""

    calls: Mapping[tuple[str, int], CallCost]
    import_httpx: float
    import_ours: float

    @property
    def checks(self) -> list[Check]:
        return [
            *(self._compare(name, size) for name in _PROTOCOLS for size in SIZES),
            *(self._compare_growth(name) for name in _PROTOCOLS),
            Check(
                what="import and opening of a model, against import httpx",
                measured=self.import_ours / self.import_httpx,
                target=_MOST_TIMES_IMPORT,
            ),
        ]

    @property
    def notes(self) -> list[str]:
        calls = [
            f"{name}, a call with {size} messages: {cost.ours * 1000:.2f} ms CPU; bare httpx: {cost.bare * 1000:.2f} ms"
            for (name, size), cost in self.calls.items()
        ]
        imports = f"import httpx: {self.import_httpx * 1000:.0f} ms; ours: {self.import_ours * 1000:.0f} ms (CPU)"
        return [*calls, imports]

    def _compare(self, name: str, size: int) -> Check:
        what = f"{name}: CPU of a call with {size} messages, against httpx"
        return Check(what=what, measured=self.calls[name, size].ratio, target=_MOST_TIMES_HTTPX)

    def _compare_growth(self, name: str) -> Check:
        growth = self.calls[name, LONG].ratio / self.calls[name, SHORT].ratio
        return Check(
            what=f"{name}: that ratio at {LONG} messages, against {SHORT}", measured=growth, target=_MOST_GROWTH
        )


def _make_chat(address: str) -> WireProtocol:
    return ChatCompletions(model="gpt-4.1", base_url=address)


def _make_responses(address: str) -> WireProtocol:
    return Responses(model="gpt-5.2", base_url=address)


def _make_messages(address: str) -> WireProtocol:
    return Messages(model="claude-sonnet-5", url=extend_base(address))


def _make_gemini(address: str) -> WireProtocol:
    model = "gemini-3-flash-preview"
    return GenerateContent(model=model, url=build_url(address, model), label=f"google/{model}")


_PROTOCOLS: Mapping[str, Callable[[str], WireProtocol]] = {
    "chat": _make_chat,
    "responses": _make_responses,
    "messages": _make_messages,
    "gemini": _make_gemini,
}


async def measure_models(*, rounds: int) -> ModelFigures:
    calls: dict[tuple[str, int], CallCost] = {}
    async with _serve_models() as addresses, httpx.AsyncClient(timeout=60) as plain, new_http_client() as http:
        for name, make in _PROTOCOLS.items():
            for size in SIZES:
                play_bare = _play_bare(make(addresses[name]), plain, size=size)
                play_ours = _play_ours(make(addresses[name]), http, size=size)
                calls[name, size] = await _compare(play_bare, play_ours, rounds=rounds * _TURNS_PER_ROUND)
    import_httpx, import_ours = _measure_imports(rounds)
    return ModelFigures(calls=calls, import_httpx=import_httpx, import_ours=import_ours)


@asynccontextmanager
async def _serve_models() -> AsyncGenerator[dict[str, str]]:
    program = (sys.executable, "-m", "benchmarks.model_server")
    process = await asyncio.create_subprocess_exec(*program, stdin=PIPE, stdout=PIPE, cwd=_ROOT)
    try:
        if process.stdout is None:
            raise RuntimeError("the model server has no output")
        yield json.loads(await process.stdout.readline())
    finally:
        process.kill()
        await process.wait()


def _play_bare(protocol: WireProtocol, http: httpx.AsyncClient, *, size: int) -> Play:
    exchange = protocol.prepare(_Conversation(size).ask_next())
    headers = {"Content-Type": "application/json", "Accept-Encoding": "identity"}

    async def play() -> None:
        async with http.stream("POST", exchange.url, content=exchange.body, headers=headers) as response:
            response.raise_for_status()
            async for _ in response.aiter_bytes():
                pass

    return play


def _play_ours(protocol: WireProtocol, http: httpx.AsyncClient, *, size: int) -> Play:
    model = HttpModel(provider="main", name="model", protocol=protocol, authorise=bearer("sk-0"), http=http)
    conversation = _Conversation(size)

    async def play() -> None:
        async with aclosing(model.stream(conversation.ask_next())) as chunks:
            called = [chunk async for chunk in chunks if isinstance(chunk, CallChunk)]
        if len(called) != 1:
            raise RuntimeError("the model did not call its tool")

    return play


class _Conversation:
    """Of one length; each question brings a new turn, as in an investigation."""

    def __init__(self, size: int) -> None:
        self._numbers = count()
        self._old: list[Message] = [SystemMessage(text="You investigate alerts. " * 40), UserMessage(text="Look.")]
        while len(self._old) < size - 2:
            self._old += self._make_turn()

    def ask_next(self) -> ModelRequest:
        return ModelRequest(messages=[*self._old, *self._make_turn()], tools=_TOOLS, agent="Watch")

    def _make_turn(self) -> list[Message]:
        number = next(self._numbers)
        call = ToolCall(call_id=new_id(), provider_id=f"c{number}", name="deck.lookup", arguments='{"key":"host"}')
        return [
            AssistantMessage(text=f"Step {number}: I look at the next host.", calls=(call,)),
            ToolMessage(provider_id=f"c{number}", name="deck.lookup", content=f"{number}\n{_RESULT}"),
        ]


async def _compare(bare: Play, ours: Play, *, rounds: int) -> CallCost:
    """They take turns and are compared turn by turn, so that both meet the same moods of the machine."""
    for play in (bare, ours):
        await _measure(play, calls=3)  # connections, and the first encoding
    costs = [(await _measure(bare, calls=_CALLS), await _measure(ours, calls=_CALLS)) for _ in range(rounds)]
    return CallCost(
        bare=median(bare for bare, _ in costs),
        ours=median(ours for _, ours in costs),
        ratio=median(ours / bare for bare, ours in costs),
    )


async def _measure(play: Play, *, calls: int) -> float:
    gc.collect()
    cpu = time.process_time()
    for _ in range(calls):
        await play()
    return (time.process_time() - cpu) / calls


def _measure_imports(rounds: int) -> tuple[float, float]:
    open_one = (sys.executable, "-c", _OPEN_ONE)
    samples = [(measure_cpu(_IMPORT_HTTPX), measure_cpu(open_one)) for _ in range(rounds + 1)][1:]
    return median(bare for bare, _ in samples), median(ours for _, ours in samples)
