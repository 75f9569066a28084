"""A thousand calls in all protocols, harmed in every way at random: afterwards nothing is left of them.

MIDWATCH_SOAK_SEED plays another thousand.
"""

import asyncio
import gc
import os
import random
import re
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, field
from itertools import pairwise

import httpx
import psutil
from structlog.testing import capture_logs

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import UserMessage
from midwatch.kit import json
from midwatch.llm.breaker import Breaker
from midwatch.llm.http import new_http_client
from midwatch.llm.model import Model, ModelRequest, TextChunk
from midwatch.llm.scripted import ScriptedTurn
from tests.documents import list_failure_codes
from tests.fakes.protocols import ALL, Spoken
from tests.fakes.provider_server import Body, Cut, ProviderServer, Reply, Status, Stream, serve_dialect
from tests.unit.llm.asking import describe_pool

CALLS = 1_000
WARM = 300
"""Calls after which everything that is kept for good has been made."""
AT_A_TIME = 20
SPANS = (range(WARM, 650), range(650, CALLS))
MOST_BLOCKS = 175
"""Of memory, that may be left of a span: less than one for every other call."""
LATER = 10.0
Harm = Callable[["Plan", list[bytes]], Reply]
NUMBER = re.compile(rb"This is call (\d+)\.")


def say(number: int) -> ScriptedTurn:
    return ScriptedTurn(text=f"An answer to call {number}, in some pieces.", thinking="Hm.", chunk_size=7)


@dataclass(slots=True)
class QuickTime:
    """Sleeping takes no time, and time passes by sleeping."""

    now: float = 1_000.0

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)


@dataclass(slots=True, kw_only=True)
class Plan:
    """What happens to one call: what each attempt meets, and when the caller loses patience."""

    spoken: Spoken
    faults: list[str]
    dice: random.Random
    cancel_after: int | None
    """Turns of the event loop."""
    stop_after: int | None
    """Chunks."""
    is_pressing: bool
    """Is cancelled twice, one right after the other."""
    stalled: asyncio.Event = field(default_factory=asyncio.Event)


def make_plan(seed: int, number: int) -> Plan:
    dice = random.Random(f"{seed}/{number}")
    return Plan(
        spoken=dice.choice(ALL),
        faults=dice.choices(list(FAULTS), weights=[weight for weight, _ in FAULTS.values()], k=3),
        dice=dice,
        cancel_after=dice.randrange(60) if dice.random() < 0.2 else None,
        stop_after=dice.randrange(1, 4) if dice.random() < 0.1 else None,
        is_pressing=dice.random() < 0.5,
    )


def misbehave(plan: Plan, number: int) -> Reply:
    _, harm = FAULTS[plan.faults.pop(0)] if plan.faults else FAULTS["none"]
    return harm(plan, plan.spoken.dialect.list_events(say(number), 0))


def some_of(events: list[bytes], plan: Plan) -> list[bytes]:
    return events[: plan.dice.randrange(len(events) + 1)]


def stall(plan: Plan, events: list[bytes]) -> Reply:
    plan.stalled.set()
    return Stream([*some_of(events, plan), asyncio.Event()])


def pause(plan: Plan, _: list[bytes]) -> Reply:
    return Status(status=429, headers=(("Retry-After", str(plan.dice.choice([1, 5, 60]))),))


def write_garbage(plan: Plan, events: list[bytes]) -> Reply:
    return Stream([*some_of(events, plan), plan.dice.randbytes(200), b"\n\ndata: {{\n\n"])


def refuse(plan: Plan, _: list[bytes]) -> Reply:
    return plan.spoken.refuse(plan.dice.choice([400, 401, 404]), "some_kind", "no")


def slow_down(data: bytes, dice: random.Random) -> Iterable[bytes | asyncio.Event]:
    """Cut anywhere, with a breath in between."""
    loop = asyncio.get_running_loop()
    start = 0
    while start < len(data):
        size = dice.randrange(1, 400)
        yield data[start : start + size]
        start += size
        breath = asyncio.Event()
        loop.call_later(dice.random() / 500, breath.set)
        yield breath


FAULTS: Mapping[str, tuple[int, Harm]] = {
    "none": (4, lambda _, events: Stream(events)),
    "slow": (4, lambda plan, events: Stream(list(slow_down(b"".join(events), plan.dice)))),
    "cut": (1, lambda plan, events: Stream([*some_of(events, plan), Cut()])),
    "stall": (1, stall),
    "busy": (1, lambda plan, _: Status(status=plan.dice.choice([429, 500, 503, 529]))),
    "pause": (1, pause),
    "garbage": (1, write_garbage),
    "refusal": (1, refuse),
    "half a call": (1, lambda plan, _: plan.spoken.half_a_call),
    "empty": (1, lambda _plan, _events: Status(status=200, body=b"")),
}
"""With how often each is met."""


