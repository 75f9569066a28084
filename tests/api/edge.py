"""The edge as clients meet it: the whole service behind a real socket, in this process."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import httpx
import uvicorn

from midwatch.api.app import create_app
from midwatch.api.server import server_settings
from midwatch.api.state import State
from midwatch.config.env import read_env
from midwatch.config.load import load_config
from midwatch.kit import json
from midwatch.running import Service
from midwatch.store.engine import Store
from midwatch.wiring import Plan, open_service
from tests.fakes.mcp_process import FAKE_SERVER

Turn = dict[str, Any]

CONCLUSION: Turn = {"text": "The deck is dry.", "usage": {"input_tokens": 30, "output_tokens": 4}}
SUMMARY: Turn = {"text": "In short: dry."}
"""What every session that completes is summed up in. It uses nothing up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    service: Service
    store: Store
    http: httpx.AsyncClient
    port: int

    async def count_sessions(self) -> int:
        async with self.store.connect() as tx:
            return await tx.fetchval("SELECT count(*) FROM alert_sessions")

    async def submit(self, data: str = "The bilge pump runs hot.") -> str:
        answer = await self.http.post("/api/v1/alerts", json={"data": data})
        assert answer.status_code == 202, answer.text
        return answer.json()["session_id"]

    async def show(self, session_id: str) -> dict[str, Any]:
        return (await self.http.get(f"/api/v1/sessions/{session_id}")).json()

    async def send_raw(self, request: bytes) -> bytes:
        """Bytes as they are, for requests that no client would send."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        try:
            writer.write(request)
            async with asyncio.timeout(60):
                return await reader.readuntil(b"\r\n")
        finally:
            writer.close()


def call(tool: str, **arguments: Any) -> Turn:
    return {
        "thinking": "I should look.",
        "text": "I look.",
        "calls": [{"name": f"deck.{tool}", "arguments": arguments}],
        "usage": {"input_tokens": 10, "output_tokens": 2},
    }


def write_config(folder: Path, *, turns: Sequence[Turn] = (CONCLUSION,)) -> None:
    """JSON is YAML too."""
    transport = {"type": "stdio", "command": sys.executable, "args": [str(FAKE_SERVER)]}
    main = {
        "defaults": {"llm_provider": "script", "alert_type": "deck"},
        "mcp_servers": {"deck": {"transport": transport, "run_as": "self", "kinds": {"read": ["*"]}}},
        "agents": {"Mate": {"mcp_servers": ["deck"]}},
        "agent_chains": {name: _chain(name) for name in ("deck", "engine")},
        "queue": {"worker_count": 2, "heartbeat_interval": "10s", "graceful_shutdown_timeout": "1s"},
    }
    files = {
        "midwatch.yaml": main,
        "llm-providers.yaml": {"llm_providers": {"script": {"type": "scripted", "script": "script.yaml"}}},
        "script.yaml": {"agents": {"Mate": list(turns), "ExecSummaryAgent": [SUMMARY]}},
    }
    for name, content in files.items():
        (folder / name).write_text(json.encode_text(content), encoding="utf-8")


def _chain(name: str) -> dict[str, Any]:
    return {"alert_types": [name], "stages": [{"name": "watch", "agents": [{"name": "Mate"}]}]}


async def _know_nobody(host: str, port: int) -> NoReturn:
    raise socket.gaierror(socket.EAI_NONAME, f"{host}:{port}")


@asynccontextmanager
async def open_edge(folder: Path, dsn: str, **settings: Any) -> AsyncGenerator[Edge]:
    """Nothing works on sessions before the service is run."""
    env = read_env({"DATABASE_URL": dsn, "MIDWATCH_HOME": str(folder)})
    plan = Plan(config=load_config(folder, environ={}), env=env, environ=os.environ, resolve=_know_nobody)
    async with open_service(plan) as service, serve_state(service.state, **settings) as (http, port):
        yield Edge(service=service, store=service.store, http=http, port=port)


@asynccontextmanager
async def serve_state(state: State, **settings: Any) -> AsyncGenerator[tuple[httpx.AsyncClient, int]]:
    """`settings` are those of `create_app`."""
    app = create_app(state, **settings)
    server = _Server(server_settings(app))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        port = listener.getsockname()[1]
        async with asyncio.TaskGroup() as group:
            group.create_task(server.serve(sockets=[listener]))
            try:
                async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20) as http:
                    yield http, port
            finally:
                server.should_exit = True


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@asynccontextmanager
async def running(edge: Edge) -> AsyncGenerator[None]:
    async with asyncio.TaskGroup() as group:
        group.create_task(edge.service.run())
        try:
            yield
        finally:
            edge.service.drain()
