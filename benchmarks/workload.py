"""What is played in every measurement: a scripted model and a small tool server, each in a process of its own."""

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]
_LOOKUP_BYTES = 300
_CHUNK = 20
_THINKING = "The load is high but steady, the disks are half empty, and nobody has touched the machine for days. " * 2

SERVER = "deck"
TOOL_PROGRAM = (sys.executable, str(_ROOT / "tests/fakes/mcp_server.py"), "--lookup-bytes", str(_LOOKUP_BYTES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """So many turns that each call one tool, and then a conclusion."""

    iterations: int
    thinking: bool = False
    stages: int = 1
    """All alike."""

    @property
    def name(self) -> str:
        """Names the model, its provider, the chain and the type of alert."""
        stages = f"-in-{self.stages}-stages" if self.stages > 1 else ""
        return f"{'thinking' if self.thinking else 'plain'}-{self.iterations}{stages}"


@asynccontextmanager
async def serve_model(folder: Path, workloads: list[Workload]) -> AsyncGenerator[str]:
    """The base URL under which the model of each workload answers."""
    script = folder / "script.yaml"
    # JSON is YAML.
    _write(script, {"agents": {workload.name: _write_turns(workload) for workload in workloads}})
    async with serve_script(script) as base_url:
        yield base_url


@asynccontextmanager
async def serve_script(script: Path) -> AsyncGenerator[str]:
    program = (sys.executable, "-m", "tests.fakes.openai_server", "--script", str(script))
    process = await asyncio.create_subprocess_exec(*program, stdout=PIPE, cwd=_ROOT)
    try:
        if process.stdout is None:
            raise RuntimeError("the model server has no output")
        yield (await process.stdout.readline()).decode().strip().removeprefix("listening on ")
    finally:
        process.kill()
        await process.wait()


def write_config(folder: Path, workloads: list[Workload], *, base_url: str) -> Path:
    """A configuration folder with one chain for each workload."""
    _write(
        folder / "llm-providers.yaml",
        {"llm_providers": {w.name: {"type": "openai", "model": w.name, "base_url": base_url} for w in workloads}},
    )
    command, *arguments = TOOL_PROGRAM
    _write(
        folder / "midwatch.yaml",
        {
            "mcp_servers": {
                SERVER: {
                    "transport": {"type": "stdio", "command": command, "args": arguments},
                    "run_as": "self",
                    "kinds": {"read": ["*"]},
                }
            },
            "agents": {"Watch": {"mcp_servers": [SERVER]}},
            "agent_chains": {w.name: _write_chain(w) for w in workloads},
            "defaults": {"llm_provider": workloads[0].name},
        },
    )
    return folder


def _write_chain(workload: Workload) -> dict[str, Any]:
    return {
        "alert_types": [workload.name],
        "llm_provider": workload.name,
        "max_iterations": workload.iterations + 5,
        "stages": [{"name": "investigation", "agents": [{"name": "Watch"}]}] * workload.stages,
    }


def _write_turns(workload: Workload) -> list[dict[str, Any]]:
    turns = [_write_turn(number, thinking=workload.thinking) for number in range(workload.iterations)]
    return [*turns, {"text": "All is well on deck: the load is high because the nightly backup is running."}]


def _write_turn(number: int, *, thinking: bool) -> dict[str, Any]:
    return {
        "text": f"Step {number}: I look at the next host of the list and compare.",
        "thinking": f"{number}: {_THINKING}" if thinking else "",
        "calls": [{"name": f"{SERVER}.lookup", "arguments": {"key": f"host-{number}"}}],
        "usage": {"input_tokens": 1000 + number, "output_tokens": 40},
        "chunk_size": _CHUNK,
    }


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content), encoding="utf-8")
