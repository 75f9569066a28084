"""The bytes of a streamed OpenAI response, read into chunks. Pure: knows nothing of the network."""

from collections.abc import Iterator

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Usage
from midwatch.kit.ids import new_id
from midwatch.llm.failures import cut_in_a_call, declined, reported_in_stream
from midwatch.llm.loose_json import Fields, read_count, read_event, read_fields, read_index, read_object, read_text
from midwatch.llm.model import CallChunk, Chunk, StateChunk, TextChunk, ThinkingChunk, UsageChunk
from midwatch.llm.provider_state import pack_state
from midwatch.llm.providers.openai.items import LABEL
from midwatch.llm.server_events import EventLines
from midwatch.llm.toolnames import ToolNames
from midwatch.llm.voices import Voice

# What stands in a call of ours already, and is not kept a second time.
_KNOWN_OF_A_CALL = frozenset({"name", "arguments"})


class ResponsesDecoder:
    """Reads one answer. However the bytes are cut, the chunks are the same."""

    def __init__(self, names: ToolNames, api_key: str | None = None) -> None:
        self._names = names
        self._api_key = api_key
        self._lines = EventLines()
        self._text = Voice(TextChunk)
        self._thinking = Voice(ThinkingChunk)
        self._begun: dict[object, Fields] = {}
        self._items: list[Fields] = []
        self.is_done = False
        """The stream said that it has ended."""

    @property
    def is_whole(self) -> bool:
        """Nothing of the answer itself is missing, even if the stream breaks now."""
        return self.is_done

    def feed(self, data: bytes) -> Iterator[Chunk]:
        for payload in self._lines.feed(data):
            if not self.is_done:
                yield from self._read_event(read_event(payload))

    def finish(self) -> Iterator[Chunk]:
        """The last event brings everything, so there is nothing left when no more bytes come."""
        yield from self.feed(b"\n")
        if not self.is_done:
            raise ModelUnavailable("the answer broke off", code="partial_stream_error", retryable=True)

    def _read_event(self, event: Fields) -> Iterator[Chunk]:
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                yield from self._text.say(event.get("delta"), block=event.get("item_id"))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield from self._thinking.say(event.get("delta"), block=_name_thought(event))
            case "response.output_item.added":
                self._begun[read_index(event.get("output_index"))] = read_fields(event.get("item"))
            case "response.output_item.done":
                self._begun.pop(read_index(event.get("output_index")), None)
                self._take(read_fields(event.get("item")))
            case "response.completed" | "response.incomplete":
                yield from self._end(read_fields(event.get("response")))
            case "response.failed":
                raise reported_in_stream(read_fields(event.get("response")).get("error"), api_key=self._api_key)
            case "error":
                raise reported_in_stream(event.get("error") or event, api_key=self._api_key)
            case _:
                pass

    def _take(self, item: Fields) -> None:
        if item.get("type") == "function_call":
            call_id = read_text(item.get("call_id"))
            is_taken = any(other.get("call_id") == call_id for other in self._items)
            item["call_id"] = f"call_{new_id().hex}" if is_taken or not call_id else call_id
        self._items.append({key: value for key, value in item.items() if value is not None})

    def _end(self, response: Fields) -> Iterator[Chunk]:
        self.is_done = True
        self._judge(read_text(read_fields(response.get("incomplete_details")).get("reason")))
        for item in self._items:
            if item.get("type") == "function_call":
                yield self._call(item)
        if state := self._pack():
            yield StateChunk(state=state)
        if usage := read_fields(response.get("usage")):
            yield UsageChunk(usage=_read_usage(usage))

    def _judge(self, incomplete: str) -> None:
        """An answer cut for length is an answer, unless the cut went through a call."""
        if incomplete == "content_filter":
            raise declined()
        if incomplete and any(_is_half_a_call(item) for item in (*self._items, *self._begun.values())):
            raise cut_in_a_call()

    def _call(self, item: Fields) -> CallChunk:
        arguments = read_text(item.get("arguments"))
        name = self._names.decode(read_text(item.get("name")))
        return CallChunk(provider_id=item["call_id"], name=name, arguments=arguments if arguments.strip() else "{}")

    def _pack(self) -> bytes | None:
        """None for words alone: those need no bytes of their own to be said again."""
        parts = [part for item in self._items if (part := _pack_item(item))]
        return pack_state(LABEL, parts) if any(_is_more_than_words(part) for part in parts) else None


def _pack_item(item: Fields) -> Fields | None:
    """As it must be sent back. Reasoning that did not come along cannot be."""
    match item.get("type"):
        case "reasoning" if item.get("encrypted_content"):
            return item
        case "message":
            return item
        case "function_call":
            return {key: value for key, value in item.items() if key not in _KNOWN_OF_A_CALL}
        case _:
            return None


def _is_more_than_words(part: Fields) -> bool:
    return part["type"] != "message" or "phase" in part


def _is_half_a_call(item: Fields) -> bool:
    return item.get("type") == "function_call" and read_object(read_text(item.get("arguments"))) is None


def _name_thought(event: Fields) -> tuple[object, object]:
    return event.get("item_id"), event.get("summary_index")


def _read_usage(usage: Fields) -> Usage:
    return Usage(
        input_tokens=read_count(usage, "input_tokens"),
        output_tokens=read_count(usage, "output_tokens"),
        thinking_tokens=read_count(read_fields(usage.get("output_tokens_details")), "reasoning_tokens"),
        cache_read_tokens=read_count(read_fields(usage.get("input_tokens_details")), "cached_tokens"),
    )
