"""Server-sent events, cut out of the bytes of a stream. Pure: knows nothing of the network."""

from collections.abc import Iterator

from midwatch.llm.loose_json import malformed

_LONGEST = 1 << 23
"""Bytes of a line. Nobody's event is that long, and what never ends must not fill the memory."""


class Lines:
    """However the bytes are cut, the lines are the same."""

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._size = 0

    def take(self, data: bytes) -> list[bytes]:
        """The lines that are whole by now. Raises ModelUnavailable for one without an end."""
        self._held.append(data)
        if b"\n" not in data:
            self._size += len(data)
            if self._size > _LONGEST:
                raise malformed()
            return []
        lines = b"".join(self._held).split(b"\n")
        self._held = [lines.pop()]
        self._size = len(self._held[0])
        return lines


class EventLines:
    """The payloads of the events. Every provider puts one JSON value on one data line."""

    def __init__(self) -> None:
        self._lines = Lines()

    def feed(self, data: bytes) -> Iterator[bytes]:
        for line in self._lines.take(data):
            if line.startswith(b"data:") and (payload := line[5:].strip()):
                yield payload
