"""What a model is told to note: every request whose bytes leave, exactly as they leave, and no other."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace

import httpx
import pytest

from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import UserMessage
from midwatch.llm.http import new_http_client
from midwatch.llm.model import Chunk, Model, ModelRequest, Sent
from midwatch.llm.react.model import ReactModel
from midwatch.llm.scripted import ScriptedModel, ScriptedTurn
from tests.fakes.protocols import CHAT, CLAUDE, GOOGLE, Spoken
from tests.fakes.provider_server import Answer, ProviderServer, Status, in_order, serve_dialect

SAID = ScriptedTurn(text="Action: none\nFinal Answer: dry")
KEY = "key-that-is-only-a-header"
ALL = pytest.mark.parametrize("spoken", [CHAT, CLAUDE, GOOGLE], ids=lambda spoken: spoken.name)


@dataclass(slots=True)
class Notes:
    sent: list[Sent] = field(default_factory=list[Sent])
    received_before: list[int] = field(default_factory=list[int])
    server: ProviderServer | None = None

    def take(self, sent: Sent) -> None:
        self.sent.append(sent)
        self.received_before.append(len(self.server.requests) if self.server else 0)

    @property
    def request(self) -> ModelRequest:
        return ModelRequest(messages=(UserMessage(text="Wie geht’s?"),), tools=(), agent="A", note_sent=self.take)


async def listen(model: Model, request: ModelRequest) -> list[Chunk]:
    async with aclosing(model.stream(request)) as chunks:
        return [chunk async for chunk in chunks]


def connect(
    spoken: Spoken, server: ProviderServer, http: httpx.AsyncClient, *, backoff: Sequence[float] = (0.0,)
) -> Model:
    return spoken.open(spoken.address(server), http=http, api_key=KEY, backoff=backoff)


@asynccontextmanager
async def asking(spoken: Spoken, answer: Answer) -> AsyncGenerator[tuple[Model, ProviderServer]]:
    async with serve_dialect(answer, dialect=spoken.dialect) as server, new_http_client() as http:
        yield connect(spoken, server, http), server


@ALL
async def test_each_attempt_is_noted_before_it_leaves_with_the_bytes_that_arrive(spoken: Spoken) -> None:
    notes = Notes()
    async with asking(spoken, in_order([Status(status=503), SAID])) as (model, server):
        notes.server = server
        await listen(model, notes.request)
    assert [sent.body for sent in notes.sent] == [request.data for request in server.requests]
    assert notes.received_before == [0, 1]
    first = notes.sent[0]
    assert (first.provider, first.model) == ("main", spoken.model)
    assert f"http://{first.host}" == server.base_url.removesuffix("/v1")
    path, _, query = server.requests[0].path.partition("?")
    assert first.path == path
    assert bool(query) == (spoken is GOOGLE)
    assert KEY not in repr(first)
    assert KEY.encode() not in first.body
    # Of a known length, as before, and not in chunks.
    assert all("transfer-encoding" not in request.headers for request in server.requests)


async def test_a_password_in_the_address_is_not_noted() -> None:
    notes = Notes()
    async with serve_dialect(in_order([SAID]), dialect=CHAT.dialect) as server, new_http_client() as http:
        address = server.base_url.replace("http://", "http://deck:hunter2@")
        await listen(CHAT.open(f"{address}?secret=hunter2", http=http, api_key=None), notes.request)
    assert "hunter2" not in repr(notes.sent)
    assert notes.sent[0].path == "/v1/chat/completions"


@ALL
async def test_what_reached_nobody_is_not_noted(spoken: Spoken) -> None:
    notes = Notes()
    async with serve_dialect(in_order([]), dialect=spoken.dialect) as gone:
        pass
    async with new_http_client() as http:
        with pytest.raises(ModelUnavailable):
            await listen(connect(spoken, gone, http), notes.request)
    assert notes.sent == []


async def test_what_was_sent_and_never_answered_is_noted() -> None:
    notes = Notes()
    silence = CHAT.dialect.stall_after(SAID, 0, release=asyncio.Event())
    async with asking(CHAT, in_order([silence])) as (model, server), asyncio.TaskGroup() as group:
        task = group.create_task(listen(model, notes.request))
        await server.asked.wait()
        task.cancel()
    assert [sent.body for sent in notes.sent] == [request.data for request in server.requests]


async def test_a_model_that_acts_in_text_passes_the_note_on() -> None:
    notes = Notes()
    async with asking(CHAT, in_order([SAID])) as (model, server):
        await listen(ReactModel(model), replace(notes.request, messages=(UserMessage(text="go"),)))
    assert [sent.body for sent in notes.sent] == [request.data for request in server.requests]


async def test_a_scripted_model_sends_nothing() -> None:
    notes = Notes()
    await listen(ScriptedModel(turns=[SAID]), notes.request)
    assert notes.sent == []
