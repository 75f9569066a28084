"""A server that plays a session: what REST shows is set by the test, and each WebSocket connection gets its own act."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

Event = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class FeedServer:
    """After its act a connection is cut, except the last one, which lasts until the client leaves."""

    session: dict[str, Any]
    timeline: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    acts: list[list[Event]] = field(default_factory=list[list[Event]])
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """The subscriptions, in the order of the connections."""
    requests: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    answers: list[tuple[int, Any]] = field(default_factory=list[tuple[int, Any]])
    """What is said to alerts, one after another; the last stays."""
    has_feed: bool = True
    keys: list[str] = field(default_factory=list[str])

    async def show(self, request: Request) -> JSONResponse:
        self.requests.append((request.method, request.url.path))
        return JSONResponse(self.timeline if request.url.path.endswith("/timeline") else self.session)

    async def accept(self, request: Request) -> JSONResponse:
        self.keys.append(request.headers["idempotency-key"])
        status, body = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return JSONResponse(body, status_code=status)

    async def feed(self, client: WebSocket) -> None:
        await client.accept()
        await client.send_json({"type": "connection.established", "connection_id": "one"})
        self.asked.append(await client.receive_json())
        act = self.acts.pop(0)
        for event in act:
            await client.send_json(event)
        if self.acts:
            await client.close(1011)
            return
        with suppress(WebSocketDisconnect):
            await client.receive_json()


@asynccontextmanager
async def serve_feed(server: FeedServer) -> AsyncGenerator[str]:
    """Its address."""
    routes = [
        Route("/api/v1/alerts", server.accept, methods=["POST"]),
        Route("/api/v1/sessions/{rest:path}", server.show, methods=["GET", "POST"]),
        *([WebSocketRoute("/api/v1/ws", server.feed)] if server.has_feed else []),
    ]
    settings = uvicorn.Config(Starlette(routes=routes), log_config=None, lifespan="off", ws="websockets-sansio")
    http = _Server(settings)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        async with asyncio.TaskGroup() as group:
            group.create_task(http.serve(sockets=[listener]))
            try:
                yield f"http://127.0.0.1:{listener.getsockname()[1]}"
            finally:
                http.should_exit = True


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
