"""`midwatch llm-service` as a process that a test starts, asks, kills and drains."""

import asyncio
import os
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from midwatch.kit.json import decode
from tests.canaries import WATCH
from tests.commands import PROGRAM
from tests.waiting import eventually

_KEPT = ("PATH", "HOME", "LANG")


@dataclass(frozen=True, slots=True, kw_only=True)
class LlmProcess:
    process: Process
    log: Path
    port: int

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def exit_status(self, *, within: float = 20) -> int:
        async with asyncio.timeout(within):
            return await self.process.wait()

    def logged(self, event: str) -> list[dict[str, Any]]:
        return _read_log(self.log, event)


@asynccontextmanager
async def run_llm_service(
    folder: Path, *arguments: str | Path, port: int = 0, **environ: str
) -> AsyncGenerator[LlmProcess]:
    """Killed at the end of the block, unless it has ended by then."""
    log = folder / f"llm-service.{len(list(folder.glob('llm-service.*')))}.log"
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    with log.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(PROGRAM, "llm-service", "--port", str(port), *arguments),
            stdin=DEVNULL,
            stdout=DEVNULL,
            stderr=stderr,
            env={**kept, "LOG_FORMAT": "json", **environ},
        )
    try:
        [serving] = await eventually(lambda: _see_serving(process, log))
        yield LlmProcess(process=process, log=log, port=serving["port"])
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        WATCH.look_into(log)


def _see_serving(process: Process, log: Path) -> list[dict[str, Any]]:
    assert process.returncode is None, log.read_text(encoding="utf-8")
    return _read_log(log, "serving_models")


def _read_log(log: Path, event: str) -> list[dict[str, Any]]:
    lines = log.read_bytes().split(b"\n")[:-1]
    return [entry for line in lines if line.startswith(b"{") and (entry := decode(line))["event"] == event]
