"""A model without tool calling, made to act by what it writes. It stands before any other model."""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import final

from midwatch.domain.errors import ModelUnavailable
from midwatch.kit.ids import new_id
from midwatch.llm.model import CallChunk, Chunk, Model, ModelRequest, StateChunk, TextChunk, ThinkingChunk
from midwatch.llm.provider_state import pack_state
from midwatch.llm.react.arguments import read_arguments
from midwatch.llm.react.conversation import FEEDBACK, LABEL, PlainConversation
from midwatch.llm.react.parser import ReactParser, Said, Section


@final
class ReactModel:
    def __init__(self, inner: Model) -> None:
        self.provider = inner.provider
        self.name = inner.name
        self._inner = inner
        self._conversation = PlainConversation()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        parser = ReactParser()
        messages = self._conversation.translate(request.messages, request.tools)
        plain = replace(request, messages=messages, tools=())
        async with aclosing(self._inner.stream(plain)) as chunks:
            async for chunk in chunks:
                if not isinstance(chunk, TextChunk):
                    if not isinstance(chunk, StateChunk | CallChunk):
                        yield chunk
                    continue
                for said in parser.feed(chunk.text):
                    yield _show(said)
        for said in parser.finish():
            yield _show(said)
        for chunk in _conclude(parser, may_act=bool(request.tools)):
            yield chunk


def _show(said: Said) -> Chunk:
    if said.section is Section.ANSWER:
        return TextChunk(text=said.text)
    return ThinkingChunk(text=said.text, source="react")


def _conclude(parser: ReactParser, *, may_act: bool) -> Iterator[Chunk]:
    wish, written = parser.wish, parser.text
    if not written:
        return  # an empty answer is dealt with as with any model
    yield StateChunk(state=pack_state(LABEL, [{"text": written}]))
    if wish.answer is not None:
        return
    if not may_act:
        # Asked to conclude, whatever it wrote is its conclusion.
        yield TextChunk(text=written)
        return
    arguments = read_arguments(wish.action_input) if wish.action is not None else None
    if wish.action is None or arguments is None:
        message = "the model did not keep to the form in which it can act"
        raise ModelUnavailable(message, code="malformed_answer", retryable=True, feedback=FEEDBACK)
    yield CallChunk(provider_id=f"react_{new_id().hex}", name=wish.action, arguments=arguments)
