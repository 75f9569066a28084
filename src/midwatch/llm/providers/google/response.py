"""The bytes of a streamed generateContent answer, read into chunks. Pure: knows nothing of the network."""

from collections.abc import Iterator, Sequence
from typing import Any

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Usage
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.failures import reported_in_stream
from midwatch.llm.loose_json import Fields, malformed, read_count, read_fields, read_items, read_text, read_value
from midwatch.llm.model import (
    CallChunk,
    Chunk,
    CodeChunk,
    NoticeChunk,
    StateChunk,
    TextChunk,
    ThinkingChunk,
    UsageChunk,
)
from midwatch.llm.providers.google.events import StreamLines
from midwatch.llm.providers.google.grounding import Lookups
from midwatch.llm.providers.google.state import KeptParts
from midwatch.llm.toolnames import ToolNames

_ANSWERED = frozenset({"STOP", "MAX_TOKENS"})
_FEEDBACK = {
    "MALFORMED_FUNCTION_CALL": "Your last tool call could not be read. Make it again, with arguments in proper JSON.",
    "UNEXPECTED_TOOL_CALL": "You called a tool that is not offered to you. Use only the tools you were given, if any.",
}
_LOOKED_UP = frozenset({"groundingMetadata", "urlContextMetadata"})
_OUR_FAULT = frozenset({"MISSING_THOUGHT_SIGNATURE"})
_FILTERED = frozenset(
    {
        "SAFETY",
        "RECITATION",
        "LANGUAGE",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "MODEL_ARMOR",
        "IMAGE_SAFETY",
        "IMAGE_PROHIBITED_CONTENT",
        "IMAGE_RECITATION",
    }
)


