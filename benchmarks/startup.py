"""How long one waits for `midwatch`: its help against a bare Python, and a replica against the imports it cannot avoid.

The help costs processor time and little else, so that is what is compared. A replica waits for its database, so its
start is compared by the clock: until it calls itself healthy, on a data folder that is there already.
"""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

import psutil

from benchmarks.report import Check

_PROGRAM = str(Path(sys.executable).with_name("midwatch"))
_NOTHING = (sys.executable, "-c", "pass")
_HELP = (_PROGRAM, "--help")
_IMPORTS = (sys.executable, "-c", "import fastapi, uvicorn, asyncpg, mcp, pydantic")
_WAITING = (sys.executable, "-c", "import sys; sys.stdin.read()")
_MOST_TIMES_PYTHON = 3.0
_MOST_TIMES_IMPORTS = 3.0
_MOST_MEGABYTES = 150.0
_HELPS_PER_ROUND = 5
_REST = 2.0
_LIMIT = 60.0
_MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StartupFigures:
    """Medians: seconds, and bytes at rest."""

    python: float
    help: float
    imports: float
    start: float
    memory: float
    bare_memory: float

    @property
    def checks(self) -> list[Check]:
        return [
            Check(
                what="midwatch --help, against python -c pass",
                measured=self.help / self.python,
                target=_MOST_TIMES_PYTHON,
            ),
            Check(
                what="serve, from its start to healthy, against its imports",
                measured=self.start / self.imports,
                target=_MOST_TIMES_IMPORTS,
            ),
            Check(
                what="memory of a replica at rest, without its database",
                measured=self.memory / _MEGABYTE,
                target=_MOST_MEGABYTES,
                unit="MB",
            ),
        ]

    @property
    def notes(self) -> list[str]:
        return [
            f"python -c pass: {self.python * 1000:.1f} ms; midwatch --help: {self.help * 1000:.1f} ms (CPU)",
            f"serve to healthy: {self.start:.2f} s; its imports alone: {self.imports:.2f} s",
            f"memory at rest: {self.memory / _MEGABYTE:.0f} MB; a bare Python: {self.bare_memory / _MEGABYTE:.0f} MB",
        ]


@dataclass(frozen=True, slots=True)
class _Replica:
    seconds: float
    memory: int


def measure_startup(config_folder: Path, home: Path, *, rounds: int) -> StartupFigures:
    """Side by side in each round, so that both sides meet the same moods of the machine."""
    environ = {**os.environ, "MIDWATCH_HOME": str(home), "LOG_FORMAT": "json"}
    environ.pop("DATABASE_URL", None)
    for command in (_NOTHING, _HELP, _IMPORTS):
        measure_cpu(command)
    _start_once(config_folder, environ)  # makes the data folder
    costs: list[tuple[float, float]] = []
    imports: list[float] = []
    replicas: list[_Replica] = []
    for _ in range(rounds):
        costs += [(measure_cpu(_NOTHING), measure_cpu(_HELP)) for _ in range(_HELPS_PER_ROUND)]
        imports.append(_measure_time(_IMPORTS))
        replicas.append(_start_once(config_folder, environ))
    return StartupFigures(
        python=median(python for python, _ in costs),
        help=median(shown for _, shown in costs),
        imports=median(imports),
        start=median(replica.seconds for replica in replicas),
        memory=median(replica.memory for replica in replicas),
        bare_memory=_measure_bare_memory(),
    )


def measure_cpu(command: Sequence[str]) -> float:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)  # noqa: S603 -- the commands above
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command} failed")
    return usage.ru_utime + usage.ru_stime


def _measure_time(command: Sequence[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True)  # noqa: S603 -- the commands above
    return time.perf_counter() - began


def _start_once(config_folder: Path, environ: Mapping[str, str]) -> _Replica:
    began = time.perf_counter()
    with _running(config_folder, environ) as process:
        address = urlsplit(_read_url(process))
        while not _is_healthy(address.netloc):
            time.sleep(0.005)
        seconds = time.perf_counter() - began
        time.sleep(_REST)
        return _Replica(seconds, psutil.Process(process.pid).memory_info().rss)


@contextmanager
def _running(config_folder: Path, environ: Mapping[str, str]) -> Generator[subprocess.Popen[bytes]]:
    command = (_PROGRAM, "serve", "--config-dir", str(config_folder), "--port", "0")
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env=environ)  # noqa: S603 -- our own program
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=_LIMIT)


def _read_url(process: subprocess.Popen[bytes]) -> str:
    assert process.stderr is not None  # noqa: S101 -- it is a pipe
    for line in process.stderr:
        if line.startswith(b"{") and (entry := json.loads(line))["event"] == "serving":
            return entry["url"]
    raise RuntimeError("the replica ended while it started")


def _is_healthy(netloc: str) -> bool:
    connection = HTTPConnection(netloc, timeout=_LIMIT)
    try:
        connection.request("GET", "/health")
        answer = connection.getresponse()
        return answer.status == HTTPStatus.OK and json.loads(answer.read())["status"] == "healthy"
    finally:
        connection.close()


def _measure_bare_memory() -> float:
    with subprocess.Popen(_WAITING, stdin=subprocess.PIPE) as process:  # noqa: S603 -- the command above
        time.sleep(_REST)
        memory = psutil.Process(process.pid).memory_info().rss
        process.communicate(b"")
    return memory
