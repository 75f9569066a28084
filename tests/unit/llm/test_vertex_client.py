"""Models on Vertex AI: where they are asked for, with whose token, and that one token serves all."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from midwatch.config.llm import VertexAiProvider
from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Usage, UserMessage
from midwatch.llm.gateway import Gateway
from midwatch.llm.http import new_http_client
from midwatch.llm.model import Chunk, Model, ModelRequest, TextChunk, UsageChunk
from midwatch.llm.providers.vertexai.client import build_url, find_host
from midwatch.llm.scripted import ScriptedTurn
from tests.fakes.anthropic_events import list_events as list_claude_events
from tests.fakes.anthropic_server import MESSAGES
from tests.fakes.gemini_server import GEMINI, serve
from tests.fakes.provider_server import Dialect, ProviderServer, serve_dialect
from tests.fakes.token_server import TokenServer, new_key, serve_tokens
from tests.unit.llm.asking import Asking, ask_once, stop_early

HELLO = ScriptedTurn(text="hello", usage=Usage(input_tokens=2, output_tokens=1))
HELLO_CHUNKS: list[Chunk] = [TextChunk(text="hello"), UsageChunk(usage=HELLO.usage)]
REQUEST = ModelRequest(messages=(UserMessage(text="go"),), tools=(), agent="A")
MANY = 40
"""More than a loop has threads."""
CLAUDE = Dialect(path=":streamRawPredict", count_turns=MESSAGES.count_turns, list_events=list_claude_events)


@pytest.fixture
async def http() -> AsyncGenerator[httpx.AsyncClient]:
    async with new_http_client() as client:
        yield client


def make_gateway(http: httpx.AsyncClient, **environ: str) -> Gateway:
    return Gateway(http=http, environ={"GOOGLE_CLOUD_PROJECT": "p-1", **environ}, folder=Path())


def open_model(
    gateway: Gateway, base_url: str, *, model: str = "gemini-3-pro-preview", key: str | None = "KEY"
) -> Model:
    provider = VertexAiProvider(type="vertexai", model=model, base_url=base_url, credentials_env=key)
    return gateway.open("cloud", provider)


@asynccontextmanager
async def serve_both(
    *, is_held: bool = False, lifetime: int = 3600
) -> AsyncGenerator[tuple[ProviderServer, TokenServer]]:
    async with (
        serve_tokens(is_held=is_held, lifetime=lifetime) as tokens,
        serve(GEMINI.by_turn([HELLO])) as server,
        asyncio.timeout(60),
    ):
        yield server, tokens


def tokens_of(server: ProviderServer) -> list[str]:
    return [received.headers["authorization"] for received in server.requests]


@pytest.mark.parametrize("is_file", [True, False])
async def test_a_service_account_asks_gemini_with_a_token_of_its_own(
    http: httpx.AsyncClient, tmp_path: Path, *, is_file: bool
) -> None:
    async with serve_both() as (server, tokens):
        path = tmp_path / "key.json"
        path.write_text(tokens.key_file, encoding="utf-8")
        gateway = make_gateway(http, KEY=str(path) if is_file else tokens.key_file)
        asking = await ask_once(open_model(gateway, server.base_url), REQUEST)
    assert (asking.chunks, asking.failure) == (HELLO_CHUNKS, None)
    (received,) = server.requests
    assert received.headers["authorization"] == "Bearer token-1"
    place = "/v1/projects/p-1/locations/global/publishers/google/models"
    assert received.path == f"{place}/gemini-3-pro-preview:streamGenerateContent?alt=sse"


async def test_claude_is_asked_in_its_own_words_without_the_models_name(http: httpx.AsyncClient) -> None:
    async with (
        serve_tokens() as tokens,
        serve_dialect(CLAUDE.by_turn([HELLO]), dialect=CLAUDE) as server,
        asyncio.timeout(60),
    ):
        gateway = make_gateway(http, KEY=tokens.key_file, GOOGLE_CLOUD_LOCATION="us-east5")
        base_url = server.base_url.removesuffix("/v1")
        asking = await ask_once(open_model(gateway, base_url, model="claude-sonnet-4-5@20250929"), REQUEST)
    assert asking.failure is None
    assert TextChunk(text="hello") in asking.chunks
    (received,) = server.requests
    place = "/v1/projects/p-1/locations/us-east5/publishers/anthropic/models"
    assert received.path == f"{place}/claude-sonnet-4-5@20250929:streamRawPredict"
    assert received.body["anthropic_version"] == "vertex-2023-10-16"
    assert "model" not in received.body
    assert received.headers["authorization"] == "Bearer token-1"
    assert "interleaved-thinking" in received.headers["anthropic-beta"]
    assert "x-api-key" not in received.headers


async def ask_all(models: Iterable[Model]) -> list[Asking]:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(ask_once(model, REQUEST)) for model in models]
    return [task.result() for task in tasks]


async def test_one_token_is_fetched_for_all_who_ask_and_nobody_else_waits(http: httpx.AsyncClient) -> None:
    async with serve_both(is_held=True) as (server, tokens), asyncio.TaskGroup() as group:
        gateway = make_gateway(http, KEY=tokens.key_file)
        asking = group.create_task(ask_all([open_model(gateway, server.base_url) for _ in range(MANY)]))
        # Both go on while the fetch is under way: the loop, and the threads that others need.
        await tokens.asked.wait()
        await asyncio.to_thread(int)
        tokens.release.set()
        assert [each.chunks for each in await asking] == [HELLO_CHUNKS] * MANY
    assert tokens.tokens == 1
    assert tokens_of(server) == ["Bearer token-1"] * MANY


async def test_a_fetch_goes_on_for_the_next_when_who_began_it_is_cancelled(http: httpx.AsyncClient) -> None:
    async with serve_both(is_held=True) as (server, tokens), asyncio.TaskGroup() as group:
        gateway = make_gateway(http, KEY=tokens.key_file)
        first = group.create_task(stop_early(open_model(gateway, server.base_url), REQUEST))
        await tokens.asked.wait()
        tokens.asked.clear()
        first.cancel()
        second = group.create_task(ask_once(open_model(gateway, server.base_url), REQUEST))
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(tokens.asked.wait(), 0.3)
        tokens.release.set()
        assert (await second).chunks == HELLO_CHUNKS
    assert tokens.tokens == 1


async def test_a_token_that_is_about_to_run_out_is_fetched_anew(http: httpx.AsyncClient) -> None:
    async with serve_both(lifetime=100) as (server, tokens):
        model = open_model(make_gateway(http, KEY=tokens.key_file), server.base_url)
        for _ in range(2):
            assert (await ask_once(model, REQUEST)).failure is None
    assert tokens_of(server) == ["Bearer token-1", "Bearer token-2"]


async def test_a_key_that_is_refused_is_a_matter_of_credentials(http: httpx.AsyncClient) -> None:
    async with serve_both() as (server, tokens):
        key_file = tokens.key_file
        tokens.key = new_key()
        asking = await ask_once(open_model(make_gateway(http, KEY=key_file), server.base_url), REQUEST)
    assert asking.outcome == ("credentials", False)
    assert str(asking.failure) == "no access token from Google: invalid_grant: Invalid JWT Signature."
    assert server.requests == []


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("/nonexistent/key.json", "the key file cannot be read: No such file or directory"),
        ("{broken", "the key file is not JSON"),
        ('{"type": "aws"}', "a key of type 'aws', which is not supported here"),
        ('{"type": "service_account", "private_key": "SECRET"}', "token_uri"),
        (
            '{"type":"service_account","private_key":"SECRET","client_email":"a","token_uri":"http://127.0.0.1:9/"}',
            "",
        ),
        ('{"type": "authorized_user", "refresh_token": "SECRET"}', "client_id"),
    ],
)
async def test_a_key_that_cannot_be_used_is_told_without_its_content(
    http: httpx.AsyncClient, key: str, told: str
) -> None:
    asking = await ask_once(open_model(make_gateway(http, KEY=key), "http://127.0.0.1:9"), REQUEST)
    assert asking.outcome == ("credentials", False)
    assert told in str(asking.failure)
    assert "SECRET" not in str(asking.failure)


async def test_an_api_key_is_sent_instead_of_a_token(http: httpx.AsyncClient) -> None:
    async with serve(GEMINI.by_turn([HELLO])) as server:
        provider = VertexAiProvider(type="vertexai", model="gemini-3-pro", base_url=server.base_url, api_key_env="A")
        asking = await ask_once(make_gateway(http, A="AIza").open("cloud", provider), REQUEST)
    assert asking.chunks == HELLO_CHUNKS
    assert server.requests[0].headers["x-goog-api-key"] == "AIza"


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("global", "https://aiplatform.googleapis.com"),
        ("us-central1", "https://us-central1-aiplatform.googleapis.com"),
        ("eu", "https://aiplatform.eu.rep.googleapis.com"),
    ],
)
def test_each_location_has_its_host(location: str, host: str) -> None:
    assert find_host(location) == host


def test_a_base_that_ends_in_a_version_keeps_it() -> None:
    url = build_url("https://h/v1beta1/", model="gemini-3-pro", project="p", location="eu")
    assert url.path.startswith("/v1beta1/projects/p/")


@pytest.mark.parametrize("location", ["", "evil.example/", "US", "a b"])
def test_a_name_that_is_no_location_leads_nowhere(location: str) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        find_host(location)
    assert (caught.value.code, caught.value.retryable) == ("invalid_request", False)


def test_names_cannot_leave_their_place_in_the_address() -> None:
    url = build_url("https://h", model="../x", project="a/b", location="eu")
    assert str(url).startswith("https://h/v1/projects/a%2Fb/locations/eu/publishers/google/models/..%2Fx:stream")


async def test_without_a_project_nothing_is_opened(http: httpx.AsyncClient) -> None:
    gateway = Gateway(http=http, environ={}, folder=Path())
    with pytest.raises(ModelUnavailable) as caught:
        gateway.open("cloud", VertexAiProvider(type="vertexai", model="gemini-3-pro"))
    assert caught.value.code == "credentials"
    assert "GOOGLE_CLOUD_PROJECT" in str(caught.value)


def test_google_auth_is_loaded_only_when_a_token_is_needed() -> None:
    code = (
        "import sys, midwatch.llm.gateway, midwatch.llm.providers.vertexai.client;"
        "import midwatch.llm.providers.vertexai.accounts; print('google.auth' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
