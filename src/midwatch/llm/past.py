"""What lies behind in a conversation, encoded once as a whole: a long one costs no more to send than a short one.

It only grows, and begins anew when something in it has changed.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, TypeVar

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage

_PRESENT = 3
"""Replies that are kept out of it: a request may treat its last messages in a special way."""

S = TypeVar("S")


class Past(Generic[S]):
    """`S` is what whoever encodes must know of the messages before."""

    def __init__(
        self,
        start: S,
        *,
        encode: Callable[[Sequence[Message], S], tuple[bytes, S]],
        is_apart: Callable[[Sequence[Message], AssistantMessage], bool] = lambda _, __: True,
    ) -> None:
        """`is_apart` tells whether a reply would be sent as a message of its own, after those that come before it."""
        self._start = start
        self._encode = encode
        self._is_apart = is_apart
        self.forget()

    def forget(self) -> None:
        self._messages: list[Message] = []
        self.data = bytearray()
        """Objects of JSON with commas between them."""
        self.state = self._start
        self.instructions: list[SystemMessage] = []

    def split(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Takes in what has come to lie behind, and returns the rest, which then begins with a reply."""
        count = len(self._messages)
        # Messages that are the same objects are compared by that alone.
        if list(messages[:count]) != self._messages:
            self.forget()
            count = 0
        present = messages[count:]
        place = self._find_present(present)
        if place:
            self._take(present[:place])
        return present[place:]

    def add(self, present: bytes) -> Iterator[bytes | bytearray]:
        """All that was said, piece by piece: copying a long conversation more than once would be felt."""
        yield self.data
        if self.data and present:
            yield b","
        yield present

    def _find_present(self, messages: Sequence[Message]) -> int:
        """Where the last few replies begin."""
        replies = 0
        for place in range(len(messages) - 1, -1, -1):
            message = messages[place]
            if isinstance(message, AssistantMessage) and self._is_apart(messages[:place], message):
                replies += 1
                if replies == _PRESENT:
                    return place
        return 0

    def _take(self, messages: Sequence[Message]) -> None:
        encoded, self.state = self._encode(messages, self.state)
        if encoded:
            self.data += b"," + encoded if self.data else encoded
        self._messages += messages
        self.instructions += (message for message in messages if isinstance(message, SystemMessage))
