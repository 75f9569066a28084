"""Who is not asked for is not loaded, and who is not there is missed with a word on how to get it."""

import subprocess
import sys
from pathlib import Path

import pytest

from midwatch.config.llm import InstalledProvider, PydanticAiProvider
from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import Usage, UserMessage
from midwatch.llm.gateway import Gateway
from midwatch.llm.http import new_http_client
from midwatch.llm.model import ModelRequest, TextChunk
from midwatch.llm.scripted import ScriptedTurn
from tests.fakes.openai_server import by_turn, serve
from tests.unit.llm.asking import ask_once
from tests.waiting import eventually

REQUEST = ModelRequest(messages=(UserMessage(text="go"),), tools=(), agent="A")
HELLO = ScriptedTurn(text="hello", usage=Usage(input_tokens=2, output_tokens=1))
EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "adapter"

_OTHERS = """
import sys
from pathlib import Path
from midwatch.config.llm import PROVIDER_SHAPES
from midwatch.llm.gateway import Gateway
from midwatch.llm.http import new_http_client
from midwatch.llm.prices import Prices
gateway = Gateway(http=new_http_client(), environ={"GOOGLE_CLOUD_PROJECT": "p"}, folder=Path())
for kind in ("openai", "anthropic", "xai", "google", "vertexai", "demo"):
    provider = PROVIDER_SHAPES[kind].model_validate({"type": kind, "model": "m"})
    gateway.open(kind, provider)
    Prices().find_window(provider)
print([name for name in sys.modules if name.partition(".")[0] in ("pydantic_ai", "openai")])
"""


def test_who_uses_other_providers_never_loads_pydantic_ai() -> None:
    done = subprocess.run([sys.executable, "-c", _OTHERS], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def make_entry(model: str, base_url: str | None = None) -> PydanticAiProvider:
    return PydanticAiProvider(type="pydantic-ai", model=model, base_url=base_url, api_key_env="KEY")


async def test_conversations_of_one_entry_share_a_connection_until_the_gateway_is_closed() -> None:
    async with serve(by_turn([HELLO])) as server, new_http_client() as http:
        gateway = Gateway(http=http, environ={"KEY": "k-1"}, folder=Path())
        entry = make_entry("openai-chat:small", server.base_url)
        for _ in range(3):
            model = gateway.open("tail", entry)
            asking = await ask_once(model, REQUEST)
            assert asking.chunks[0] == TextChunk(text="hello")
            assert (model.provider, model.name) == ("tail", "openai-chat:small")
        assert (server.connections, server.open_connections) == (1, 1)
        await gateway.close()
        await eventually(lambda: server.open_connections == 0, within=60)
    assert {received.headers["authorization"] for received in server.requests} == {"Bearer k-1"}


@pytest.mark.parametrize(
    ("model", "code", "told"),
    [
        ("openai:gpt-9", "credentials", "Set the `OPENAI_API_KEY` environment variable"),
        ("cohere:command", "invalid_request", "ImportError: Please install"),
        ("nobody:m", "invalid_request", "Unknown provider: nobody"),
    ],
)
async def test_what_cannot_be_built_is_a_failed_model_and_not_a_crash(
    monkeypatch: pytest.MonkeyPatch, model: str, code: str, told: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    async with new_http_client() as http:
        gateway = Gateway(http=http, environ={}, folder=Path())
        with pytest.raises(ModelUnavailable, match=told) as caught:
            gateway.open("tail", make_entry(model))
    assert (caught.value.code, caught.value.retryable) == (code, False)
    assert "Pydantic AI" not in str(caught.value)


def install(site: Path, entry: str) -> None:
    """What an installer leaves behind for a package with an adapter."""
    info = site / "midwatch_ollama-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: midwatch-ollama\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[midwatch.providers]\nollama = {entry}\n")


def make_installed(base_url: str | None = None) -> InstalledProvider:
    return InstalledProvider(type="ollama", model="qwen3", base_url=base_url)


async def test_an_installed_adapter_is_found_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "midwatch_ollama:open_ollama")
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(EXAMPLE), *sys.path])
    async with serve(by_turn([HELLO])) as server, new_http_client() as http:
        gateway = Gateway(http=http, environ={}, folder=Path(), backoff=())
        model = gateway.open("mine", make_installed(server.base_url))
        asking = await ask_once(model, REQUEST)
    assert (model.provider, model.name) == ("mine", "qwen3")
    assert str(asking.failure) == "HTTP 404: Not Found"


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (None, "no installed package has an adapter ollama"),
        ("midwatch_olama:open_ollama", "the adapter ollama cannot be loaded: No module named 'midwatch_olama'"),
        (
            "midwatch_ollama:open_olama",
            "the adapter ollama cannot be loaded: module 'midwatch_ollama' has no attribute",
        ),
    ],
)
async def test_an_adapter_that_is_not_there_is_a_failed_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str | None, told: str
) -> None:
    if entry is not None:
        install(tmp_path, entry)
    monkeypatch.setattr(sys, "path", [str(tmp_path), str(EXAMPLE), *sys.path])
    async with new_http_client() as http:
        gateway = Gateway(http=http, environ={}, folder=Path())
        with pytest.raises(ModelUnavailable, match=told):
            gateway.open("mine", make_installed())
