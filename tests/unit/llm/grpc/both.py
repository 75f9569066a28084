"""A model in this process, and the same one behind an LLM service: what a test of both needs."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from midwatch.config.llm import Provider
from midwatch.domain.messages import AssistantMessage, Message, ToolMessage, UserMessage
from midwatch.domain.tools import ToolDefinition
from midwatch.llm.gateway import Gateway, Remote
from midwatch.llm.model import CallChunk, Model, ModelRequest, NoticeChunk, StateChunk, TextChunk
from tests.fakes.llm_service import NO_WAITS, serve_models
from tests.fakes.protocols import ALL, KEY_VARIABLE, OPENAI_ADDRESS, Detour, Spoken
from tests.fakes.provider_server import Answer, ProviderServer, serve_dialect
from tests.fakes.troubles import SECRET
from tests.unit.llm.asking import Asking
from tests.unit.llm.conversations import make_call

TOOL = ToolDefinition(server="deck", name="echo", description="Says it again", schema={"type": "object"})
_READ_TIMEOUT = 0.2

over_both = pytest.mark.parametrize("transport", ["here", "grpc"])
spoken_by_all = pytest.mark.parametrize("spoken", ALL, ids=lambda spoken: spoken.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A provider, and a way to it."""

    server: ProviderServer
    opener: Remote
    entry: Provider
    model: Model
    """For one conversation."""

    def open(self, *, native_tools: frozenset[str] = frozenset()) -> Model:
        """For another one."""
        return self.opener.open("main", self.entry, native_tools=native_tools)


@asynccontextmanager
async def set_up(
    spoken: Spoken,
    transport: str,
    answer: Answer,
    *,
    address: str | None = None,
    patience: float | None = _READ_TIMEOUT,
) -> AsyncGenerator[Setting]:
    """`address`: of another provider than the one that answers. `patience`: seconds of silence, None for any."""
    environ = {KEY_VARIABLE: SECRET}
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(serve_dialect(answer, dialect=spoken.dialect))
        target = address or spoken.address(server)
        timeout = httpx.Timeout(10, read=patience)
        http = await stack.enter_async_context(httpx.AsyncClient(transport=Detour(target), timeout=timeout))
        opener: Remote = Gateway(http=http, environ=environ, folder=Path(), backoff=NO_WAITS)
        if transport == "grpc":
            service = serve_models(http, target, OPENAI_ADDRESS, environ=environ)
            opener = (await stack.enter_async_context(service)).client
        entry = spoken.entry(target)
        yield Setting(server=server, opener=opener, entry=entry, model=opener.open("main", entry))


def make_request(*messages: Message, tools: tuple[ToolDefinition, ...] = (TOOL,)) -> ModelRequest:
    return ModelRequest(messages=messages or (UserMessage(text="go"),), tools=tools, agent="A")


def read_text(asking: Asking) -> str:
    return "".join(chunk.text for chunk in asking.chunks if isinstance(chunk, TextChunk))


def read_notices(asking: Asking) -> list[str]:
    return [chunk.code for chunk in asking.chunks if isinstance(chunk, NoticeChunk)]


def go_on(asking: Asking) -> ModelRequest:
    """The next question: what was answered, as the journal keeps it, and a result for each call."""
    calls = [chunk for chunk in asking.chunks if isinstance(chunk, CallChunk)]
    states = [chunk.state for chunk in asking.chunks if isinstance(chunk, StateChunk)]
    reply = AssistantMessage(
        text=read_text(asking),
        calls=tuple(make_call(call.name, call.arguments, provider_id=call.provider_id) for call in calls),
        provider_state=states[0] if states else None,
    )
    results = [ToolMessage(provider_id=call.provider_id, name=call.name, content="two käse") for call in calls]
    return make_request(UserMessage(text="go"), reply, *results)
