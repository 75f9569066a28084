"""The feed over WebSockets: how long a token is under way while many sessions stream, and what a reader costs."""

import asyncio
import gc
import json
import socket
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from uuid import UUID

import uvicorn
from starlette.types import Receive, Scope, Send
from websockets.asyncio.client import ClientConnection, connect

from benchmarks.replica import open_replica
from benchmarks.report import Check
from midwatch.api.app import create_app
from midwatch.api.server import server_settings
from midwatch.domain.timeline import EventType, TimelineType
from midwatch.kit.ids import new_id
from midwatch.running import Service
from midwatch.store.sessions import NewSession, insert_session, request_cancel
from midwatch.timeline.flush import LiveStream

_CLIENTS = 500
_MESSAGES = 40
_ROUNDS = 3
_SESSIONS = 20
_WORD = "word "
_WORDS = 100
_PAUSE = 0.01
_GRACE = 0.02
_MOST_SENDS = 1.4
"""Where a bare send takes 18 µs that is 25 µs."""
_TEXT = "Step by step the load of the machine went up, and nobody had touched it. "
_LIMIT = 120.0
_SHUTDOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedFigures:
    """Medians in seconds."""

    token: float
    interval: float
    ours: float
    floor: float

    @property
    def checks(self) -> list[Check]:
        return [
            Check(
                what=f"token to WebSocket with {_SESSIONS} sessions streaming, in flush intervals and 20 ms",
                measured=self.token / (self.interval + _GRACE),
                target=1.0,
            ),
            Check(
                what=f"CPU of a message to one of {_CLIENTS} clients, in bare sends",
                measured=self.ours / self.floor,
                target=_MOST_SENDS,
            ),
        ]

    @property
    def notes(self) -> list[str]:
        return [
            f"token to WebSocket: {self.token * 1000:.1f} ms, flushed every {self.interval * 1000:.0f} ms",
            f"CPU of a message to one of {_CLIENTS} clients: {self.ours * 1e6:.1f} µs",
            f"CPU of a bare send: {self.floor * 1e6:.1f} µs",
        ]


async def measure_feed(config_folder: Path, dsn: str) -> FeedFigures:
    async with asyncio.timeout(_LIMIT), open_replica(config_folder, dsn) as replica:
        service = replica.service
        async with _served(server_settings(create_app(service.state))) as port:
            token = await _measure_tokens(service, port)
            ours = await _measure_ours(service, port)
        floor = await _measure_floor()
    return FeedFigures(token=token, interval=service.flusher.interval, ours=ours, floor=floor)


async def _measure_tokens(service: Service, port: int) -> float:
    """The median time from a token's arrival at the flusher to its arrival at a client, of all sessions together."""
    sessions = [await _add_session(service) for _ in range(_SESSIONS)]
    delays: list[float] = []
    async with asyncio.TaskGroup() as group:
        for session_id in sessions:
            group.create_task(_follow(service, session_id, port, delays=delays))
    return median(delays)


async def _follow(service: Service, session_id: UUID, port: int, *, delays: list[float]) -> None:
    """Streams into one session and reads its channel; the n-th word that comes is the n-th that went."""
    sent: list[float] = []
    async with connect(f"ws://127.0.0.1:{port}/api/v1/ws", proxy=None, compression=None) as client:
        await client.send(json.dumps({"action": "subscribe", "channel": f"session:{session_id}"}))
        while json.loads(await client.recv())["type"] != "subscription.confirmed":
            pass
        async with asyncio.TaskGroup() as group:
            group.create_task(_stream(service, session_id, sent=sent))
            await _read_tokens(client, sent=sent, delays=delays)


async def _stream(service: Service, session_id: UUID, *, sent: list[float]) -> None:
    stream = LiveStream(new_id(), session_id, new_id(), new_id(), TimelineType.LLM_RESPONSE, epoch=0)
    for _ in range(_WORDS):
        await asyncio.sleep(_PAUSE)
        sent.append(time.perf_counter())
        service.flusher.stream(stream, _WORD)


