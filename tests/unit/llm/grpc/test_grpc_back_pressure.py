"""A caller that reads slowly holds the provider back: nothing in between grows with the length of the answer."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import httpx
import pytest

from midwatch.config.llm import OpenAiProvider
from midwatch.domain.messages import UserMessage
from midwatch.llm.model import ModelRequest
from tests.fakes.llm_service import serve_models
from tests.fakes.openai_events import delta_event
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("one_loop")

WHOLE = 96_000_000
PIECE = delta_event({"content": "x" * 50_000})
LOOKS = 5


@dataclass
class Talker:
    """Says a lot, as fast as it is let."""

    written: int = 0
    base_url: str = ""

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")
            while self.written < WHOLE:
                writer.write(PIECE)
                await writer.drain()
                self.written += len(PIECE)
        except ConnectionError:
            pass
        finally:
            writer.close()

    def has_stopped(self) -> Callable[[], bool]:
        """Whether it wrote nothing while it was looked at some times."""
        seen: list[int] = []

        def look() -> bool:
            seen.append(self.written)
            return len(seen) > LOOKS and len(set(seen[-LOOKS:])) == 1

        return look


@asynccontextmanager
async def let_talk() -> AsyncGenerator[Talker]:
    talker = Talker()
    listener = await asyncio.start_server(talker.talk, "127.0.0.1", 0)
    talker.base_url = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1"
    async with listener:
        yield talker


async def test_the_provider_is_read_no_faster_than_the_caller_reads() -> None:
    request = ModelRequest(messages=(UserMessage(text="go"),), tools=(), agent="A")
    async with (
        let_talk() as talker,
        httpx.AsyncClient() as http,
        serve_models(http, talker.base_url, environ={}) as service,
    ):
        model = service.client.open("main", OpenAiProvider(type="openai", model="m", base_url=talker.base_url))
        async with aclosing(model.stream(request)) as chunks:
            for _ in range(3):
                await anext(chunks)
                await eventually(talker.has_stopped())
                assert talker.written < WHOLE / 3
