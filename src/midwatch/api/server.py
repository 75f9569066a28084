"""How the app meets the network: the server's settings, and its WebSockets made to end.

Compression is off and the protocol is the plainest: a feed is sent to many, and each of them pays for every layer.
"""

from contextlib import suppress
from functools import lru_cache

import uvicorn
from starlette.types import ASGIApp
from uvicorn._types import ASGISendEvent
from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState
from websockets.frames import CloseCode, Frame, Opcode

_LARGEST_MESSAGE = 8_192
_LINGER = 5.0
_LINGER_AT_SHUTDOWN = 1.0
_SHUTDOWN = 5
SEND_NOW = "midwatch.send_now"
"""An extension of the scope: sends a text at once if the client takes it, and says whether it did."""
_FRAMES = 16
"""Kept because the same text goes to many, one right after another."""


def server_settings(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        ws=EndingSocket,
        ws_max_size=_LARGEST_MESSAGE,
        ws_per_message_deflate=False,
        timeout_graceful_shutdown=_SHUTDOWN,
        server_header=False,
        # Who the peer is decides whom we believe: nobody may tell us another.
        proxy_headers=False,
    )


@lru_cache(maxsize=_FRAMES)
def _frame(text: str) -> bytes:
    """Without masks and compression a text is the same bytes for everybody."""
    return Frame(Opcode.TEXT, text.encode()).serialize(mask=False)


class EndingSocket(WebSocketsSansIOProtocol):
    """Cuts off a client that reads nothing: otherwise closing waits for it to take what is still to be sent."""

    async def run_asgi(self) -> None:
        self.scope["extensions"] = {**(self.scope.get("extensions") or {}), SEND_NOW: {"send": self.send_now}}
        try:
            await super().run_asgi()
        finally:
            self._cut_off_after(_LINGER)

    async def send(self, message: ASGISendEvent) -> None:
        if message["type"] != "websocket.send":
            await super().send(message)
            return
        await self.writable.wait()
        # Also when it is closed for what the client sent: for the app the client has gone away.
        if self.disconnected or self.close_sent or self.transport.is_closing():
            raise ClientDisconnected
        self.transport.write(_frame(message.get("text") or ""))

    def send_now(self, text: str) -> bool:
        """Without a turn of the loop; False when the client does not keep up or has gone."""
        if not self.writable.is_set() or self.disconnected or self.close_sent or self.transport.is_closing():
            return False
        self.transport.write(_frame(text))
        return True

    def shutdown(self) -> None:
        if self.handshake_complete and not self.close_sent:
            self._go_away()
        else:
            super().shutdown()
        self._cut_off_after(_LINGER_AT_SHUTDOWN)

    def _go_away(self) -> None:
        self.stop_keepalive()
        self.queue.put_nowait({"type": "websocket.disconnect", "code": CloseCode.GOING_AWAY})
        with suppress(InvalidState):
            self.conn.send_close(CloseCode.GOING_AWAY)
            self.transport.write(b"".join(self.conn.data_to_send()))
        self.transport.close()

    def _cut_off_after(self, seconds: float) -> None:
        if not self.disconnected:
            self.loop.call_later(seconds, self.transport.abort)
