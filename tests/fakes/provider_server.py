"""A loopback server that speaks a provider's streaming protocol over real HTTP, from a script.

The conversation in the request decides the answer, so a client that starts anew is served where it left off.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, cast, final

from midwatch.kit import json
from midwatch.llm.scripted import THE_END, ScriptedTurn, Turns, choose_step

Body = dict[str, Any]


@final
class Cut:
    """The connection is dropped here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """An answer that is not a stream."""

    status: int
    body: bytes = b"{}"
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream piece by piece: bytes are sent, an event is waited for, a cut ends the connection."""

    pieces: Sequence[bytes | asyncio.Event | Cut]


Reply = ScriptedTurn | Status | Stream

SUMMARY = ScriptedTurn(text="In short: the pump ran dry.")
"""What every session that completes is summed up in, unless a test says otherwise."""
_SUMMARY_AGENT = b"You are ExecSummaryAgent"
Answer = Callable[[Body], Reply]
BeforeTurn = Callable[[int], Coroutine[Any, Any, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    path: str
    headers: dict[str, str]
    body: Body
    connection: int
    """Counts connections, to see whether one was used again."""
    data: bytes = b""
    """The body as it came."""


def in_order(replies: Iterable[Reply]) -> Answer:
    """One reply after another, whatever is asked: for a client that asks again."""
    remaining = iter(replies)
    return lambda _body: next(remaining)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What the protocols of the providers differ in."""

    path: str
    """How the address ends that questions are sent to."""
    count_turns: Callable[[Body], int]
    list_events: Callable[[ScriptedTurn, int], list[bytes]]
    """The n-th turn, event by event."""

    def by_turn(self, replies: Sequence[Reply]) -> Answer:
        """The n-th reply to a conversation in which the model has spoken n times."""
        return lambda body: replies[self.count_turns(body)] if self.count_turns(body) < len(replies) else THE_END

    def from_script(self, turns: Turns) -> Answer:
        """A script of several parts is routed by the name of the model that is asked for."""

        def answer(body: Body) -> Reply:
            step = choose_step(turns, part=str(body.get("model")), number=self.count_turns(body))
            return step if isinstance(step, ScriptedTurn) else THE_END

        return answer

    def cut_after(self, turn: ScriptedTurn, events: int) -> Stream:
        return Stream([*self.list_events(turn, 0)[:events], Cut()])

    def stall_after(self, turn: ScriptedTurn, events: int, *, release: asyncio.Event) -> Stream:
        written = self.list_events(turn, 0)
        return Stream([*written[:events], release, *written[events:]])

    def malformed_after(self, turn: ScriptedTurn, events: int) -> Stream:
        return Stream([*self.list_events(turn, 0)[:events], b'data: {"choices": [\n\n'])


