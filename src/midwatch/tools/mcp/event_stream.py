"""MCP over HTTP with server-sent events, the older way: one long answer carries all that the server has to say."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import final

from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCNotification, JSONRPCRequest

from midwatch.config.mcp import RemoteTransport
from midwatch.tools.dispatch import check_dispatch
from midwatch.tools.mcp.events import EventReader, EventTooLarge, ServerEvent
from midwatch.tools.mcp.http_client import Answer, HttpClient
from midwatch.tools.mcp.inbox import Inbox
from midwatch.tools.mcp.losses import AnswerRefused, ConnectionLost
from midwatch.tools.mcp.messages import MAX_MESSAGE_BYTES, TOO_LARGE, encode_message, find_trace, read_message
from midwatch.tools.mcp.outbox import Outbox, send_notice

_OK, _NO_SUCCESS, _GONE, _BROKEN = 200, 300, 404, 500
_SMALL = 65_536
_CONTENT = {"content-type": "application/json"}
_LISTEN = {"accept": "text/event-stream", "cache-control": "no-store"}


@final
class EventStreamLink:
    def __init__(self, client: HttpClient, *, group: asyncio.TaskGroup, on_over: Callable[[], None]) -> None:
        self.is_over = False
        """Nothing more will come in: every waiting call has failed or is about to."""
        self.failure: str | None = None
        """Why we stopped listening to the server, when it did not end by itself."""
        self.incoming = Inbox(on_close=self._end)
        self.outgoing = Outbox(self._send)
        self._client = client
        self._group = group
        self._notices: set[asyncio.Task[None]] = set()
        self._on_over = on_over
        self._endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        """Where the server wants to be written to."""

    async def listen(self, answer: Answer) -> None:
        reader = EventReader(MAX_MESSAGE_BYTES)
        try:
            async for chunk in answer.chunks():
                for event in reader.feed(chunk):
                    self._take(event)
        except EventTooLarge:
            self.failure = TOO_LARGE
        except AnswerRefused as error:
            self.failure = str(error)
        except ConnectionLost:
            # As good as its end.
            pass
        finally:
            self._end()

    async def wait_ready(self) -> None:
        """Raises ConnectionLost or AnswerRefused."""
        await self._endpoint

    def stop_notices(self) -> None:
        for notice in self._notices:
            notice.cancel()

    def _take(self, event: ServerEvent) -> None:
        if event.kind == "endpoint" and not self._endpoint.done():
            endpoint = self._client.resolve(event.data.decode(errors="replace").strip())
            if endpoint is None:
                raise AnswerRefused("it wants to be written to at another address")
            self._endpoint.set_result(endpoint)
        elif event.kind == "message":
            message = read_message(self._client.hide_secrets(event.data))
            if message is not None:
                self.incoming.put(message)

    async def _send(self, item: SessionMessage) -> None:
        """Raises ConnectionLost, AnswerRefused and whatever the dispatch guard raises."""
        message, url = item.message, self._endpoint.result()
        body = encode_message(message)
        if isinstance(message, JSONRPCRequest):
            headers = {**_CONTENT, **find_trace(message)}
            await self._ask(url, body, headers=headers, is_call=message.method == "tools/call")
        elif isinstance(message, JSONRPCNotification) and message.method != "notifications/cancelled":
            await send_notice(self._client, url, body, headers=_CONTENT)
        else:
            # Not waited for: whoever tells the server to stop may be in the middle of being cancelled.
            notice = self._group.create_task(self._tell_in_passing(url, body))
            self._notices.add(notice)
            notice.add_done_callback(self._notices.discard)

    async def _tell_in_passing(self, url: str, body: bytes) -> None:
        with suppress(ConnectionLost, AnswerRefused, TimeoutError):
            await send_notice(self._client, url, body, headers=_CONTENT)

    async def _ask(self, url: str, body: bytes, *, headers: Mapping[str, str], is_call: bool) -> None:
        if self.is_over:
            raise ConnectionLost(self.failure or "it ended", sent=False)
        check = check_dispatch if is_call else None
        try:
            async with self._client.request("POST", url, headers=headers, body=body, check=check) as answer:
                if answer.status == _GONE or answer.status >= _BROKEN:
                    self._end()
                if answer.status >= _NO_SUCCESS:
                    raise AnswerRefused(f"it answered with HTTP status {answer.status}")
                await answer.read(_SMALL)
        except ConnectionLost:
            self._end()
            raise

    def _end(self) -> None:
        self.is_over = True
        self.incoming.end()
        if not self._endpoint.done():
            self._endpoint.set_exception(
                AnswerRefused(self.failure) if self.failure else ConnectionLost("it ended before it was ready")
            )
        self._on_over()


@asynccontextmanager
async def open_event_stream(
    transport: RemoteTransport, *, client_id: str, on_over: Callable[[], None]
) -> AsyncGenerator[EventStreamLink]:
    """Raises ConnectionLost or AnswerRefused when there is no stream to listen to."""
    async with (
        HttpClient(transport, client_id=client_id) as client,
        client.request("GET", transport.url, headers=_LISTEN) as answer,
    ):
        if answer.status != _OK or answer.kind != "text/event-stream":
            raise AnswerRefused(f"it answered with HTTP status {answer.status} and no stream of events")
        async with asyncio.TaskGroup() as group:
            link = EventStreamLink(client, group=group, on_over=on_over)
            listener = group.create_task(link.listen(answer))
            try:
                yield link
            finally:
                listener.cancel()
                link.stop_notices()
