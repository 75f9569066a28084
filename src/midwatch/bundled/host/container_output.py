"""What a container has written, as the runtime hands it over."""

_HEADER = 8
_STREAMS = frozenset({0, 1, 2})


def split_output(body: bytes, *, count: int) -> list[str]:
    """The last lines, oldest first."""
    text = b"".join(_unpack(body)).decode(errors="replace")
    return [line.rstrip("\r") for line in text.split("\n") if line][-count:]


def _unpack(body: bytes) -> list[bytes]:
    """Without a terminal, output comes in frames: a stream number, three zeros, a length, and that many bytes."""
    pieces: list[bytes] = []
    position = 0
    while position < len(body):
        head = body[position : position + _HEADER]
        if len(head) < _HEADER or head[0] not in _STREAMS or head[1:4] != b"\0\0\0":
            return pieces or [body]
        length = int.from_bytes(head[4:8], "big")
        pieces.append(body[position + _HEADER : position + _HEADER + length])
        position += _HEADER + length
    return pieces
