"""Server-sent events, cut out of the bytes of a stream. Pure: knows nothing of the network."""

from collections.abc import Iterator


class EventLines:
    """However the bytes are cut, the payloads are the same. Every provider puts one JSON value on one data line."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            if line.startswith(b"data:") and (payload := line[5:].strip()):
                yield payload
