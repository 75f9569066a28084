"""The bytes of a streamed message from Anthropic, read into chunks. Pure: knows nothing of the network."""

from collections.abc import Iterator

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Usage
from midwatch.llm.failures import cut_in_a_call, declined, reported_in_stream
from midwatch.llm.loose_json import Fields, read_count, read_event, read_fields, read_index, read_text
from midwatch.llm.model import CallChunk, Chunk, StateChunk, UsageChunk
from midwatch.llm.providers.anthropic.assembly import Assembly
from midwatch.llm.server_events import EventLines
from midwatch.llm.toolnames import ToolNames

_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})


class StreamDecoder:
    """Reads one answer. However the bytes are cut, the chunks are the same."""

    def __init__(self, names: ToolNames, api_key: str | None = None) -> None:
        self._names = names
        self._api_key = api_key
        self._lines = EventLines()
        self._assembly = Assembly()
        self._counts: Fields = {}
        self._stop: Fields = {}
        self.is_done = False
        """The stream said that it has ended."""

    @property
    def is_whole(self) -> bool:
        """Nothing of the answer itself is missing, even if the stream breaks now."""
        return self.is_done or bool(self._stop)

    def feed(self, data: bytes) -> Iterator[Chunk]:
        for payload in self._lines.feed(data):
            yield from self._read_event(read_event(payload))

    def finish(self) -> Iterator[Chunk]:
        """What is left when no more bytes come: the calls and the usage, unless the stream has already ended."""
        yield from self.feed(b"\n")
        if self.is_done:
            return
        if not self._stop:
            raise ModelUnavailable("the answer broke off", code="partial_stream_error", retryable=True)
        yield from self._end()

    def _read_event(self, event: Fields) -> Iterator[Chunk]:
        if self.is_done:
            return
        match event.get("type"):
            case "message_start":
                self._take_counts(read_fields(event.get("message")))
            case "content_block_start":
                yield from self._assembly.start(read_index(event.get("index")), read_fields(event.get("content_block")))
            case "content_block_delta":
                yield from self._assembly.extend(read_index(event.get("index")), read_fields(event.get("delta")))
            case "message_delta":
                self._take_counts(event)
                self._stop |= {key: value for key, value in read_fields(event.get("delta")).items() if value}
            case "message_stop":
                yield from self._end()
            case "error":
                raise reported_in_stream(event.get("error"), api_key=self._api_key)
            case _:
                pass

    def _take_counts(self, event: Fields) -> None:
        """Counts are totals, and a later one takes the place of an earlier."""
        usage = read_fields(event.get("usage"))
        self._counts |= {key: value for key, value in usage.items() if value is not None}

    def _end(self) -> Iterator[Chunk]:
        self.is_done = True
        self._judge_stop(read_text(self._stop.get("stop_reason")))
        for call in self._assembly.list_calls():
            name = self._names.decode(call.name)
            yield CallChunk(provider_id=call.provider_id, name=name, arguments=call.text if call.text.strip() else "{}")
        if state := self._assembly.pack():
            yield StateChunk(state=state)
        if self._counts:
            yield UsageChunk(usage=_read_usage(self._counts))

    def _judge_stop(self, reason: str) -> None:
        """An answer cut for length is an answer, unless the cut went through a call."""
        if reason == "refusal":
            details = read_fields(self._stop.get("stop_details"))
            raise declined(read_text(details.get("explanation")), api_key=self._api_key)
        if reason not in _CUT:
            return
        is_full = reason == "model_context_window_exceeded"
        if is_full and (self._assembly.ends_in_half_a_call or not self._assembly.has_text):
            message = "the conversation has filled the model's context window"
            raise ModelUnavailable(message, code="context_too_long", retryable=False)
        if self._assembly.ends_in_half_a_call:
            raise cut_in_a_call()


def _read_usage(counts: Fields) -> Usage:
    read, written = read_count(counts, "cache_read_input_tokens"), read_count(counts, "cache_creation_input_tokens")
    return Usage(
        # What went through the cache is counted apart here, and as a part of the input everywhere else.
        input_tokens=read_count(counts, "input_tokens") + read + written,
        output_tokens=read_count(counts, "output_tokens"),
        thinking_tokens=read_count(read_fields(counts.get("output_tokens_details")), "thinking_tokens"),
        cache_read_tokens=read,
        cache_write_tokens=written,
    )
