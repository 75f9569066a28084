"""Real replicas: `midwatch serve` as processes that a test starts, freezes, thaws and kills."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psutil

from midwatch.kit.json import decode
from tests.canaries import WATCH
from tests.fakes.processes import is_dead_soon
from tests.waiting import eventually

_PROGRAM = Path(sys.executable).with_name("midwatch")
_NOT_INHERITED = frozenset({"DATABASE_URL", "DB_HOST", "MIDWATCH_HOME", "CONFIG_DIR", "LOG_LEVEL"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    name: str
    process: Process
    log: Path
    http: httpx.AsyncClient

    async def submit(self, data: str = "The bilge pump runs hot.") -> UUID:
        answer = await self.http.post("/api/v1/alerts", json={"data": data})
        assert answer.status_code == 202, answer.text
        return UUID(answer.json()["session_id"])

    async def cancel(self, session_id: UUID) -> httpx.Response:
        return await self.http.post(f"/api/v1/sessions/{session_id}/cancel")

    async def show(self, session_id: UUID) -> dict[str, Any]:
        answer = await self.http.get(f"/api/v1/sessions/{session_id}")
        assert answer.is_success, answer.text
        return answer.json()

    async def show_timeline(self, session_id: UUID) -> list[dict[str, Any]]:
        answer = await self.http.get(f"/api/v1/sessions/{session_id}/timeline")
        assert answer.is_success, answer.text
        return answer.json()

    async def is_idle_and_healthy(self) -> bool:
        answer = await self.http.get("/health")
        pool = answer.json()["checks"]["worker_pool"]
        return answer.is_success and pool["status"] == "healthy" and not pool["busy_slots"]

    def logged(self, event: str) -> list[dict[str, Any]]:
        """Lines about this fact. A line that is only half written yet is not seen."""
        lines = self.log.read_bytes().split(b"\n")[:-1]
        return [entry for line in lines if line.startswith(b"{") and (entry := decode(line))["event"] == event]

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    async def kill(self) -> None:
        """Also ends a frozen one. Nothing it held is released."""
        if self.process.returncode is None:
            self.process.kill()
        await self.process.wait()

    async def exit_status(self, *, within: float = 20) -> int:
        async with asyncio.timeout(within):
            return await self.process.wait()


@dataclass(slots=True, kw_only=True)
class Fleet:
    """Replicas with one configuration and one database."""

    folder: Path
    """For their logs."""
    config_dir: Path
    environ: Mapping[str, str]
    """Where the database is."""
    replicas: list[Replica] = field(default_factory=list[Replica])

    @property
    def home(self) -> Path:
        """Shared, as the approver's secret should be."""
        return self.folder / "home"

    def read_secret(self) -> dict[str, str]:
        """What an approver sends along."""
        token = (self.home / "approver.token").read_text(encoding="utf-8").strip()
        return {"Authorization": f"Bearer {token}"}

    async def start(self, *names: str) -> list[Replica]:
        """Side by side: most of a start is waiting for a processor."""
        async with asyncio.TaskGroup() as group:
            starting = [group.create_task(self._start(name)) for name in names]
        return [task.result() for task in starting]

    async def _start(self, name: str) -> Replica:
        log = self.folder / f"{name}.{len(self.replicas)}.log"
        inherited = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
        inherited["MIDWATCH_HOME"] = str(self.home)
        with log.open("wb") as stderr:
            process = await asyncio.create_subprocess_exec(
                *(str(_PROGRAM), "serve", "--config-dir", str(self.config_dir), "--port", "0"),
                stdin=DEVNULL,
                stdout=DEVNULL,
                stderr=stderr,
                env={**inherited, **self.environ, "POD_ID": name, "LOG_FORMAT": "json"},
                start_new_session=True,
            )
        replica = Replica(name=name, process=process, log=log, http=httpx.AsyncClient(timeout=20))
        self.replicas.append(replica)
        serving = await eventually(lambda: _serving(replica), within=60)
        replica.http.base_url = httpx.URL(serving["url"])
        return replica

    async def stop(self) -> None:
        for replica in self.replicas:
            await replica.kill()
            await replica.http.aclose()
            WATCH.look_into(replica.log)


def _serving(replica: Replica) -> dict[str, Any] | None:
    assert replica.process.returncode is None, replica.log.read_text(encoding="utf-8")
    return next(iter(replica.logged("serving")), None)


@asynccontextmanager
async def open_fleet(folder: Path, *, config_dir: Path, environ: Mapping[str, str]) -> AsyncGenerator[Fleet]:
    fleet = Fleet(folder=folder, config_dir=config_dir, environ=environ)
    try:
        yield fleet
    finally:
        await fleet.stop()


def all_dead_soon(processes: list[psutil.Process]) -> bool:
    return all(is_dead_soon(process.pid) for process in processes)
