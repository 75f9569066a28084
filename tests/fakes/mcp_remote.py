"""How tests start tool servers behind HTTP, and how they kill them."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from midwatch.config.mcp import McpServer, RemoteTransport

HTTP_SERVER = Path(__file__).with_name("mcp_http_server.py")

Kind = Literal["http", "sse"]
_PATHS: dict[Kind, str] = {"http": "/mcp", "sse": "/sse"}


@dataclass(kw_only=True)
class RemoteServer:
    kind: Kind
    command: tuple[str, ...]
    port: int = 0
    process: asyncio.subprocess.Process | None = field(default=None, repr=False)

    async def start(self) -> None:
        """Again on the port it had before, if it had one."""
        again = ("--port", str(self.port)) if self.port else ()
        self.process = await asyncio.create_subprocess_exec(
            *self.command, *again, stdout=asyncio.subprocess.PIPE, start_new_session=True
        )
        assert self.process.stdout is not None
        self.port = int(await self.process.stdout.readline())

    async def kill(self) -> None:
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            await self.process.wait()
            self.process._transport.close()  # pyright: ignore - asyncio has no public way to close its pipes
            self.process = None

    def configure(self, *, scheme: str = "http", **changes: Any) -> McpServer:
        url = f"{scheme}://127.0.0.1:{self.port}{_PATHS[self.kind]}"
        return McpServer(transport=RemoteTransport.model_validate({"type": self.kind, "url": url, **changes}))


@asynccontextmanager
async def serve_remotely(kind: Kind, *options: str, program: Path = HTTP_SERVER) -> AsyncGenerator[RemoteServer]:
    server = RemoteServer(kind=kind, command=(sys.executable, str(program), "--transport", kind, *options))
    await server.start()
    try:
        yield server
    finally:
        await server.kill()


def read_requests(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
