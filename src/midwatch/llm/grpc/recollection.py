"""What the service keeps between the questions of one conversation: for an hour, within limits, and never on disk."""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

from midwatch.domain.messages import Message
from midwatch.kit import json
from midwatch.kit.clock import boottime
from midwatch.llm.grpc import messages as wire
from midwatch.llm.grpc.translation import decode_message, list_bare
from midwatch.llm.model import CallChunk, Chunk, Model, StateChunk, TextChunk

HOUR = 3600.0
_MOST_ENTRIES = 500
_MOST_BYTES = 64 * 1024 * 1024
_DIGEST_LENGTH = 16

T = TypeVar("T")
Fingerprint = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Entry(Generic[T]):
    value: T
    size: int
    kept_at: float


@dataclass(slots=True, kw_only=True)
class Recollection(Generic[T]):
    """Forgets what nobody has asked for in an hour, and the oldest when there is too much."""

    clock: Callable[[], float] = boottime
    most_entries: int = _MOST_ENTRIES
    most_bytes: int = _MOST_BYTES
    size: int = 0
    _entries: dict[Hashable, _Entry[T]] = field(default_factory=dict[Hashable, "_Entry[T]"])

    def __len__(self) -> int:
        return len(self._entries)

    def keep(self, key: Hashable, value: T, *, size: int) -> None:
        self.take(key)
        self._entries[key] = _Entry(value, size, self.clock())
        self.size += size
        self._forget()

    def take(self, key: Hashable) -> T | None:
        """Whoever takes something has it alone until it is kept again."""
        self._forget()
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        self.size -= entry.size
        return entry.value

    def find(self, key: Hashable) -> T | None:
        self._forget()
        entry = self._entries.get(key)
        return None if entry is None else entry.value

    def _forget(self) -> None:
        # They stand in the order in which they were kept.
        while self._entries:
            key, oldest = next(iter(self._entries.items()))
            is_too_much = len(self._entries) > self.most_entries or self.size > self.most_bytes
            if not is_too_much and self.clock() - oldest.kept_at < HOUR:
                return
            del self._entries[key]
            self.size -= oldest.size


@dataclass(slots=True)
class Conversation:
    """A model that has been asked before, and what was said until then: only what is new has to be read."""

    model: Model
    _said: list[Message] = field(default_factory=list[Message])
    _digests: list[bytes] = field(default_factory=list[bytes])

    def goes_on(self, digests: Sequence[bytes]) -> bool:
        return list(digests[: len(self._digests)]) == self._digests

    def read(self, request: wire.GenerateRequest, digests: Sequence[bytes]) -> list[Message]:
        """Raises Untranslatable."""
        bare = list_bare(request.tools)
        for place in range(len(self._said), len(request.messages)):
            self._said.append(decode_message(request.messages[place], place=place, bare=bare))
        self._digests = list(digests)
        return list(self._said)


def digest_messages(messages: Iterable[wire.ConversationMessage]) -> list[bytes]:
    return [
        hashlib.blake2b(message.SerializeToString(deterministic=True), digest_size=_DIGEST_LENGTH).digest()
        for message in messages
    ]


@dataclass(slots=True)
class States:
    """What providers want to see again of one execution, whose caller does not keep it, by the answer it came with."""

    by_answer: dict[Fingerprint, bytes] = field(default_factory=dict[Fingerprint, bytes])

    @property
    def size(self) -> int:
        return sum(len(state) for state in self.by_answer.values())

    def put_back(self, messages: Iterable[wire.ConversationMessage]) -> None:
        for message in messages:
            if message.role == "assistant" and not message.HasField("provider_state"):
                calls = [(call.id, call.name, call.arguments) for call in message.tool_calls]
                if (state := self.by_answer.get(_fingerprint(message.content, calls))) is not None:
                    message.provider_state = state


@dataclass(slots=True)
class Answer:
    """What came so far, and all that a later question will show of it."""

    text: list[str] = field(default_factory=list[str])
    calls: list[tuple[str, str, str]] = field(default_factory=list[tuple[str, str, str]])
    state: bytes | None = None

    def hear(self, chunk: Chunk) -> None:
        match chunk:
            case TextChunk():
                self.text.append(chunk.text)
            case CallChunk():
                self.calls.append((chunk.provider_id, chunk.name.removeprefix("."), chunk.arguments))
            case StateChunk():
                self.state = chunk.state
            case _:
                pass

    def remember(self, states: States) -> None:
        if self.state is not None:
            states.by_answer[_fingerprint("".join(self.text), self.calls)] = self.state


def _fingerprint(text: str, calls: Sequence[tuple[str, str, str]]) -> Fingerprint:
    """By the calls if there are any: callers trim texts and write arguments anew."""
    if not calls:
        return ("text", hashlib.sha256(text.strip().encode("utf-8", "surrogatepass")).hexdigest())
    return ("calls", *(part for call_id, name, arguments in calls for part in (call_id, name, _settle(arguments))))


def _settle(arguments: str) -> str:
    try:
        return json.encode_text(_sort(json.decode(arguments or "{}")))
    except ValueError:
        return arguments


def _sort(value: Any) -> Any:
    match value:
        case dict():
            fields = cast("dict[str, Any]", value)
            return {key: _sort(fields[key]) for key in sorted(fields)}
        case list():
            return [_sort(item) for item in cast("list[Any]", value)]
        case _:
            return value
