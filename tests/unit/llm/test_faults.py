"""Whatever a provider does, in whichever protocol: it ends in a documented code and a clear message without the key."""

import asyncio
import gzip
import os
import socket
import ssl
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest

from midwatch.domain.messages import UserMessage
from midwatch.domain.tools import ToolDefinition
from midwatch.llm.http import new_http_client
from midwatch.llm.model import CallChunk, ModelRequest, TextChunk
from tests.documents import list_failure_codes
from tests.fakes.protocols import ALL, CHAT, Spoken
from tests.fakes.provider_server import Status, serve_dialect
from tests.fakes.tls_server import refuse_plainly, serve_connections, write_certificate
from tests.fakes.troubles import HELLO, SECRET, TROUBLES, UNREACHABLE, Trouble, Unreachable
from tests.unit.llm.asking import Asking, FakeSleep, ask_once

ECHO = ToolDefinition(server="deck", name="echo", description="", schema={})
REQUEST = ModelRequest(messages=(UserMessage(text="go"),), tools=(ECHO,), agent="A")

spoken_by_all = pytest.mark.parametrize("spoken", ALL, ids=lambda spoken: spoken.name)


@pytest.fixture
async def http() -> AsyncGenerator[httpx.AsyncClient]:
    async with new_http_client() as client:
        yield client


async def ask(http: httpx.AsyncClient, spoken: Spoken, base_url: str) -> Asking:
    sleep = FakeSleep()
    model = spoken.open(base_url, http=http, api_key=SECRET, sleep=sleep, breaker=sleep.new_breaker())
    return await ask_once(model, REQUEST, sleep=sleep)


def check(asking: Asking, *, code: str, text: str) -> None:
    assert asking.failure is not None
    assert asking.failure.code == code
    assert code in list_failure_codes()
    told = [str(asking.failure), *asking.retries]
    assert text in told[0]
    assert not any(SECRET in each for each in told)
    assert max(len(each) for each in told) < 450
    assert not any(isinstance(chunk, CallChunk) for chunk in asking.chunks)


@spoken_by_all
@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.name)
async def test_a_trouble_ends_in_its_code(http: httpx.AsyncClient, spoken: Spoken, trouble: Trouble) -> None:
    http.timeout = trouble.timeout
    async with serve_dialect(lambda _: trouble.reply(spoken), dialect=spoken.dialect) as server:
        asking = await ask(http, spoken, spoken.address(server))
    code, text = trouble.expect(spoken)
    check(asking, code=code, text=text)
    assert len(asking.waits) == (2 if code == "max_retries" else 0)


@spoken_by_all
@pytest.mark.parametrize("unreachable", UNREACHABLE, ids=lambda unreachable: unreachable.name)
async def test_whoever_cannot_be_reached_is_named(
    http: httpx.AsyncClient, spoken: Spoken, unreachable: Unreachable, tmp_path: Path
) -> None:
    certificate = write_certificate(tmp_path / "certificate.pem")
    async with (
        serve_connections(refuse_plainly) as plain,
        serve_connections(refuse_plainly, certificate=certificate) as secure,
    ):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            address = unreachable.host.format(idle=unused.getsockname()[1], plain=plain, secure=secure)
            asking = await ask(http, spoken, f"{address}/v1")
    check(asking, code="max_retries", text=unreachable.text)
    assert f"cannot reach {httpx.URL(address).netloc.decode()}: " in str(asking.failure)


async def test_a_tls_stream_that_breaks_is_a_broken_stream(tmp_path: Path) -> None:
    certificate = write_certificate(tmp_path / "certificate.pem")

    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        event = b"".join(CHAT.dialect.list_events(HELLO, 0)[:2])
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 9999\r\n\r\n" + event)
        await writer.drain()
        # What is no record of TLS at all, past the layer that would make one of it.
        os.write(writer.get_extra_info("socket").fileno(), b"\x17\x03\x03\x00\x40" + b"?" * 64)
        await reader.read()

    async with (
        serve_connections(break_off, certificate=certificate) as port,
        httpx.AsyncClient(verify=ssl.create_default_context(cafile=certificate)) as http,
    ):
        asking = await ask(http, CHAT, f"https://127.0.0.1:{port}/v1")
    check(asking, code="partial_stream_error", text="SSL")


@spoken_by_all
async def test_two_calls_with_one_id_are_told_apart(http: httpx.AsyncClient, spoken: Spoken) -> None:
    twins = spoken.call([("twin", '{"n":1}'), ("twin", '{"n":2}')], ECHO.full_name)
    async with serve_dialect(lambda _: twins, dialect=spoken.dialect) as server:
        asking = await ask(http, spoken, spoken.address(server))
    calls = [chunk for chunk in asking.chunks if isinstance(chunk, CallChunk)]
    assert asking.failure is None
    assert [(call.name, call.arguments) for call in calls] == [("deck.echo", '{"n":1}'), ("deck.echo", '{"n":2}')]
    assert len({call.provider_id for call in calls}) == 2


@spoken_by_all
async def test_arguments_that_are_no_json_are_never_made_into_some(http: httpx.AsyncClient, spoken: Spoken) -> None:
    """The gate refuses them; Gemini's arguments are part of the event, and there the event is refused."""
    broken = spoken.call([("c", '{"text": ')], ECHO.full_name)
    async with serve_dialect(lambda _: broken, dialect=spoken.dialect) as server:
        asking = await ask(http, spoken, spoken.address(server))
    calls = [chunk.arguments for chunk in asking.chunks if isinstance(chunk, CallChunk)]
    if spoken.name == "gemini":
        check(asking, code="max_retries", text="the provider sent a malformed event")
    else:
        assert (asking.failure, calls) == (None, ['{"text": '])


@spoken_by_all
async def test_an_answer_that_somebody_compressed_is_read_all_the_same(http: httpx.AsyncClient, spoken: Spoken) -> None:
    packed = gzip.compress(b"".join(spoken.dialect.list_events(HELLO, 0)))
    answer = Status(status=200, body=packed, headers=(("content-encoding", "gzip"),))
    async with serve_dialect(lambda _: answer, dialect=spoken.dialect) as server:
        asking = await ask(http, spoken, spoken.address(server))
    assert asking.failure is None
    assert TextChunk(text="hello") in asking.chunks