@dataclass(slots=True)
class Soak:
    seed: int
    http: httpx.AsyncClient
    time: QuickTime = field(default_factory=QuickTime)
    servers: dict[str, ProviderServer] = field(default_factory=dict[str, ProviderServer])
    breakers: dict[str, Breaker] = field(default_factory=dict[str, Breaker])
    plans: dict[int, Plan] = field(default_factory=dict[int, Plan])
    ends: Counter[str] = field(default_factory=Counter[str])

    def answer(self, body: Body) -> Reply:
        found = NUMBER.search(json.encode(body))
        assert found is not None
        number = int(found[1])
        plan = self.plans.get(number)
        # Who was cancelled is gone, and its question may still arrive.
        return Status(status=500) if plan is None else misbehave(plan, number)

    async def run(self, numbers: Iterable[int]) -> None:
        waiting = iter(numbers)

        async def work() -> None:
            for number in waiting:
                plan = self.plans[number] = make_plan(self.seed, number)
                self.ends[await self._call(number, plan)] += 1
                del self.plans[number]

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_A_TIME):
                group.create_task(work())

    async def ask(self, number: int, plan: Plan) -> str:
        model = self.open(plan.spoken)
        request = ModelRequest(messages=(UserMessage(text=f"This is call {number}."),), tools=(), agent="A")
        said: list[str] = []
        try:
            async with aclosing(model.stream(request)) as chunks:
                count = 0
                async for chunk in chunks:
                    count += 1
                    if isinstance(chunk, TextChunk):
                        said.append(chunk.text)
                    if count == plan.stop_after:
                        return "stopped"
        except ModelUnavailable as failure:
            end = failure.code
            # Whoever is sent away comes back later.
            self.time.now += LATER if end == "circuit_open" else 0
        else:
            end = "answered"
        text = say(number).text
        assert (text == "".join(said)) if end == "answered" else text.startswith("".join(said))
        return end

    def open(self, spoken: Spoken) -> Model:
        return spoken.open(
            spoken.address(self.servers[spoken.name]),
            http=self.http,
            api_key="sk-secret",
            sleep=self.time.sleep,
            breaker=self.breakers[spoken.name],
        )

    async def _call(self, number: int, plan: Plan) -> str:
        async with asyncio.TaskGroup() as group:
            asking = group.create_task(self.ask(number, plan))
            impatience = group.create_task(lose_patience(plan))
            await asyncio.wait((asking, impatience), return_when=asyncio.FIRST_COMPLETED)
            impatience.cancel()
            asking.cancel()
            if plan.is_pressing:
                await pass_turns(plan.dice.randrange(4))
                asking.cancel()
        return "cancelled" if asking.cancelled() else asking.result()


async def lose_patience(plan: Plan) -> None:
    if plan.cancel_after is None:
        await plan.stalled.wait()
        return
    await pass_turns(plan.cancel_after)


async def pass_turns(count: int) -> None:
    """Of the event loop."""
    for _ in range(count):
        await asyncio.sleep(0)


@asynccontextmanager
async def open_soak(seed: int) -> AsyncGenerator[Soak]:
    async with AsyncExitStack() as stack:
        soak = Soak(seed, await stack.enter_async_context(new_http_client()))
        for spoken in ALL:
            serving = serve_dialect(soak.answer, dialect=spoken.dialect, record=False)
            soak.servers[spoken.name] = await stack.enter_async_context(serving)
            soak.breakers[spoken.name] = Breaker(provider="main", clock=lambda: soak.time.now)
        yield soak


def count_blocks() -> int:
    gc.collect()
    return sys.getallocatedblocks()


async def check_all_answer(soak: Soak) -> None:
    """Whatever happened to the breakers, after their rest each provider is asked again."""
    soak.time.now += 700
    for number, spoken in enumerate(ALL, start=CALLS):
        plan = soak.plans[number] = make_plan(soak.seed, number)
        plan.faults, plan.stop_after, plan.spoken = [], None, spoken
        assert await soak.ask(number, plan) == "answered"


async def live(seed: int, numbers: Iterable[int]) -> Counter[str]:
    """One client and its providers from beginning to end."""
    with capture_logs():
        return await _live(seed, numbers)


async def _live(seed: int, numbers: Iterable[int]) -> Counter[str]:
    async with open_soak(seed) as soak:
        await soak.run(numbers)
        await pass_turns(10)
        assert "Requests: 0 active, 0 queued | Connections: 0 active" in describe_pool(soak.http)
        await check_all_answer(soak)
        await soak.http.aclose()
        for server in soak.servers.values():
            await server.see_all_leave()
            assert server.open_connections == 0
    return soak.ends


async def test_nothing_is_left_of_a_thousand_harmed_calls() -> None:
    seed = int(os.environ.get("MIDWATCH_SOAK_SEED", "1"))
    process = psutil.Process()
    tasks = asyncio.all_tasks()
    async with asyncio.timeout(120):
        ends = await live(seed, range(WARM))
        # From here on nothing of an earlier test is left that the collector could close in between.
        blocks, descriptors = [count_blocks()], process.num_fds()
        for span in SPANS:
            ends += await live(seed, span)
            blocks.append(count_blocks())
    # What every call leaves behind, each span leaves behind. Others' memory grows by chance.
    assert min(after - before for before, after in pairwise(blocks)) < MOST_BLOCKS
    assert asyncio.all_tasks() == tasks
    gc.collect()
    assert process.num_fds() <= descriptors
    assert ends.total() == CALLS
    assert ends.keys() <= {"answered", "stopped", "cancelled", *list_failure_codes()}
    assert ends.keys() >= {"answered", "stopped", "cancelled", "max_retries", "partial_stream_error", "circuit_open"}
