"""The demo model: a small investigator made of rules, for a first look without any language model."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import final

from midwatch.domain.messages import Usage
from midwatch.kit import json
from midwatch.llm.demo.investigator import Turn, respond
from midwatch.llm.model import CallChunk, Chunk, ModelRequest, TextChunk, ThinkingChunk, UsageChunk
from midwatch.llm.scripted import count_turns, cut, provider_id

_PIECE = 24


@final
class DemoModel:
    """`pace` is the seconds between two pieces of text, so that a person can watch them come."""

    def __init__(
        self,
        *,
        provider: str = "demo",
        name: str = "demo model",
        pace: float = 0.0,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.provider = provider
        self.name = name
        self._pace = pace
        self._sleep = sleep

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        for chunk in _speak(respond(request), number=count_turns(request)):
            yield chunk
            if self._pace and isinstance(chunk, TextChunk | ThinkingChunk):
                await self._sleep(self._pace)


def _speak(turn: Turn, *, number: int) -> Iterator[Chunk]:
    yield from (ThinkingChunk(text=piece) for piece in cut(turn.thinking, _PIECE))
    yield from (TextChunk(text=piece) for piece in cut(turn.text, _PIECE))
    for index, call in enumerate(turn.calls):
        arguments = json.encode_text(dict(call.arguments))
        yield CallChunk(provider_id=provider_id(number, index), name=call.name, arguments=arguments)
    # Nobody was asked, so nothing was used.
    yield UsageChunk(usage=Usage())
