"""The lines of a Gemini stream: events, and amid them the errors that Google sends as bare JSON over several lines."""

from collections.abc import Iterator

from midwatch.llm.server_events import Lines

_LIMIT = 65_536
_OTHER_FIELDS = (b"event:", b"id:", b"retry:", b":")


class StreamLines:
    """However the bytes are cut, the payloads are the same."""

    def __init__(self) -> None:
        self._lines = Lines()
        self.stray = b""
        """What stood between the events."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        for line in self._lines.take(data):
            if line.startswith(b"data:"):
                if payload := line[5:].strip():
                    yield payload
            elif not line.startswith(_OTHER_FIELDS) and len(self.stray) < _LIMIT:
                self.stray += line.strip()