async def _read_tokens(client: ClientConnection, *, sent: list[float], delays: list[float]) -> None:
    received = 0
    while received < _WORDS:
        event = json.loads(await client.recv())
        if event["type"] == EventType.STREAM_CHUNK:
            now = time.perf_counter()
            come = len(event["delta"]) // len(_WORD)
            delays += [now - moment for moment in sent[received : received + come]]
            received += come


async def _measure_ours(service: Service, port: int) -> float:
    session_id = await _add_session(service)

    def send() -> None:
        service.flusher.send(session_id, {"type": EventType.STREAM_CHUNK, "event_id": str(new_id()), "delta": _TEXT})

    async with _crowd(port, f"session:{session_id}") as crowd:
        return await _measure_sends(send, crowd)


async def _measure_floor() -> float:
    bare = _Bare()
    settings = uvicorn.Config(
        bare,
        ws="websockets-sansio",
        ws_per_message_deflate=False,
        lifespan="off",
        log_config=None,
        timeout_graceful_shutdown=_SHUTDOWN,
    )
    async with _served(settings) as port, _crowd(port, "any") as crowd:
        return await _measure_sends(bare.send, crowd)


async def _measure_sends(send: Callable[[], None], crowd: "_Crowd") -> float:
    """CPU seconds of this process for each message that one client was sent."""
    await _measure_round(send, crowd)  # warms up
    return median([await _measure_round(send, crowd) for _ in range(_ROUNDS)])


async def _measure_round(send: Callable[[], None], crowd: "_Crowd") -> float:
    gc.collect()
    cpu = time.process_time()
    for _ in range(_MESSAGES):
        send()
        await crowd.wait_told()
    return (time.process_time() - cpu) / (_MESSAGES * _CLIENTS)


@dataclass(slots=True)
class _Bare:
    """The least that sends one text to many: a connection waits for it and sends it."""

    _waiting: list[asyncio.Queue[str]] = field(default_factory=list[asyncio.Queue[str]])

    def send(self) -> None:
        event = {"type": EventType.STREAM_CHUNK, "event_id": str(new_id()), "delta": _TEXT}
        text = json.dumps(event, separators=(",", ":"))
        for queue in self._waiting:
            queue.put_nowait(text)

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        queue = asyncio.Queue[str]()
        await receive()
        await send({"type": "websocket.accept"})
        await receive()
        async with asyncio.TaskGroup() as group:
            pump = group.create_task(self._pump(queue, send))
            await receive()
            pump.cancel()

    async def _pump(self, queue: asyncio.Queue[str], send: Send) -> None:
        self._waiting.append(queue)
        await send({"type": "websocket.send", "text": "subscription.confirmed"})
        while True:
            await send({"type": "websocket.send", "text": await queue.get()})


@dataclass(frozen=True, slots=True)
class _Crowd:
    process: Process

    async def wait_told(self) -> None:
        """Until all clients have been sent one event more."""
        await self._read_line()

    async def _read_line(self) -> None:
        if self.process.stdout is None or not await self.process.stdout.readline():
            raise RuntimeError("the clients have stopped")


@asynccontextmanager
async def _crowd(port: int, channel: str) -> AsyncGenerator[_Crowd]:
    program = (sys.executable, "-m", "benchmarks.feed_clients", str(port), channel, str(_CLIENTS))
    process = await asyncio.create_subprocess_exec(*program, stdout=PIPE)
    crowd = _Crowd(process)
    try:
        await crowd.wait_told()
        yield crowd
    finally:
        process.kill()
        await process.wait()


async def _add_session(service: Service) -> UUID:
    """One that nobody runs."""
    new = NewSession(
        session_id=new_id(),
        alert_type="feed",
        alert_data="-",
        chain_id="feed",
        chain={"stages": []},
        author="benchmark",
    )
    async with service.store.begin() as tx:
        await insert_session(tx, new)
        await request_cancel(tx, new.session_id)
    return new.session_id


@asynccontextmanager
async def _served(settings: uvicorn.Config) -> AsyncGenerator[int]:
    server = _Server(settings)
    with socket.create_server(("127.0.0.1", 0), backlog=_CLIENTS) as listener:
        async with asyncio.TaskGroup() as group:
            group.create_task(server.serve(sockets=[listener]))
            yield listener.getsockname()[1]
            server.should_exit = True


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield
