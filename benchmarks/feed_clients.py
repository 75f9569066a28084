"""Many WebSocket clients in a process of their own, which count what they are sent.

They are as lean as they can be, so that they are never what is waited for.
"""

import asyncio
import json
import socket
import sys
from dataclasses import dataclass

_HEAD = (
    "GET /api/v1/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
_NO_MASK = bytes(4)
_SHORT, _MEDIUM = 126, 127
_EVENT = b'"type":"stream.chunk"'


@dataclass(slots=True)
class _Crowd:
    """Says on standard output how many clients are subscribed, and how many events all of them have been sent."""

    clients: int
    subscribed: int = 0
    events: int = 0

    def confirm(self) -> None:
        self.subscribed += 1
        if self.subscribed == self.clients:
            _say("subscribed")

    def count(self) -> None:
        self.events += 1
        if self.events % self.clients == 0:
            _say(f"events {self.events}")


class _Client(asyncio.Protocol):
    def __init__(self, crowd: _Crowd, channel: str) -> None:
        self._crowd = crowd
        self._channel = channel
        self._transport: asyncio.Transport | None = None
        self._data = b""
        self._upgraded = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if isinstance(transport, asyncio.Transport):
            self._transport = transport
            transport.write(_HEAD.encode())

    def data_received(self, data: bytes) -> None:
        self._data += data
        if not self._upgraded:
            head, end, rest = self._data.partition(b"\r\n\r\n")
            if not end:
                return
            if b" 101 " not in head.partition(b"\r\n")[0]:
                raise RuntimeError(head.decode())
            self._upgraded, self._data = True, rest
            self._subscribe()
        self._take_frames()

    def _subscribe(self) -> None:
        request = json.dumps({"action": "subscribe", "channel": self._channel}).encode()
        if self._transport is not None:
            self._transport.write(bytes([0x81, 0x80 | len(request)]) + _NO_MASK + request)

    def _take_frames(self) -> None:
        data, at = self._data, 0
        while (frame := _frame_at(data, at)) is not None:
            start, at = frame
            message = data[start:at]
            if _EVENT in message:
                self._crowd.count()
            elif b"subscription.confirmed" in message:
                self._crowd.confirm()
        self._data = data[at:]


def _frame_at(data: bytes, at: int) -> tuple[int, int] | None:
    """Where the message in the frame begins and ends; None while the frame is not whole."""
    if len(data) < at + 2:
        return None
    length, start = data[at + 1], at + 2
    if length == _SHORT:
        length, start = int.from_bytes(data[at + 2 : at + 4], "big"), at + 4
    elif length == _MEDIUM:
        length, start = int.from_bytes(data[at + 2 : at + 10], "big"), at + 10
    return (start, start + length) if len(data) >= start + length else None


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 -- standard output is how the measuring process learns of it


async def _run(port: int, channel: str, clients: int) -> None:
    loop = asyncio.get_running_loop()
    crowd = _Crowd(clients)
    for _ in range(clients):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setblocking(False)  # noqa: FBT003 -- the library's own signature
        await loop.create_connection(lambda: _Client(crowd, channel), sock=connection)
    await asyncio.Event().wait()


def main() -> None:
    port, channel, clients = sys.argv[1:]
    asyncio.run(_run(int(port), channel, int(clients)))


if __name__ == "__main__":
    main()
