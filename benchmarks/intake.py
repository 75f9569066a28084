"""How many alerts are accepted in a second, against a FastAPI route that only inserts the same rows.

Each is served by uvicorn in a process of its own, on the same database; sixteen clients in this process send over plain
sockets, so that they cost little beside what they measure. Short bursts alternate between the two, and each burst is
compared with its neighbour: what else the machine does then hits both.
"""

import asyncio
import json
import os
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.report import Check

_ROOT = Path(__file__).parents[1]
_CLIENTS = 16
_ALERTS_PER_CLIENT = 40
_BURSTS_PER_ROUND = 3
_LEAST_OF_FLOOR = 0.7
_LIMIT = 120.0
_ALERT = {
    "status": "firing",
    "labels": {"alertname": "PumpRunsHot", "namespace": "engine-room", "pod": "pump-3-7d9f", "severity": "critical"},
    "annotations": {"summary": "Pump three has been above 90 degrees for ten minutes.", "value": "93.4"},
    "startsAt": "2024-05-01T03:12:45Z",
    "generatorURL": "http://prometheus.ship/graph?g0.expr=pump_celsius",
    "log": "pump-3: pressure 2.1 bar, 1480 rpm, bearing 93.4 C; cooling valve open; no operator present. " * 6,
}


class NotAccepted(Exception):
    """A server turned an alert away, so its speed says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeFigures:
    """Medians."""

    floor: float
    ours: float
    """Alerts a second."""
    ratio: float
    clients: float
    """The part of one core that they took."""

    @property
    def checks(self) -> list[Check]:
        return [
            Check(
                what=f"alerts accepted a second by {_CLIENTS} clients, against the floor",
                measured=self.ratio,
                target=_LEAST_OF_FLOOR,
                at_least=True,
            )
        ]

    @property
    def notes(self) -> list[str]:
        return [
            f"alerts accepted a second: {self.ours:.0f}; by a route that only inserts: {self.floor:.0f}",
            f"the clients that sent them were busy {self.clients:.0%} of the time",
        ]


async def measure_intake(config_folder: Path, dsn: str, *, alert_type: str, rounds: int) -> IntakeFigures:
    request = _render_request(alert_type)
    floor: list[float] = []
    ours: list[float] = []
    busy: list[float] = []
    async with _server("floor", config_folder, dsn) as floor_port, _server("ours", config_folder, dsn) as our_port:
        for port in (floor_port, our_port):
            await _measure_rate(port, request)  # warms up
        for _ in range(rounds * _BURSTS_PER_ROUND):
            for port, rates in ((floor_port, floor), (our_port, ours)):
                rate, part = await _measure_rate(port, request)
                rates.append(rate)
                busy.append(part)
    ratios = [rate / least for rate, least in zip(ours, floor, strict=True)]
    return IntakeFigures(floor=median(floor), ours=median(ours), ratio=median(ratios), clients=median(busy))


async def _measure_rate(port: int, request: bytes) -> tuple[float, float]:
    began, cpu = time.perf_counter(), time.process_time()
    async with asyncio.timeout(_LIMIT), asyncio.TaskGroup() as group:
        for _ in range(_CLIENTS):
            group.create_task(_send_alerts(port, request))
    wall = time.perf_counter() - began
    return _CLIENTS * _ALERTS_PER_CLIENT / wall, (time.process_time() - cpu) / wall


async def _send_alerts(port: int, request: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for _ in range(_ALERTS_PER_CLIENT):
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 202 "):
                raise NotAccepted(head.decode())
            await reader.readexactly(_body_length(head))
    finally:
        writer.close()


def _body_length(head: bytes) -> int:
    return int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])


def _render_request(alert_type: str) -> bytes:
    body = json.dumps({"alert_type": alert_type, "data": json.dumps(_ALERT)}).encode()
    head = "POST /api/v1/alerts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@asynccontextmanager
async def _server(which: str, config_folder: Path, dsn: str) -> AsyncGenerator[int]:
    """The port on which it answers."""
    program = (sys.executable, "-m", "benchmarks.intake_server", which, str(config_folder))
    environ = {**os.environ, "DATABASE_URL": dsn}
    process = await asyncio.create_subprocess_exec(*program, stdout=PIPE, cwd=_ROOT, env=environ)
    try:
        if process.stdout is None:
            raise RuntimeError("the server has no output")
        yield int(await process.stdout.readline())
    finally:
        process.kill()
        await process.wait()
