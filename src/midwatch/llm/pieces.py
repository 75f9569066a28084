"""The encoded messages of one conversation, each made once and kept for every request that comes after."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from midwatch.domain.messages import Message
from midwatch.kit import json

Encode = Callable[[object], bytes]
Translate = Callable[[], Sequence[Mapping[str, Any]]]


class Pieces:
    def __init__(self, encode: Encode = json.encode) -> None:
        self._encode = encode
        # A message is kept with its piece, so that no other can take over its identity.
        self._kept: dict[int, tuple[Message, bytes]] = {}

    def __iter__(self) -> Iterator[Message]:
        return (message for message, _ in self._kept.values())

    def get(self, message: Message, translate: Translate) -> bytes:
        """The JSON objects that a message becomes, with commas between them; empty if it becomes none."""
        kept = self._kept.get(id(message))
        if kept is None:
            kept = self._kept[id(message)] = (message, self.encode(translate()))
        return kept[1]

    def encode(self, parts: Sequence[Mapping[str, Any]]) -> bytes:
        return self._encode(parts)[1:-1] if parts else b""

    def drop(self, message: Message) -> None:
        self._kept.pop(id(message), None)
