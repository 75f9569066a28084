"""The bytes of a streamed chat completion, read into chunks. Pure: knows nothing of the network."""

from collections.abc import Iterator
from typing import Any

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Usage
from midwatch.llm.failures import cut_in_a_call, declined, reported_in_stream
from midwatch.llm.loose_json import read_count, read_event, read_fields, read_items
from midwatch.llm.model import Chunk, TextChunk, ThinkingChunk, UsageChunk
from midwatch.llm.providers.openai.calls import CallAssembly
from midwatch.llm.server_events import EventLines
from midwatch.llm.toolnames import ToolNames


class StreamDecoder:
    """Reads one answer. However the bytes are cut, the chunks are the same."""

    def __init__(self, names: ToolNames, api_key: str | None = None) -> None:
        self._names = names
        self._api_key = api_key
        self._lines = EventLines()
        self._calls = CallAssembly()
        self._usage: Usage | None = None
        self._finish_reason = ""
        self.is_done = False
        """The stream said that it has ended."""

    @property
    def is_whole(self) -> bool:
        """Nothing of the answer itself is missing, even if the stream breaks now."""
        return self.is_done or bool(self._finish_reason)

    def feed(self, data: bytes) -> Iterator[Chunk]:
        for payload in self._lines.feed(data):
            yield from self._read_event(payload)

    def finish(self) -> Iterator[Chunk]:
        """What is left when no more bytes come: the calls and the usage, unless the stream has already ended."""
        yield from self.feed(b"\n")
        if self.is_done:
            return
        if not self._finish_reason:
            raise ModelUnavailable("the answer broke off", code="partial_stream_error", retryable=True)
        yield from self._end()

    def _end(self) -> Iterator[Chunk]:
        self.is_done = True
        self._judge_finish()
        yield from self._calls.finish(self._names)
        if self._usage is not None:
            yield UsageChunk(usage=self._usage)

    def _judge_finish(self) -> None:
        """An answer cut for length is an answer, unless the cut went through a call."""
        if self._finish_reason == "content_filter":
            raise declined()
        if self._finish_reason == "length" and self._calls.ends_in_half_a_call:
            raise cut_in_a_call()

    def _read_event(self, payload: bytes) -> Iterator[Chunk]:
        if self.is_done:
            return
        if payload == b"[DONE]":
            yield from self._end()
            return
        event = read_event(payload)
        if event.get("error"):
            raise reported_in_stream(event["error"], api_key=self._api_key)
        if usage := read_fields(event.get("usage")):
            self._usage = _read_usage(usage)
        for choice in read_items(event.get("choices"))[:1]:
            yield from self._read_choice(choice)

    def _read_choice(self, choice: dict[str, Any]) -> Iterator[Chunk]:
        delta = read_fields(choice.get("delta"))
        thinking = delta.get("reasoning_content") or delta.get("reasoning")
        if thinking and isinstance(thinking, str):
            yield ThinkingChunk(text=thinking)
        text = delta.get("content") or delta.get("refusal")
        if text and isinstance(text, str):
            yield TextChunk(text=text)
        if calls := delta.get("tool_calls"):
            self._calls.add(calls)
        if reason := choice.get("finish_reason"):
            self._finish_reason = str(reason)


def _read_usage(usage: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=read_count(usage, "prompt_tokens"),
        output_tokens=read_count(usage, "completion_tokens"),
        thinking_tokens=read_count(read_fields(usage.get("completion_tokens_details")), "reasoning_tokens"),
        cache_read_tokens=read_count(read_fields(usage.get("prompt_tokens_details")), "cached_tokens"),
    )
