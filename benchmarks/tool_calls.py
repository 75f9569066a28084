"""What one tool call costs on a session that is held, over each transport, against the SDK's own client."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from benchmarks.report import Check
from benchmarks.workload import TOOL_PROGRAM
from midwatch.config.mcp import OURSELVES, McpServer, RemoteTransport, StdioTransport
from midwatch.domain.tools import Clearance, ClearedCall, ToolCall, ToolDefinition, ToolKind
from midwatch.kit.ids import new_id
from midwatch.tools.mcp.server import open_mcp_server

_TOOL = ToolDefinition(server="bench", name="lookup", description="", schema={})
_MOST = 1.3
_REMOTE_PROGRAM = str(Path(__file__).parents[1] / "tests/fakes/mcp_http_server.py")
_ARGUMENTS = {"key": "deck"}

Kind = Literal["stdio", "http", "sse"]
CallOnce = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class ToolCallFigures:
    """Milliseconds of CPU of one call, by transport."""

    floor: dict[Kind, float]
    ours: dict[Kind, float]

    @property
    def checks(self) -> list[Check]:
        return [
            Check(
                what=f"a tool call over {kind}: CPU, against the SDK's own client",
                measured=self.ours[kind] / self.floor[kind],
                target=_MOST,
            )
            for kind in self.floor
        ]

    @property
    def notes(self) -> list[str]:
        return [f"tool call over {kind}: {self.ours[kind]:.2f} ms, SDK {self.floor[kind]:.2f} ms" for kind in self.ours]


async def measure_tool_calls(*, rounds: int, calls: int = 300) -> ToolCallFigures:
    floor: dict[Kind, float] = {}
    ours: dict[Kind, float] = {}
    for kind in ("stdio", "http", "sse"):
        with _serve(kind) as port:
            samples = await _compare(kind, port, rounds=rounds, calls=calls)
        floor[kind] = median(sample[0] for sample in samples)
        ours[kind] = median(sample[1] for sample in samples)
    return ToolCallFigures(floor=floor, ours=ours)


async def _compare(kind: Kind, port: int, *, rounds: int, calls: int) -> list[tuple[float, float]]:
    async with _call_bare(kind, port) as bare, _call_ours(kind, port) as held:
        return [(await _cost(bare, calls), await _cost(held, calls)) for _ in range(rounds)]


async def _cost(call: CallOnce, calls: int) -> float:
    started = time.process_time()
    for _ in range(calls):
        await call()
    return (time.process_time() - started) / calls * 1000


@contextmanager
def _serve(kind: Kind) -> Generator[int]:
    """The port of a remote server; pipes need none."""
    if kind == "stdio":
        yield 0
        return
    command = (sys.executable, _REMOTE_PROGRAM, "--transport", kind, *TOOL_PROGRAM[2:])
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:  # noqa: S603 - our own
        try:
            yield int(process.stdout.readline() if process.stdout else 0)
        finally:
            os.killpg(process.pid, signal.SIGKILL)


@asynccontextmanager
async def _call_bare(kind: Kind, port: int) -> AsyncGenerator[CallOnce]:
    match kind:
        case "stdio":
            transport = stdio_client(StdioServerParameters(command=TOOL_PROGRAM[0], args=list(TOOL_PROGRAM[1:])))
        case "http":
            transport = streamable_http_client(_url(kind, port))
        case "sse":
            transport = sse_client(_url(kind, port))
    async with Client(transport) as client:
        yield lambda: client.call_tool(_TOOL.name, _ARGUMENTS)


@asynccontextmanager
async def _call_ours(kind: Kind, port: int) -> AsyncGenerator[CallOnce]:
    transport = (
        StdioTransport(type="stdio", command=TOOL_PROGRAM[0], args=TOOL_PROGRAM[1:])
        if kind == "stdio"
        else RemoteTransport(type=kind, url=_url(kind, port))
    )
    config = McpServer(transport=transport, run_as=OURSELVES if kind == "stdio" else None)
    clearance = Clearance(kind=ToolKind.READ, proven=True, rule="bench", targets=(), timeout=60.0)
    call = ToolCall(call_id=new_id(), provider_id="bench", name=_TOOL.full_name, arguments="{}")
    cleared = ClearedCall(call=call, tool=_TOOL, arguments=_ARGUMENTS, clearance=clearance)
    async with open_mcp_server(_TOOL.server, config, environment={}) as tools:
        yield lambda: tools.call(cleared)


def _url(kind: Kind, port: int) -> str:
    return f"http://127.0.0.1:{port}/{'mcp' if kind == 'http' else 'sse'}"
