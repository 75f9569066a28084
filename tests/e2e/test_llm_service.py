"""`midwatch llm-service` as a process: it has the keys, others ask, and it can go away and come back."""

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import grpc.aio
import pytest
import yaml
from grpc_health.v1 import health_pb2, health_pb2_grpc

from midwatch.config.llm import OpenAiProvider
from midwatch.domain.errors import ModelUnavailable
from midwatch.domain.messages import UserMessage
from midwatch.domain.session import SessionStatus
from midwatch.llm.grpc.client import connect
from midwatch.llm.model import Model, ModelRequest, NoticeChunk, TextChunk
from midwatch.llm.scripted import ScriptedTurn
from tests.commands import run_midwatch
from tests.fakes.openai_server import by_turn, serve, stall_after
from tests.fakes.provider_server import ProviderServer
from tests.fakes.tls_server import write_certificate
from tests.llm_processes import LlmProcess, run_llm_service
from tests.scenes import CONCLUSION, look, open_scene
from tests.waiting import eventually

pytestmark = pytest.mark.usefixtures("one_loop")

KEY = "sk-of-the-night-watch"
HELLO = ScriptedTurn(text="hello there", chunk_size=6)
REQUEST = ModelRequest(messages=(UserMessage(text="go"),), tools=(), agent="A")
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


def enter(base_url: str) -> OpenAiProvider:
    return OpenAiProvider(type="openai", model="m", base_url=base_url, api_key_env="MODEL_KEY")


def write_providers(folder: Path, base_url: str) -> Path:
    entry = {"type": "openai", "model": "m", "base_url": base_url, "api_key_env": "MODEL_KEY"}
    (folder / "llm-providers.yaml").write_text(yaml.safe_dump({"llm_providers": {"main": entry}}))
    return folder


async def listen(model: Model) -> str:
    async with asyncio.timeout(60), aclosing(model.stream(REQUEST)) as chunks:
        return "".join([chunk.text async for chunk in chunks if isinstance(chunk, TextChunk)])


async def look_at_health(address: str, name: str = "") -> int:
    async with grpc.aio.insecure_channel(address) as channel:
        stub = cast("Any", health_pb2_grpc).HealthStub(channel)
        answer = await stub.Check(health_pb2.HealthCheckRequest(service=name), timeout=10)
        return answer.status


@pytest.fixture
async def provider() -> AsyncGenerator[ProviderServer]:
    async with serve(by_turn([HELLO])) as server:
        yield server


async def test_it_serves_what_its_own_configuration_names_with_its_own_key(
    provider: ProviderServer, tmp_path: Path
) -> None:
    folder = write_providers(tmp_path, provider.base_url)
    async with (
        run_llm_service(tmp_path, "--config-dir", folder, MODEL_KEY=KEY) as service,
        connect(service.address, environ={}) as client,
    ):
        assert await listen(client.open("main", enter(provider.base_url))) == "hello there"
        assert [await look_at_health(service.address, name) for name in ("", "llm.v1.LLMService")] == [SERVING] * 2
    assert provider.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in service.log.read_text()


async def test_a_drain_lets_a_call_end_and_tells_the_probes(tmp_path: Path) -> None:
    release = asyncio.Event()
    async with (
        serve(lambda _: stall_after(HELLO, 2, release=release)) as provider,
        run_llm_service(tmp_path, "--allow-address", provider.base_url) as service,
        connect(service.address, environ={}) as client,
        grpc.aio.insecure_channel(service.address) as channel,
    ):
        watching = cast("Any", health_pb2_grpc).HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        async with asyncio.timeout(60), aclosing(client.open("main", enter(provider.base_url)).stream(REQUEST)) as said:
            assert (await watching.read()).status == SERVING
            heard = [await anext(said)]
            service.process.send_signal(signal.SIGTERM)
            assert (await watching.read()).status == NOT_SERVING
            watching.cancel()
            release.set()
            heard += [chunk async for chunk in said]
        assert "".join(chunk.text for chunk in heard if isinstance(chunk, TextChunk)) == "hello there"
        assert await service.exit_status() == 0


async def test_a_service_that_is_killed_breaks_the_answer_and_is_found_again(tmp_path: Path) -> None:
    async with (
        serve(lambda _: stall_after(HELLO, 2, release=asyncio.Event())) as slow,
        serve(by_turn([HELLO])) as quick,
    ):
        allowed = ("--allow-address", slow.base_url, "--allow-address", quick.base_url)
        async with run_llm_service(tmp_path, *allowed) as first, connect(first.address, environ={}) as client:
            async with asyncio.timeout(60), aclosing(client.open("main", enter(slow.base_url)).stream(REQUEST)) as said:
                assert await anext(said) == TextChunk(text="hello ")
                first.process.kill()
                with pytest.raises(ModelUnavailable) as broken:
                    await anext(said)
                assert (broken.value.code, broken.value.retryable) == ("partial_stream_error", True)
            await first.exit_status()
            async with run_llm_service(tmp_path, *allowed, port=first.port):
                assert await listen(client.open("main", enter(quick.base_url))) == "hello there"


