"""Server-sent events, cut out of the bytes of a stream. Pure: knows nothing of the network."""

from collections.abc import Iterator
from dataclasses import dataclass

_LONGEST_RETRY = 60_000


class EventTooLarge(Exception):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEvent:
    kind: str
    data: bytes


class EventReader:
    """However the bytes are cut, the events are the same. One that grows over `limit` bytes raises EventTooLarge."""

    def __init__(self, limit: int) -> None:
        self.last_id: str | None = None
        """Where to go on after a broken connection."""
        self.retry_ms: int | None = None
        """How long the server wants us to wait before we do."""
        self._limit = limit
        self._rest = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._kind = ""
        self._ends_in_return = False

    def start_anew(self) -> None:
        """For the next stream: what was cut off of the last one is lost."""
        self._rest.clear()
        self._data, self._size, self._kind, self._ends_in_return = [], 0, "", False

    def feed(self, data: bytes) -> Iterator[ServerEvent]:
        for line in self._cut(data):
            if line:
                self._take_field(line)
            elif (event := self._complete()) is not None:
                yield event
        if len(self._rest) + self._size > self._limit:
            raise EventTooLarge

    def _cut(self, data: bytes) -> list[bytes]:
        if not data:
            return []
        if b"\r" in data or self._ends_in_return:
            if self._ends_in_return and data.startswith(b"\n"):
                data = data[1:]
            self._ends_in_return = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._rest += data
        if b"\n" not in data:
            return []
        *lines, rest = self._rest.split(b"\n")
        self._rest = rest
        return [bytes(line) for line in lines]

    def _take_field(self, line: bytes) -> None:
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        match name:
            case b"data":
                self._data.append(value)
                self._size += len(value)
                if self._size > self._limit:
                    raise EventTooLarge
            case b"event":
                self._kind = value.decode(errors="replace")
            case b"id" if value and value.isascii() and b"\0" not in value:
                self.last_id = value.decode()
            case b"retry" if value.isdigit():
                self.retry_ms = min(int(value[:9]), _LONGEST_RETRY)
            case _:
                pass

    def _complete(self) -> ServerEvent | None:
        data, kind = b"\n".join(self._data), self._kind
        self._data, self._size, self._kind = [], 0, ""
        return ServerEvent(kind=kind or "message", data=data) if data else None