@dataclass(slots=True, kw_only=True)
class ProviderServer:
    dialect: Dialect
    answer: Answer
    before_turn: BeforeTurn | None = None
    delay: float = 0.0
    record: bool = True
    summary: Reply = SUMMARY
    base_url: str = ""
    requests: list[Received] = field(default_factory=list[Received])
    summaries: list[Received] = field(default_factory=list[Received])
    """Questions for a summary. They are no turn of a script, and so they are held and kept apart."""
    asked: asyncio.Event = field(default_factory=asyncio.Event)
    """A request has come."""
    disconnected: asyncio.Event = field(default_factory=asyncio.Event)
    """A client went away before its answer was complete."""
    connections: int = 0
    _writers: dict[asyncio.StreamWriter, asyncio.Event] = field(
        default_factory=dict[asyncio.StreamWriter, asyncio.Event]
    )

    @property
    def open_connections(self) -> int:
        return len(self._writers)

    async def serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        connection = self.connections
        closed = self._writers[writer] = asyncio.Event()
        try:
            while await self._serve_request(reader, writer, connection=connection):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            del self._writers[writer]
            closed.set()

    async def see_all_leave(self) -> None:
        """Waits until every client has closed its connection by itself."""
        for closed in list(self._writers.values()):
            await closed.wait()

    async def close(self) -> None:
        """Drops every connection and waits until nobody serves one any more."""
        remaining = dict(self._writers)
        for writer in remaining:
            writer.transport.abort()
        for closed in remaining.values():
            await closed.wait()

    async def _serve_request(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, connection: int
    ) -> bool:
        path, headers = _read_head(await reader.readuntil(b"\r\n\r\n"))
        if path == "*":
            # A stranger, such as a gRPC client whose own server had this port before.
            return False
        data = await reader.readexactly(int(headers.get("content-length", "0")))
        if not path.partition("?")[0].endswith(self.dialect.path):
            return await _write_status(writer, Status(status=404, body=b'{"detail":"Not Found"}'))
        body = cast("Body", json.decode(data))
        received = Received(path=path, headers=headers, body=body, connection=connection, data=data)
        if _SUMMARY_AGENT in data:
            if self.record:
                self.summaries.append(received)
            return await self._write_reply(reader, writer, reply=self.summary, number=0)
        if self.record:
            self.requests.append(received)
        self.asked.set()
        return await self._reply(reader, writer, body=body)

    async def _reply(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, body: Body) -> bool:
        number = self.dialect.count_turns(body)
        try:
            await self._prepare(reader, number)
            return await self._write_reply(reader, writer, reply=self.answer(body), number=number)
        except ConnectionError:
            self.disconnected.set()
            raise

    async def _prepare(self, reader: asyncio.StreamReader, number: int) -> None:
        if self.before_turn is not None:
            await _wait_for(self.before_turn(number), reader)
        if self.delay:
            await _wait_for(asyncio.sleep(self.delay), reader)

    async def _write_reply(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, reply: Reply, number: int
    ) -> bool:
        if isinstance(reply, ScriptedTurn):
            reply = self._stage(reply, number)
        if isinstance(reply, Status):
            return await _write_status(writer, reply)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for piece in reply.pieces:
            if isinstance(piece, Cut):
                return False
            if writer.is_closing():
                raise ConnectionResetError
            if isinstance(piece, asyncio.Event):
                await _wait_for(piece.wait(), reader)
            else:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    def _stage(self, turn: ScriptedTurn, number: int) -> Status | Stream:
        if (error := turn.error) is None:
            return Stream(self.dialect.list_events(turn, number))
        status = {"credentials": 401, "invalid_request": 400}.get(error.code, 503)
        return Status(status=status, body=json.encode({"error": {"message": str(error)}}))


@asynccontextmanager
async def serve_dialect(
    answer: Answer,
    *,
    dialect: Dialect,
    port: int = 0,
    before_turn: BeforeTurn | None = None,
    delay: float = 0.0,
    record: bool = True,
    summary: Reply = SUMMARY,
) -> AsyncGenerator[ProviderServer]:
    server = ProviderServer(
        dialect=dialect, answer=answer, before_turn=before_turn, delay=delay, record=record, summary=summary
    )
    listener = await asyncio.start_server(server.serve_connection, "127.0.0.1", port, limit=2**20)
    server.base_url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listener.close()
        await server.close()
        await listener.wait_closed()


def hold_turn(number: int, *, release: asyncio.Event) -> BeforeTurn:
    async def hold(turn: int) -> None:
        if turn == number:
            await release.wait()

    return hold


def hold_turn_while(number: int, *, is_held: Callable[[], bool]) -> BeforeTurn:
    """For a hold that another process ends, by removing a file."""

    async def hold(turn: int) -> None:
        if turn != number or not is_held():
            return
        say(f"holding turn {turn}")
        while is_held():  # noqa: ASYNC110 - nobody in this process could set an event
            await asyncio.sleep(0.01)

    return hold


def _read_head(head: bytes) -> tuple[str, dict[str, str]]:
    request_line, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    fields = (line.split(":", 1) for line in lines)
    return request_line.split(" ")[1], {name.lower(): value.strip() for name, value in fields}


async def _write_status(writer: asyncio.StreamWriter, reply: Status) -> bool:
    lines = [f"HTTP/1.1 {reply.status} Scripted", f"content-length: {len(reply.body)}"]
    lines += [f"{name}: {value}" for name, value in reply.headers]
    writer.write("\r\n".join([*lines, "", ""]).encode() + reply.body)
    await writer.drain()
    return True


async def _wait_for(wait: Coroutine[Any, Any, object], reader: asyncio.StreamReader) -> None:
    """Raises ConnectionResetError when the client goes away first. One that waits for its answer sends nothing."""
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(wait)
        leaving = group.create_task(_see_leave(reader))
        await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        leaving.cancel()
    if waiting.cancelled():
        raise ConnectionResetError


async def _see_leave(reader: asyncio.StreamReader) -> None:
    with suppress(ConnectionError):
        await reader.read(1)


def say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - standard output is how the starting process learns of it
