"""MCP over streamable HTTP: each message is a request of its own, sent by the task that has something to say."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import final

from mcp.shared.message import ClientMessageMetadata, SessionMessage
from mcp_types import JSONRPCError, JSONRPCMessage, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from midwatch.config.mcp import RemoteTransport
from midwatch.tools.dispatch import check_dispatch
from midwatch.tools.mcp.events import EventReader, EventTooLarge, ServerEvent
from midwatch.tools.mcp.farewell import end_session
from midwatch.tools.mcp.http_client import Answer, HttpClient
from midwatch.tools.mcp.inbox import Inbox
from midwatch.tools.mcp.losses import AnswerRefused, ConnectionLost
from midwatch.tools.mcp.messages import MAX_MESSAGE_BYTES, TOO_LARGE, encode_message, find_trace, read_message
from midwatch.tools.mcp.outbox import Outbox, send_notice

_SESSION = "mcp-session-id"
_VERSION = "mcp-protocol-version"
_CONTENT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
_EVENTS = "text/event-stream"
_DRAIN_SECONDS = 0.25
_MAX_REDIRECTS = 3
_MAX_FAILED_RESUMPTIONS = 3
_RESUME_MS, _SHORTEST_RESUME_MS = 1000, 100
_OK, _ACCEPTED, _REDIRECT, _BAD, _GONE, _BROKEN = 200, 202, 300, 400, 404, 500
_REDIRECTS = (307, 308)
_NO_SERVER_BEHIND = (502, 503)


@final
class StreamableLink:
    """The answer to a request comes in with it; the SDK's session finds it in `incoming`."""

    failure: str | None = None

    def __init__(self, client: HttpClient, *, group: asyncio.TaskGroup, on_over: Callable[[], None]) -> None:
        self.is_over = False
        """The server is not there, or has forgotten us. Calls that are on their way may still be answered."""
        self._is_lost = False
        self.incoming = Inbox(on_close=self._retire)
        self.outgoing = Outbox(self._send)
        self._client = client
        self._group = group
        self._tasks: set[asyncio.Task[None]] = set()
        self._on_over = on_over
        self._url = client.url
        self._marks: dict[str, str] = {}
        """Headers that say in which session and in which version of the protocol we speak."""

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        if _SESSION in self._marks and not self._is_lost:
            await end_session(self._client, self._url, headers=self._marks)

    async def _send(self, item: SessionMessage) -> None:
        """Raises ConnectionLost, AnswerRefused and whatever the dispatch guard raises."""
        message, headers = item.message, self._build_headers(item)
        if isinstance(message, JSONRPCRequest):
            await self._ask(message, headers)
        elif isinstance(message, JSONRPCNotification) and message.method != "notifications/cancelled":
            await send_notice(self._client, self._url, encode_message(message), headers=headers)
            if message.method == "notifications/initialized" and _SESSION in self._marks:
                self._start(self._listen())
        elif not isinstance(message, JSONRPCNotification) or self._marks.get(_VERSION) not in MODERN_PROTOCOL_VERSIONS:
            # Not waited for: whoever tells the server to stop may be cancelled. In new versions, hanging up says it.
            self._start(self._tell_in_passing(message, headers))

    def _start(self, work: Coroutine[None, None, None]) -> None:
        task = self._group.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _listen(self) -> None:
        """For what belongs to no request, such as that there are other tools now. Servers need not offer it."""
        reader = EventReader(MAX_MESSAGE_BYTES)
        with suppress(ConnectionLost, AnswerRefused, EventTooLarge):
            while not self.is_over:
                async with self._client.request("GET", self._url, headers=self._listening_headers(reader)) as answer:
                    if answer.status != _OK or answer.kind != _EVENTS:
                        return
                    async for chunk in answer.chunks():
                        self._hear(reader.feed(chunk))
                await self._pause(reader)

    def _hear(self, events: Iterable[ServerEvent]) -> None:
        for event in events:
            message = read_message(self._client.hide_secrets(event.data))
            if isinstance(message, JSONRPCNotification | JSONRPCRequest):
                self.incoming.put(message)

    async def _tell_in_passing(self, message: JSONRPCMessage, headers: Mapping[str, str]) -> None:
        with suppress(ConnectionLost, AnswerRefused, TimeoutError):
            await send_notice(self._client, self._url, encode_message(message), headers=headers)

    def _build_headers(self, item: SessionMessage) -> dict[str, str]:
        given = item.metadata.headers if isinstance(item.metadata, ClientMessageMetadata) else None
        own = {name.lower(): value for name, value in (given or {}).items()}
        if isinstance(item.message, JSONRPCRequest) and item.message.method == "initialize":
            self._marks = {}
        elif _VERSION in own:
            self._marks[_VERSION] = own[_VERSION]
        return {**_CONTENT, **self._marks, **own, **find_trace(item.message)}

    async def _ask(self, request: JSONRPCRequest, headers: Mapping[str, str]) -> None:
        check = check_dispatch if request.method == "tools/call" else None
        body = encode_message(request)
        try:
            for _ in range(_MAX_REDIRECTS):
                async with self._client.request("POST", self._url, headers=headers, body=body, check=check) as answer:
                    moved_to = None if check else self._find_new_place(answer)
                    if moved_to is None:
                        await self._take(answer, request)
                        return
                self._url = moved_to
        except ConnectionLost as lost:
            if not lost.comes_again:
                self._lose()
            raise
        raise AnswerRefused("it redirects without end")

    def _find_new_place(self, answer: Answer) -> str | None:
        if answer.status not in _REDIRECTS:
            return None
        return self._client.resolve(answer.headers.get("location", ""))

    async def _take(self, answer: Answer, request: JSONRPCRequest) -> None:
        if request.method == "initialize" and _SESSION in answer.headers:
            self._marks[_SESSION] = answer.headers[_SESSION]
        if answer.status >= _REDIRECT:
            await self._take_failure(answer, request)
        elif answer.status == _ACCEPTED:
            raise AnswerRefused("it took the request and promised no answer")
        elif answer.kind == _EVENTS:
            await self._take_events(answer, request)
        elif answer.kind == "application/json":
            body = await answer.read(MAX_MESSAGE_BYTES)
            if body is None:
                raise ConnectionLost(TOO_LARGE, comes_again=True)
            self._deliver(body, request)
        else:
            raise AnswerRefused("its answer is neither JSON nor a stream of events")

    async def _take_failure(self, answer: Answer, request: JSONRPCRequest) -> None:
        if answer.status == _GONE and _SESSION in self._marks:
            raise ConnectionLost("it has ended the session", sent=False)
        if answer.status in _NO_SERVER_BEHIND:
            raise ConnectionLost(f"it answered with HTTP status {answer.status}")
        if answer.status >= _BROKEN or (answer.status == _BAD and _SESSION in self._marks):
            # Some servers say so when they do not know the session.
            self._lose()
        if answer.status < _BAD:
            raise AnswerRefused("it redirects to another address, which must be written as its url")
        body = await answer.read(MAX_MESSAGE_BYTES) if answer.kind == "application/json" else None
        message = None if body is None else read_message(self._client.hide_secrets(body))
        if not isinstance(message, JSONRPCError):
            raise AnswerRefused(f"it answered with HTTP status {answer.status}")
        self.incoming.put(JSONRPCError(jsonrpc="2.0", id=request.id, error=message.error))

    async def _take_events(self, answer: Answer, request: JSONRPCRequest) -> None:
        reader = EventReader(MAX_MESSAGE_BYTES)
        try:
            if await self._read_until_answered(answer, request, reader=reader):
                return
        except ConnectionLost as lost:
            if lost.comes_again or reader.last_id is None:
                raise
        if reader.last_id is None:
            raise ConnectionLost("it broke off its answer")
        await self._resume(request, reader)

    async def _resume(self, request: JSONRPCRequest, reader: EventReader) -> None:
        """Asks for the rest of a stream that was cut; the request itself is not sent again."""
        failures = 0
        while failures < _MAX_FAILED_RESUMPTIONS:
            await self._pause(reader)
            try:
                async with self._client.request("GET", self._url, headers=self._listening_headers(reader)) as answer:
                    if answer.status != _OK or answer.kind != _EVENTS:
                        break
                    if await self._read_until_answered(answer, request, reader=reader):
                        return
                    failures = 0
            except ConnectionLost as lost:
                if lost.comes_again:
                    raise
                failures += 1
        raise ConnectionLost("it broke off its answer")

    async def _pause(self, reader: EventReader) -> None:
        wait = _RESUME_MS if reader.retry_ms is None else max(reader.retry_ms, _SHORTEST_RESUME_MS)
        await asyncio.sleep(wait / 1000)
        reader.start_anew()

    def _listening_headers(self, reader: EventReader) -> dict[str, str]:
        where = {} if reader.last_id is None else {"last-event-id": reader.last_id}
        return {"accept": _EVENTS, **self._marks, **where}

    async def _read_until_answered(self, answer: Answer, request: JSONRPCRequest, *, reader: EventReader) -> bool:
        chunks = answer.chunks()
        try:
            async for chunk in chunks:
                for event in reader.feed(chunk):
                    if event.kind == "message" and self._deliver(event.data, request):
                        await _drain(chunks)
                        return True
        except EventTooLarge:
            raise ConnectionLost(TOO_LARGE, comes_again=True) from None
        return False

    def _deliver(self, data: bytes, request: JSONRPCRequest) -> bool:
        """Whether that was the answer."""
        message = read_message(self._client.hide_secrets(data))
        if message is None:
            raise AnswerRefused("its answer is not a valid message")
        if not isinstance(message, JSONRPCResponse | JSONRPCError):
            self.incoming.put(message)
            return False
        message.id = request.id
        self.incoming.put(message)
        return True

    def _lose(self) -> None:
        self._is_lost = True
        self._retire()

    def _retire(self) -> None:
        self.is_over = True
        self._on_over()


async def _drain(chunks: AsyncIterator[bytes]) -> None:
    """Reads the end of the response, without which the connection could not be used again."""
    with suppress(TimeoutError, ConnectionLost):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in chunks:
                pass


@asynccontextmanager
async def open_streamable(
    transport: RemoteTransport, *, client_id: str, on_over: Callable[[], None]
) -> AsyncGenerator[StreamableLink]:
    async with HttpClient(transport, client_id=client_id) as client, asyncio.TaskGroup() as group:
        link = StreamableLink(client, group=group, on_over=on_over)
        try:
            yield link
        finally:
            await link.close()
