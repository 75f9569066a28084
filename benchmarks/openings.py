"""How long tool servers take to come up together, against the slowest of them alone."""

import sys
import time
from dataclasses import dataclass
from statistics import median

from benchmarks.report import Check
from benchmarks.workload import TOOL_PROGRAM
from midwatch.config.mcp import OURSELVES, McpServer, StdioTransport
from midwatch.tools.mcp.scope import Opening, Scopes, open_server_scope, open_servers

_PAUSES = (0.1, 0.2, 0.3, 0.4, 0.5)
"""Seconds that each server waits before it answers, as one does that first looks at what it is to serve."""
_MOST = 1.5
_PROGRAM = "import os, sys, time; time.sleep(float(sys.argv[1])); os.execv(sys.argv[2], sys.argv[2:])"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningFigures:
    """Seconds."""

    together: float
    slowest: float

    @property
    def checks(self) -> list[Check]:
        what = f"opening {len(_PAUSES)} stdio servers: time, against the slowest of them alone"
        return [Check(what=what, measured=self.together / self.slowest, target=_MOST)]

    @property
    def notes(self) -> list[str]:
        return [f"{len(_PAUSES)} stdio servers: {self.together:.2f} s together, the slowest alone {self.slowest:.2f} s"]


async def measure_openings(*, rounds: int) -> OpeningFigures:
    servers = {f"bench{number}": _configure(pause) for number, pause in enumerate(_PAUSES)}
    (*_, (name, slowest)) = servers.items()
    samples = [(await _open(servers), await _open({name: slowest})) for _ in range(rounds)]
    return OpeningFigures(
        together=median(sample[0] for sample in samples), slowest=median(sample[1] for sample in samples)
    )


def _configure(pause: float) -> McpServer:
    args = ("-c", _PROGRAM, str(pause), *TOOL_PROGRAM)
    return McpServer(transport=StdioTransport(type="stdio", command=sys.executable, args=args), run_as=OURSELVES)


async def _open(servers: dict[str, McpServer]) -> float:
    async with open_server_scope(Opening(environment={})) as scope:
        started = time.perf_counter()
        opened = await open_servers(servers, scopes=Scopes(), execution=scope)
        took = time.perf_counter() - started
    failures = [reason for reason in opened.values() if isinstance(reason, str)]
    if failures:
        raise RuntimeError("; ".join(failures))
    return took
