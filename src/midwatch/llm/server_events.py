"""Server-sent events, cut out of the bytes of a stream. Pure: knows nothing of the network."""

from collections.abc import Iterator

from midwatch.llm.loose_json import malformed

LONGEST_LINE = 1 << 23
"""Bytes. Nobody's event is that long; what never ends must not fill the memory."""


class EventLines:
    """However the bytes are cut, the payloads are the same. Every provider puts one JSON value on one data line.

    Raises ModelUnavailable for a line without an end.
    """

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > LONGEST_LINE:
            raise malformed()
        for line in lines:
            if line.startswith(b"data:") and (payload := line[5:].strip()):
                yield payload
