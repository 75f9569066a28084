"""A model behind pydantic-ai: any provider that it knows and we do not. It only asks; it never runs a tool."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import asdict, dataclass
from typing import final
from urllib.parse import urlsplit

from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponseStreamEvent
from pydantic_ai.models import Model as LibraryModel
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition as LibraryTool

from midwatch.domain.errors import ModelUnavailable
from midwatch.kit import json
from midwatch.llm.breaker import Breaker
from midwatch.llm.concession import ConcedingModel
from midwatch.llm.model import Chunk, Model, ModelRequest, NoteSent, NoticeChunk, Sent
from midwatch.llm.providers.longtail.faults import explain
from midwatch.llm.providers.longtail.library import Library
from midwatch.llm.providers.longtail.request import stand_in_for_past, translate_conversation, translate_tool
from midwatch.llm.providers.longtail.response import AnswerReader, is_whole
from midwatch.llm.retry import BACKOFF, Sleep, stream_with_retries
from midwatch.llm.toolnames import ToolNames, build_names

_THOUGHT_WORDS = ("thinking", "reasoning")


def open_longtail(
    *,
    provider: str,
    name: str,
    library: Library,
    backoff: Sequence[float] = BACKOFF,
    sleep: Sleep = asyncio.sleep,
    breaker: Breaker | None = None,
) -> Model:
    model = LongtailModel(
        provider=provider,
        name=name,
        library=library,
        backoff=backoff,
        sleep=sleep,
        breaker=breaker or Breaker(provider=provider),
    )
    return ConcedingModel(model, protocol=model)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    messages: list[ModelMessage]
    parameters: ModelRequestParameters
    settings: ModelSettings
    names: ToolNames
    note_sent: NoteSent


@final
class LongtailModel:
    """Built for one conversation. Thinking is asked for where the library knows that the model can."""

    def __init__(
        self,
        *,
        provider: str,
        name: str,
        library: Library,
        backoff: Sequence[float],
        sleep: Sleep,
        breaker: Breaker,
    ) -> None:
        self.provider = provider
        self.name = name
        self._library = library
        self._backoff = backoff
        self._sleep = sleep
        self._breaker = breaker
        self._thinks = True
        self._offered: list[LibraryTool] = []

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        question = self._put(request)
        return stream_with_retries(
            lambda: self._attempt(question), breaker=self._breaker, backoff=self._backoff, sleep=self._sleep
        )

    def concede(self, failure: ModelUnavailable) -> NoticeChunk | None:
        is_about_thinking = any(word in str(failure).lower() for word in _THOUGHT_WORDS)
        if failure.code != "invalid_request" or not is_about_thinking or not self._thinks:
            return None
        self._thinks = False
        message = "the provider refused to let this model think; it goes on without"
        return NoticeChunk(code="thinking_off", message=message)

    def _put(self, request: ModelRequest) -> _Question:
        """Without tools, those that were offered before are still declared: past calls rest on them."""
        settings = self._library.settings
        if self._thinks:
            settings["thinking"] = True
        if request.tools:
            self._offered = [translate_tool(tool) for tool in request.tools]
        declared = self._offered or stand_in_for_past(request.messages)
        if declared and not request.tools:
            settings["tool_choice"] = "none"
        return _Question(
            messages=self._library.fit(translate_conversation(request.messages)),
            parameters=ModelRequestParameters(function_tools=declared),
            settings=settings,
            names=build_names(request.tools),
            note_sent=request.note_sent,
        )

    async def _attempt(self, question: _Question) -> AsyncGenerator[Chunk]:
        is_answering = False
        try:
            library = await self._library.open()
            question.note_sent(self._describe(library, question))
            async with aclosing(_answer(library, question)) as chunks:
                async for chunk in chunks:
                    is_answering = True
                    yield chunk
        except ModelUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 -- a boundary: dozens of libraries, each with errors of its own
            raise explain(error, is_answering=is_answering, api_key=self._library.secret) from None

    def _describe(self, library: LibraryModel, question: _Question) -> Sent:
        """In the library's words: the bytes themselves are put together below it, out of our sight."""
        address = urlsplit(library.base_url or "")
        tools = [asdict(tool) for tool in question.parameters.function_tools]
        messages = ModelMessagesTypeAdapter.dump_python(question.messages, mode="json")
        return Sent(
            provider=self.provider,
            model=self.name,
            host=address.netloc.rpartition("@")[2],
            path=address.path,
            body=json.encode({"messages": messages, "tools": tools}),
        )


async def _answer(library: LibraryModel, question: _Question) -> AsyncGenerator[Chunk]:
    reader = AnswerReader(question.names)
    async with _ask(library, question) as stream:
        async with aclosing(_follow(stream)) as events:
            async for event in events:
                for chunk in reader.read(event):
                    yield chunk
        for chunk in reader.finish(stream.get()):
            yield chunk


def _ask(library: LibraryModel, question: _Question) -> AbstractAsyncContextManager[StreamedResponse]:
    return model_request_stream(
        library,
        question.messages,
        model_settings=question.settings,
        model_request_parameters=question.parameters,
        instrument=False,
    )


async def _follow(stream: StreamedResponse) -> AsyncGenerator[ModelResponseStreamEvent]:
    """A connection that is lost when nothing is missing any more is not missed. Closing hangs up at once."""
    try:
        async for event in stream:
            yield event
    except Exception:
        # A boundary, as above; whatever went wrong, the answer is whole or it is not.
        if not is_whole(stream.get()):
            raise
    finally:
        with suppress(NotImplementedError):
            await stream.cancel()