async def test_a_call_waits_out_a_short_absence(tmp_path: Path) -> None:
    async with serve(by_turn([HELLO])) as provider:
        allowed = ("--allow-address", provider.base_url)
        async with run_llm_service(tmp_path, *allowed) as first:
            port = first.port
        async with connect(f"127.0.0.1:{port}", environ={}, backoff=(2.0,) * 5) as client:
            said = client.open("main", enter(provider.base_url)).stream(REQUEST)
            async with asyncio.timeout(40), aclosing(said):
                assert isinstance(await anext(said), NoticeChunk)
                async with run_llm_service(tmp_path, *allowed, port=port):
                    rest = [chunk async for chunk in said]
    assert "".join(chunk.text for chunk in rest if isinstance(chunk, TextChunk)) == "hello there"


async def test_a_token_and_tls(provider: ProviderServer, tmp_path: Path) -> None:
    certificate = write_certificate(tmp_path / "certificate.pem")
    flags = ("--tls-cert", certificate, "--tls-key", certificate, "--token-env", "TOKEN")
    async with run_llm_service(
        tmp_path, *flags, "--host", "0.0.0.0", "--allow-address", provider.base_url, TOKEN="right"
    ) as service:
        roots = certificate.read_bytes()
        async with (
            connect(service.address, environ={}, token="right", roots=roots) as known,
            connect(service.address, environ={}, token="wrong", roots=roots) as unknown,
        ):
            assert await listen(known.open("main", enter(provider.base_url))) == "hello there"
            with pytest.raises(ModelUnavailable) as refused:
                await listen(unknown.open("main", enter(provider.base_url)))
    assert refused.value.code == "credentials"
    assert len(provider.requests) == 1


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        (("--host", "0.0.0.0"), "other machines can reach 0.0.0.0, and would use your keys"),
        (("--token-env", "NOT_SET"), "--token-env: variable NOT_SET is not set"),
        (("--tls-cert", "/etc/hostname"), "--tls-cert and --tls-key go together"),
        (("--tls-cert", "/etc/hostname", "--tls-key", "/etc/hostname"), "are no certificate in PEM and its key"),
    ],
)
def test_it_says_what_is_wrong_and_does_not_start(flags: tuple[str, ...], told: str) -> None:
    done = run_midwatch("llm-service", "--port", "0", *flags)
    assert done.returncode == 2
    assert told in done.stderr


async def test_a_port_in_use_is_an_error(tmp_path: Path) -> None:
    async with run_llm_service(tmp_path) as service:
        done = await asyncio.to_thread(run_midwatch, "llm-service", "--port", str(service.port))
    assert done.returncode != 0
    assert f"error: cannot listen on {service.address}: Address already in use" in done.stderr


async def examine(folder: Path, service: LlmProcess) -> dict[str, Any]:
    done = await asyncio.to_thread(
        run_midwatch,
        *("doctor", "--config-dir", folder, "--probe", "--json"),
        LLM_SERVICE_ADDR=service.address,
        MIDWATCH_HOME=str(folder / "home"),
    )
    return {finding["subject"]: finding for finding in yaml.safe_load(done.stdout)["findings"]}


async def test_the_doctor_asks_through_it_and_needs_no_key(provider: ProviderServer, tmp_path: Path) -> None:
    write_providers(tmp_path, provider.base_url)
    main: dict[str, Any] = {
        "defaults": {"llm_provider": "main"},
        "agents": {"Mate": {}},
        "agent_chains": {"deck": {"alert_types": ["deck"], "stages": [{"name": "s", "agents": [{"name": "Mate"}]}]}},
    }
    (tmp_path / "midwatch.yaml").write_text(yaml.safe_dump(main))
    async with run_llm_service(tmp_path, "--config-dir", tmp_path, MODEL_KEY=KEY) as service:
        found = await examine(tmp_path, service)
    assert found["configuration"]["grade"] == "ok", found
    assert found["model main"]["grade"] == "ok", found
    assert f"through the LLM service at {service.address}; began to answer" in found["model main"]["text"]


async def test_sessions_are_investigated_through_it(dsn: str, tmp_path: Path) -> None:
    """With a tool server beside; the address comes from the folder's `.env`, as with TARSy."""
    async with (
        serve(by_turn([look("first"), CONCLUSION])) as model,
        run_llm_service(tmp_path, "--allow-address", model.base_url) as service,
        open_scene(tmp_path, model=model, dsn=dsn) as scene,
    ):
        (tmp_path / ".env").write_text(f"LLM_SERVICE_ADDR={service.address}\n")
        (replica,) = await scene.fleet.start("only")
        session_id = await replica.submit()
        assert await scene.ended(session_id) is SessionStatus.COMPLETED
        answered = await eventually(lambda: service.logged("generated"))
        assert {entry["session_id"] for entry in answered} == {str(session_id)}
        assert len(scene.effects("lookup", key="first")) == 1
        said = [line for line in replica.log.read_text(encoding="utf-8").splitlines() if not line.startswith("{")]
        assert said == [], "gRPC's own words are no log of ours"
