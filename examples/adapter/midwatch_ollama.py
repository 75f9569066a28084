"""Ollama's own protocol, one JSON object per line: an example of an adapter that lives outside of Midwatch."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, Usage, UserMessage
from midwatch.domain.tools import ToolDefinition
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.adapters import Opening
from midwatch.llm.failures import reported_in_stream
from midwatch.llm.loose_json import read_count, read_event, read_fields, read_items, read_object, read_text
from midwatch.llm.model import CallChunk, Chunk, Model, ModelRequest, TextChunk, ThinkingChunk, UsageChunk
from midwatch.llm.tool_schemas import flatten_schema
from midwatch.llm.toolnames import ToolNames, build_names, encode_name
from midwatch.llm.wire import Exchange, HttpModel, bearer, extend_path

LOCAL = "http://localhost:11434"


def open_ollama(opening: Opening) -> Model:
    """Named as an entry point. Retries, pauses, failure codes and hiding the key come with HttpModel."""
    return HttpModel(
        provider=opening.provider,
        name=opening.model,
        protocol=OllamaChat(opening),
        authorise=bearer(opening.api_key),
        http=opening.http,
        backoff=opening.backoff,
        breaker=opening.breaker,
    )


class OllamaChat:
    """What is sent."""

    def __init__(self, opening: Opening) -> None:
        self._url = extend_path(opening.base_url or LOCAL, "api/chat")
        self._fixed = {"model": opening.model, "stream": True, "think": opening.options.get("think") == "true"}

    def prepare(self, request: ModelRequest) -> Exchange:
        said = [translate_message(message) for message in request.messages]
        tools = [translate_tool(tool) for tool in request.tools]
        body = json.encode({**self._fixed, "messages": said, "tools": tools})
        return Exchange(url=self._url, body=body, new_decoder=partial(Lines, build_names(request.tools)))


def translate_message(message: Message) -> dict[str, Any]:
    match message:
        case SystemMessage():
            return {"role": "system", "content": message.text}
        case UserMessage():
            return {"role": "user", "content": message.text}
        case ToolMessage():
            return {"role": "tool", "content": message.content, "tool_name": encode_name(message.name)}
        case AssistantMessage():
            calls = [
                {"function": {"name": encode_name(call.name), "arguments": read_object(call.arguments) or {}}}
                for call in message.calls
            ]
            return {"role": "assistant", "content": message.text, "tool_calls": calls}


def translate_tool(tool: ToolDefinition) -> dict[str, Any]:
    function = {
        "name": encode_name(tool.full_name),
        "description": tool.description,
        "parameters": flatten_schema(tool.schema),
    }
    return {"type": "function", "function": function}


class Lines:
    """How the answer is read. However the bytes are cut, the chunks are the same."""

    def __init__(self, names: ToolNames, api_key: str | None) -> None:
        self._names = names
        self._api_key = api_key
        self._rest = b""
        self.is_done = False

    @property
    def is_whole(self) -> bool:
        return self.is_done

    def feed(self, data: bytes) -> Iterator[Chunk]:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            if line.strip():
                yield from self._read(read_event(line))

    def finish(self) -> Iterator[Chunk]:
        yield from self.feed(b"\n")
        if not self.is_done:
            raise ModelUnavailable("the answer broke off", code="partial_stream_error", retryable=True)

    def _read(self, event: dict[str, Any]) -> Iterator[Chunk]:
        if error := event.get("error"):
            raise reported_in_stream({"message": error}, api_key=self._api_key)
        message = read_fields(event.get("message"))
        if thinking := read_text(message.get("thinking")):
            yield ThinkingChunk(text=thinking)
        if text := read_text(message.get("content")):
            yield TextChunk(text=text)
        for call in read_items(message.get("tool_calls")):
            yield self._read_call(read_fields(call.get("function")))
        if event.get("done"):
            self.is_done = True
            used = Usage(
                input_tokens=read_count(event, "prompt_eval_count"), output_tokens=read_count(event, "eval_count")
            )
            yield UsageChunk(usage=used)

    def _read_call(self, function: dict[str, Any]) -> CallChunk:
        """Ollama gives calls no ids, and the conversation needs one for each."""
        return CallChunk(
            provider_id=f"call_{new_id().hex}",
            name=self._names.decode(read_text(function.get("name"))),
            arguments=json.encode_text(read_fields(function.get("arguments"))),
        )