class StreamDecoder:
    """Reads one answer. However the bytes are cut, the chunks are the same.

    Nothing marks the end of the stream, and some models give a finish reason with every event: the answer is over when
    no more bytes come.
    """

    def __init__(
        self, names: ToolNames, api_key: str | None = None, *, label: str = "", notices: Sequence[NoticeChunk] = ()
    ) -> None:
        self._names = names
        self._api_key = api_key
        self._label = label
        self._notices = notices
        self._lines = StreamLines()
        self._parts = KeptParts()
        self._calls: list[CallChunk] = []
        self._code: list[Fields] = []
        self._lookups = Lookups()
        self._usage: Usage | None = None
        self._finish_reason = ""
        self._block_reason = ""
        self.is_done = False

    @property
    def is_whole(self) -> bool:
        """Nothing of the answer itself is missing, even if the stream breaks now."""
        return self.is_done or bool(self._finish_reason)

    def feed(self, data: bytes) -> Iterator[Chunk]:
        for payload in self._lines.feed(data):
            for candidate in self._read_event(read_value(payload)):
                yield from self._read_candidate(candidate)

    def finish(self) -> Iterator[Chunk]:
        yield from self.feed(b"\n")
        if self.is_done:
            return
        self.is_done = True
        self._look_for_error()
        yield from self._end()

    def _end(self) -> Iterator[Chunk]:
        failure = self._judge()
        if failure is None:
            yield from (CodeChunk(code=read_text(code.get("code")), output="") for code in self._code)
            yield from self._lookups.finish()
            yield from self._calls
            if state := self._parts.pack(self._label):
                yield StateChunk(state=state)
            yield from self._notices
        # Given with a failure too, since it is paid for; but a broken stream may still be asked for again unnoticed.
        if self._usage is not None and (self._finish_reason or self._block_reason):
            yield UsageChunk(usage=self._usage)
        if failure is not None:
            raise failure

    def _look_for_error(self) -> None:
        """An error that stood between the events, unless the answer came to its end all the same."""
        if not self._lines.stray or self._finish_reason:
            return
        try:
            value = json.decode(self._lines.stray)
        except ValueError:
            return
        self._raise_reported(_first(value))

    def _judge(self) -> ModelUnavailable | None:
        if self._block_reason:
            return _filtered(f"the provider blocked the question: {self._block_reason}")
        match self._finish_reason:
            case "":
                return ModelUnavailable("the answer broke off", code="partial_stream_error", retryable=True)
            case reason if reason in _ANSWERED:
                return None
            case reason if reason in _FILTERED:
                return _filtered(f"the provider stopped the answer: {reason}")
            case reason:
                # Such as MALFORMED_FUNCTION_CALL: the model stumbled, and may not the next time.
                told = f"the answer ended with {reason}"
                is_ours = reason in _OUR_FAULT
                code = "invalid_request" if is_ours else "provider_error"
                return ModelUnavailable(told, code=code, retryable=not is_ours, feedback=_FEEDBACK.get(reason))

    def _read_event(self, event: Any) -> list[Fields]:
        """The one candidate, if there is one."""
        fields = read_fields(event) or _first(event)
        self._raise_reported(fields)
        if not isinstance(event, dict):
            raise malformed()
        if usage := read_fields(fields.get("usageMetadata")):
            self._usage = _read_usage(usage)
        if feedback := read_fields(fields.get("promptFeedback")):
            self._block_reason = _word(feedback.get("blockReason")) or self._block_reason
        return read_items(fields.get("candidates"))[:1]

    def _raise_reported(self, fields: Fields) -> None:
        if error := fields.get("error"):
            raise reported_in_stream(error, api_key=self._api_key)

    def _read_candidate(self, candidate: Fields) -> Iterator[Chunk]:
        for part in read_items(read_fields(candidate.get("content")).get("parts")):
            chunk = self._read_part(part)
            if chunk is not None:
                yield chunk
            self._parts.add(part)
        if not _LOOKED_UP.isdisjoint(candidate):
            self._lookups.add(candidate)
        if reason := candidate.get("finishReason"):
            self._finish_reason = _word(reason) or self._finish_reason

    def _read_part(self, part: Fields) -> Chunk | None:
        """What can be told at once; calls and code without a result are told at the end."""
        if "functionCall" in part:
            self._calls.append(self._read_call(read_fields(part["functionCall"])))
        elif "executableCode" in part:
            self._code.append(read_fields(part["executableCode"]))
        elif "codeExecutionResult" in part:
            return self._pair(read_fields(part["codeExecutionResult"]))
        elif text := read_text(part.get("text")):
            return ThinkingChunk(text=text) if part.get("thought") else TextChunk(text=text)
        return None

    def _read_call(self, call: Fields) -> CallChunk:
        name, arguments = read_text(call.get("name")), call.get("args")
        if not name or not isinstance(arguments, dict | None):
            raise malformed()
        provider_id = read_text(call.get("id"))
        if not provider_id or any(earlier.provider_id == provider_id for earlier in self._calls):
            provider_id = f"call_{new_id().hex}"
        return CallChunk(
            provider_id=provider_id,
            name=self._names.decode(name),
            arguments=json.encode_text(read_fields(arguments)),
        )

    def _pair(self, result: Fields) -> CodeChunk:
        """With the code it names, else with the oldest that has no result yet."""
        named = [code for code in self._code if code.get("id") and code.get("id") == result.get("id")]
        code = read_fields(next(iter(named or self._code), None))
        self._code = [other for other in self._code if other is not code]
        return CodeChunk(
            code=read_text(code.get("code")),
            output=read_text(result.get("output")),
            is_error=result.get("outcome", "OUTCOME_OK") != "OUTCOME_OK",
        )


def _first(value: Any) -> Fields:
    """Errors come as an object or as a list of one."""
    entries = read_items(value) if isinstance(value, list) else [read_fields(value)]
    return entries[0] if entries else {}


def _filtered(message: str) -> ModelUnavailable:
    return ModelUnavailable(message, code="content_filter", retryable=False)


def _read_usage(usage: Fields) -> Usage:
    """Thoughts are part of the output and what its own tools read is part of the input, as in the bill."""
    thoughts = read_count(usage, "thoughtsTokenCount")
    return Usage(
        input_tokens=read_count(usage, "promptTokenCount") + read_count(usage, "toolUsePromptTokenCount"),
        output_tokens=read_count(usage, "candidatesTokenCount") + thoughts,
        thinking_tokens=thoughts,
        cache_read_tokens=read_count(usage, "cachedContentTokenCount"),
    )


def _word(value: Any) -> str:
    """One of the provider's constants; anything longer is cut, since it ends up in an error's text."""
    return read_text(value)[:64]
