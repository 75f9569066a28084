"""What it costs to ask a model through the LLM service: CPU of both processes, against asking it from this one.

The asking process then does nothing but gRPC. The serving one asks the provider as this process would, and does gRPC on
top: what that one adds is its CPU less that of asking from here.
"""

import asyncio
import gc
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

from benchmarks.grpc_floor import BareCall, open_bare_call
from benchmarks.report import Check
from benchmarks.workload import serve_script
from midwatch.config.llm import OpenAiProvider
from midwatch.domain.messages import SystemMessage, UserMessage
from midwatch.llm.gateway import Gateway, Remote
from midwatch.llm.grpc.client import connect
from midwatch.llm.http import new_http_client
from midwatch.llm.model import ModelRequest, TextChunk

_CHUNKS = 20
_CHUNK = 20
_LIMIT = 60.0
_MODEL = "talker"
_MOST_TIMES_BARE = 2.5
_QUESTION = ModelRequest(
    messages=(SystemMessage(text="You investigate alerts. " * 100), UserMessage(text="The machine feels slow.")),
    tools=(),
    agent="benchmark",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TransportFigures:
    """Seconds of CPU for one call of twenty chunks."""

    here: float
    through: float
    """In both processes."""
    caller: float
    """In the asking one alone."""
    bare: float
    """A call with gRPC alone, in both processes: one message there and one back."""

    @property
    def added(self) -> float:
        return self.through - self.here

    @property
    def added_by_service(self) -> float:
        return self.added - self.caller

    @property
    def checks(self) -> list[Check]:
        return [
            Check(
                what=f"LLM service: CPU added to a call of {_CHUNKS} chunks, in bare gRPC calls",
                measured=self.added / self.bare,
                target=_MOST_TIMES_BARE,
            )
        ]

    @property
    def notes(self) -> list[str]:
        asked = f"{self.caller * 1000:.2f} ms where it is asked"
        served = f"{self.added_by_service * 1000:.2f} ms where it is served"
        return [
            f"a call of {_CHUNKS} chunks from this process: {self.here * 1000:.2f} ms CPU",
            f"through a service: {self.through * 1000:.2f} ms CPU in both processes",
            f"added by gRPC: {self.added * 1000:.2f} ms CPU, {asked} and {served}",
            f"a bare gRPC call: {self.bare * 1000:.2f} ms CPU in both processes",
        ]


async def measure_transport(folder: Path, *, rounds: int, calls: int = 200) -> TransportFigures:
    script = folder / "transport.json"
    turn = {"text": "x" * _CHUNK * _CHUNKS, "chunk_size": _CHUNK}
    script.write_text(json.dumps({"agents": {_MODEL: [turn]}}), encoding="utf-8")
    here: list[float] = []
    through: list[float] = []
    caller: list[float] = []
    bare: list[float] = []
    async with (
        serve_script(script) as base_url,
        new_http_client() as http,
        _run_service(folder, base_url=base_url) as service,
        connect(f"127.0.0.1:{service.port}", environ={}) as remote,
        open_bare_call() as floor,
    ):
        entry = OpenAiProvider(type="openai", model=_MODEL, base_url=base_url)
        gateway = Gateway(http=http, environ={}, folder=folder)
        for _ in range(rounds + 1):
            here.append(await _measure(gateway, entry, calls=calls, processes=[psutil.Process()]))
            ours, theirs = psutil.Process(), psutil.Process(service.pid)
            before = _cpu(ours)
            through.append(await _measure(remote, entry, calls=calls, processes=[ours, theirs]))
            caller.append((_cpu(ours) - before) / calls)
            bare.append(await _measure_bare(floor, calls=calls))
    # The first round pays for connections and imports.
    return TransportFigures(
        here=median(here[1:]), through=median(through[1:]), caller=median(caller[1:]), bare=median(bare[1:])
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Running:
    pid: int
    port: int


@asynccontextmanager
async def _run_service(folder: Path, *, base_url: str) -> AsyncGenerator[_Running]:
    program = (Path(sys.executable).with_name("midwatch"), "llm-service", "--port", "0", "--allow-address", base_url)
    log = folder / "llm-service.log"
    with log.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(*program, stderr=stderr, env={"LOG_FORMAT": "json"})
    try:
        async with asyncio.timeout(_LIMIT):
            while b"serving_models" not in (log_text := log.read_bytes()):  # noqa: ASYNC110 -- a log tells nobody
                await asyncio.sleep(0.02)
        yield _Running(pid=process.pid, port=json.loads(log_text.splitlines()[0])["port"])
    finally:
        process.kill()
        await process.wait()


async def _measure(opener: Remote, entry: OpenAiProvider, *, calls: int, processes: list[psutil.Process]) -> float:
    gc.collect()
    before = sum(map(_cpu, processes))
    model = opener.open("talker", entry)
    for _ in range(calls):
        said = [chunk async for chunk in model.stream(_QUESTION) if isinstance(chunk, TextChunk)]
        if len(said) != _CHUNKS:
            raise RuntimeError(f"{len(said)} chunks came instead of {_CHUNKS}")
    return (sum(map(_cpu, processes)) - before) / calls


async def _measure_bare(floor: BareCall, *, calls: int) -> float:
    gc.collect()
    processes = [psutil.Process(), psutil.Process(floor.pid)]
    before = sum(map(_cpu, processes))
    for _ in range(calls):
        await floor.call()
    return (sum(map(_cpu, processes)) - before) / calls


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system
