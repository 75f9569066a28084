"""What counting and tracing cost: all that is told of a turn, against a turn of which nothing is told, and one scrape.

The difference of two turns would drown in the moods of the machine, so what is told is measured by itself, sending
included. The collector is a process of its own.
"""

import asyncio
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import structlog

from benchmarks.loop import SHORT, USUAL, measure_session
from benchmarks.replica import Replica, open_replica
from benchmarks.report import Check
from benchmarks.workload import Workload
from midwatch.agent.draft import Draft, Question
from midwatch.agent.spans import note_reply, note_result, open_model_span, open_tool_span
from midwatch.config.telemetry import Telemetry
from midwatch.domain.timeline import InteractionType
from midwatch.domain.tools import Clearance, ClearedCall, ToolCall, ToolDefinition, ToolKind, ToolResult
from midwatch.kit.ids import new_id
from midwatch.llm.ladder import Ladder
from midwatch.llm.scripted import ScriptedModel
from midwatch.telemetry.metrics import Metrics
from midwatch.telemetry.otel import TraceSettings, open_tracer
from midwatch.telemetry.series import TOOL_CALLS, TOOL_ERRORS, TOOL_SECONDS
from midwatch.telemetry.tracing import RunIdentity, trace_run
from midwatch.timeline.tallies import Tally

_ROOT = Path(__file__).parents[1]
_MOST_SHARE = 0.05
_MOST_SCRAPE = 20.0
_SCRAPED = 100
_TURNS = 2_000
_BREATH = 100
"""The loop is let go so often, as a run would: whoever sends spans has a thread of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryFigures:
    turn: float
    """Seconds of CPU for one turn of which nothing is told."""
    told: float
    """And for all that is told of one."""
    scrape: float
    lines: int

    @property
    def checks(self) -> list[Check]:
        return [
            Check(
                what="telemetry: CPU of counting and tracing a turn, against the turn",
                measured=self.told / self.turn,
                target=_MOST_SHARE,
            ),
            Check(
                what=f"telemetry: a scrape with {_SCRAPED} tools",
                measured=self.scrape * 1000,
                target=_MOST_SCRAPE,
                unit="ms",
            ),
        ]

    @property
    def notes(self) -> list[str]:
        return [
            f"a turn: {self.turn * 1000:.2f} ms CPU; to count and trace it: {self.told * 1000:.3f} ms",
            f"a scrape of {self.lines} lines: {self.scrape * 1000:.1f} ms CPU",
        ]


async def measure_telemetry(config_folder: Path, dsn: str, *, rounds: int) -> TelemetryFigures:
    turn = await _measure_turn(config_folder, dsn, rounds=rounds)
    told = await _measure_telling(rounds=rounds)
    scrape, lines = _measure_scrape()
    return TelemetryFigures(turn=turn, told=told, scrape=scrape, lines=lines)


async def _measure_turn(config_folder: Path, dsn: str, *, rounds: int) -> float:
    async with open_replica(config_folder, dsn, telemetry=Telemetry(metrics=False)) as replica:
        play = partial(_play, replica)
        await play(Workload(iterations=SHORT))  # imports, connections and prepared statements
        empty = [(await measure_session(play, Workload(iterations=0))).cpu for _ in range(rounds * 2)]
        whole = [(await measure_session(play, Workload(iterations=USUAL))).cpu for _ in range(rounds)]
    return (median(whole) - median(empty)) / USUAL


async def _play(replica: Replica, workload: Workload) -> int:
    return await replica.count_calls(await replica.run_session(workload))


async def _measure_telling(*, rounds: int) -> float:
    """All that is told of a turn, with nothing between: the same calls that agents and recorders make, and sending."""
    costs: list[float] = []
    async with _collector() as endpoint:
        for _ in range(rounds):
            began = time.process_time()
            await _tell(endpoint)
            costs.append((time.process_time() - began) / _TURNS)
    return median(costs)


async def _tell(endpoint: str) -> None:
    settings = TraceSettings(endpoint=f"{endpoint}/v1/traces", service_name="midwatch", version="1", instance="bench")
    tally = Tally(meters=Metrics())
    identity = RunIdentity(session_id=new_id(), epoch=1)
    async with open_tracer(settings) as tracer:
        with trace_run(tracer, "investigate", identity=identity, attributes={}):
            for number in range(_TURNS):
                _tell_turn(tally, number)
                if number % _BREATH == 0:
                    await asyncio.sleep(0.01)


def _tell_turn(tally: Tally, number: int) -> None:
    ladder = Ladder(ScriptedModel(turns=()), kind="openai")
    question = Question(
        messages=(), tools=(), agent="Watch", iteration=number, interaction_type=InteractionType.ITERATION
    )
    call = ToolCall(call_id=new_id(), provider_id="call", name="deck.lookup", arguments="{}")
    tool = ToolDefinition(server="deck", name="lookup", description="", schema={})
    clearance = Clearance(kind=ToolKind.READ, proven=True, rule="bench", targets=(), timeout=1.0)
    result = ToolResult(content="all is well")
    with open_model_span(ladder, question) as span:
        reply = Draft().reply(question, ladder)
        note_reply(span, question, reply, failure=None)
    tally.count_reply(reply)
    with structlog.contextvars.bound_contextvars(call_id=str(call.call_id)), open_tool_span(call) as span:
        note_result(span, call, result)
    tally.count_result(ClearedCall(call=call, tool=tool, arguments={}, clearance=clearance), result, seconds=0.1)


def _measure_scrape() -> tuple[float, int]:
    metrics = Metrics()
    for number in range(_SCRAPED):
        tool = (f"server-{number % 10}", f"tool-{number}")
        metrics.count(TOOL_CALLS, tool)
        metrics.count(TOOL_ERRORS, (*tool, "TIMEOUT"))
        metrics.observe(TOOL_SECONDS, tool, seconds=0.2)
    costs: list[float] = []
    text = b""
    for _ in range(15):
        began = time.process_time()
        text = metrics.render() or b""
        costs.append(time.process_time() - began)
    return median(costs), len(text.splitlines())


@asynccontextmanager
async def _collector() -> AsyncGenerator[str]:
    program = (sys.executable, "-m", "tests.fakes.otlp_collector")
    process = await asyncio.create_subprocess_exec(*program, stdout=PIPE, cwd=_ROOT)
    try:
        if process.stdout is None:
            raise RuntimeError("the collector has no output")
        yield (await process.stdout.readline()).decode().strip()
    finally:
        process.kill()
        await process.wait()
