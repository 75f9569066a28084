"""`midwatch` as a person or an init system starts it: what it says, how it ends, what it leaves behind."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import tempfile
from asyncio.subprocess import DEVNULL, Process
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO
from urllib.parse import urlsplit, urlunsplit

import httpx
import psutil
import pytest

from midwatch import __version__
from midwatch.kit import json
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.api.edge import CONCLUSION
from tests.api.edge import write_config as write_script
from tests.fakes.mcp_process import FAKE_SERVER
from tests.fakes.openai_server import by_turn
from tests.fakes.openai_server import serve as serve_model
from tests.fakes.processes import is_dead_soon
from tests.programs import PROGRAM, make_environ
from tests.waiting import eventually

PLAIN_USER = 65534 if os.geteuid() == 0 else None
"""Root is stopped by nothing, so what users must not do is tried as nobody."""
NOTHING: Mapping[str, str] = MappingProxyType({})
SECRET = "hunter2-of-the-night-watch"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A model that plays a script."""
    look = {"text": "I look.", "calls": [{"name": "deck.lookup", "arguments": {"key": "a"}}]}
    write_script(tmp_path, turns=[look, CONCLUSION])
    return tmp_path


def run(*arguments: str, home: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *arguments],
        env=make_environ(home, environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def assert_one_sentence(result: subprocess.CompletedProcess[str], *, status: int, words: str) -> None:
    assert (result.returncode, result.stdout) == (status, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    process: Process
    output: Path
    errors: Path

    def logged(self, event: str) -> dict[str, Any] | None:
        lines = self.errors.read_bytes().split(b"\n")[:-1]
        entries = (json.decode(line) for line in lines if line.startswith(b"{"))
        return next((entry for entry in entries if entry["event"] == event), None)

    async def log(self, event: str) -> dict[str, Any]:
        def look() -> dict[str, Any] | None:
            ended = self.process.returncode is not None
            entry = self.logged(event)
            assert entry or not ended, self.errors.read_text()
            return entry

        return await eventually(look, within=60)

    async def end(self, number: signal.Signals, *, within: float = 30) -> int:
        self.process.send_signal(number)
        async with asyncio.timeout(within):
            return await self.process.wait()

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)


@asynccontextmanager
async def start(
    *command: str | Path, home: Path, environ: Mapping[str, str] = NOTHING, user: int | None = None
) -> AsyncGenerator[Running]:
    folder = Path(tempfile.mkdtemp(dir=home.parent))
    output, errors = folder / "stdout", folder / "stderr"
    with output.open("wb") as stdout, errors.open("wb") as stderr:
        process = await asyncio.create_subprocess_exec(
            *command,
            env=make_environ(home, environ),
            user=user,
            group=user,
            extra_groups=None if user is None else [],
            stdin=DEVNULL,
            stdout=stdout,
            stderr=stderr,
        )
    try:
        yield Running(process=process, output=output, errors=errors)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def wait_for_session(http: httpx.AsyncClient, session_id: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        session = (await http.get(f"/api/v1/sessions/{session_id}")).json()
        return session if session["completed_at"] else None

    return await eventually(look)


def write_config(folder: Path, *, base_url: str = "http://127.0.0.1:1/v1", **server: Any) -> Path:
    folder.mkdir()
    transport = {"type": "stdio", "command": sys.executable, "args": [str(FAKE_SERVER)]}
    provider = {"type": "openai", "model": "fake", "base_url": base_url, "api_key_env": "MODEL_KEY"}
    main = {
        "defaults": {"llm_provider": "fake", "alert_type": "deck"},
        "mcp_servers": {"deck": {"transport": transport, "run_as": "self", "kinds": {"read": ["*"]}, **server}},
        "agents": {"Mate": {"mcp_servers": ["deck"]}},
        "agent_chains": {
            "deck": {"alert_types": ["deck"], "stages": [{"name": "watch", "agents": [{"name": "Mate"}]}]}
        },
        "queue": {"graceful_shutdown_timeout": "60s"},
    }
    (folder / "midwatch.yaml").write_text(json.encode_text(main))
    (folder / "llm-providers.yaml").write_text(json.encode_text({"llm_providers": {"fake": provider}}))
    return folder


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--help"], ["serve", "midwatch demo"]),
        (["-h"], ["Serve the API and investigate alerts."]),
        (
            ["serve", "--help"],
            [
                *("--config-dir", "--host", "--port", "--allow-host", "--no-authentication"),
                *("DATABASE_URL", "MIDWATCH_HOME", "Exit status"),
            ],
        ),
        (["--version"], [__version__]),
    ],
)
def test_help_fits_a_terminal_and_names_everything(arguments: list[str], words: list[str], home: Path) -> None:
    result = run(*arguments, home=home)
    assert (result.returncode, result.stderr) == (0, "")
    assert all(word in result.stdout for word in words)
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert "..." not in result.stdout.partition("Commands:")[2]


def test_a_configuration_is_refused_with_everything_that_is_wrong_in_it(home: Path, tmp_path: Path) -> None:
    (tmp_path / "midwatch.yaml").write_text(
        "defaults:\n  llm_provder: fake\nagents:\n  Mate:\n    mcp_servers: [galley]\nagent_chains: {}\n"
    )
    (tmp_path / "llm-providers.yaml").write_text("llm_providers:\n  fake:\n    type: abacus\n")
    result = run("serve", "--config-dir", str(tmp_path), home=home)
    assert (result.returncode, result.stdout) == (2, "")
    assert all(line.startswith("error: ") for line in result.stderr.splitlines())
    for place in ("midwatch.yaml:2: ", "midwatch.yaml:5: ", "llm-providers.yaml:3: "):
        assert f"error: {place}" in result.stderr
    assert not home.exists()


def test_a_port_in_use_costs_a_sentence_and_starts_nothing(home: Path, config: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = run("serve", "--config-dir", str(config), "--port", str(port), home=home)
    words = f"cannot listen on 127.0.0.1 port {port}: Address already in use; choose another with --port"
    assert_one_sentence(result, status=2, words=words)
    assert not home.exists()


def test_an_address_that_others_reach_needs_an_explicit_word(home: Path, config: Path) -> None:
    result = run("serve", "--config-dir", str(config), "--host", "0.0.0.0", "--port", "0", home=home)
    assert_one_sentence(result, status=2, words="other machines can reach 0.0.0.0")
    assert "--no-authentication" in result.stderr
    assert not home.exists()


def test_a_trusted_proxy_must_be_a_network(home: Path, config: Path) -> None:
    given = run("serve", "--config-dir", str(config), "--trusted-proxy", "proxy.example", home=home)
    assert given.returncode == 2
    assert "--trusted-proxy" in given.stderr
    assert "such as 10.0.0.0/8" in given.stderr
    result = run("serve", "--config-dir", str(config), home=home, MIDWATCH_TRUSTED_PROXIES="10.0.0.0/40")
    assert_one_sentence(result, status=2, words="MIDWATCH_TRUSTED_PROXIES")


def test_an_address_that_is_none_is_said_to_be_unknown(home: Path, config: Path) -> None:
    result = run("serve", "--config-dir", str(config), "--no-authentication", "--host", "watch.invalid", home=home)
    assert result.returncode == 2
    assert "error: cannot listen on watch.invalid port 8080: " in result.stderr
    assert "choose another with --port" not in result.stderr


@pytest.mark.parametrize(
    ("url", "status", "words"),
    [
        (f"postgresql://watch:{SECRET}@127.0.0.1:1/deck", 1, "cannot open the database: "),
        (f"postgresql://watch:{SECRET}#@127.0.0.1/deck", 2, "expected postgresql://user:password@host:5432/name"),
    ],
)
def test_a_database_that_is_not_there_is_named_without_its_password(
    url: str, status: int, words: str, home: Path, config: Path
) -> None:
    result = run("serve", "--config-dir", str(config), "--port", "0", home=home, DATABASE_URL=url)
    assert_one_sentence(result, status=status, words=words)
    assert SECRET not in result.stderr


def test_a_password_that_the_database_refuses_is_a_sentence(dsn: str, home: Path, config: Path) -> None:
    parts = urlsplit(dsn)
    login = f"{parts.username}:{SECRET}@{parts.hostname}:{parts.port}"
    url = urlunsplit(parts._replace(netloc=login))
    result = run("serve", "--config-dir", str(config), "--port", "0", home=home, DATABASE_URL=url)
    assert_one_sentence(result, status=2, words="password authentication failed")
    assert SECRET not in result.stderr


def test_a_database_may_be_given_in_parts(home: Path, config: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = str(unused.getsockname()[1])
    parts = {"DB_HOST": "127.0.0.1", "DB_PORT": port, "DB_PASSWORD": SECRET}
    result = run("serve", "--config-dir", str(config), "--port", "0", home=home, **parts)
    assert_one_sentence(result, status=1, words="cannot open the database: ")


async def serve_one_alert(home: Path, config: Path, *, earlier: str | None = None) -> str:
    async with start(PROGRAM, "serve", "--config-dir", str(config), "--port", "0", home=home) as midwatch:
        url = (await midwatch.log("serving"))["url"]
        async with httpx.AsyncClient(base_url=url) as http:
            session_id = (await http.post("/api/v1/alerts", json={"data": "Fog."})).json()["session_id"]
            session = await wait_for_session(http, session_id)
            if earlier:
                assert (await http.get(f"/api/v1/sessions/{earlier}")).json()["status"] == "completed"
        family = midwatch.children()
        assert "postgres" in map(name_of, family)
        assert await midwatch.end(signal.SIGTERM) == 0
        assert midwatch.logged("drained")
    assert (session["status"], session["mcp_interaction_count"]) == ("completed", 1)
    assert all(is_dead_soon(member.pid) for member in family)
    return session_id


def name_of(process: psutil.Process) -> str:
    try:
        return process.name()
    except psutil.NoSuchProcess:
        return ""


async def test_an_alert_is_served_to_its_end_and_nothing_is_left_running(home: Path, config: Path) -> None:
    first = await serve_one_alert(home, config)
    second = await serve_one_alert(home, config, earlier=first)
    assert first != second


async def test_a_tool_server_gets_neither_the_key_of_the_model_nor_that_of_the_database(dsn: str, home: Path) -> None:
    turns = [
        ScriptedTurn(text="I look.", calls=(ScriptedCall(name="deck.environ", arguments={}),)),
        ScriptedTurn(text="Nothing is to be seen."),
    ]
    async with serve_model(by_turn(turns)) as model:
        config = write_config(home.parent / "config", base_url=model.base_url, inherit_env=["MODEL_KEY"])
        command = (PROGRAM, "serve", "--config-dir", config, "--port", "0")
        async with start(*command, home=home, environ={"DATABASE_URL": dsn, "MODEL_KEY": SECRET}) as midwatch:
            url = (await midwatch.log("serving"))["url"]
            async with httpx.AsyncClient(base_url=url) as http:
                accepted = (await http.post("/api/v1/alerts", json={"data": "Fog."})).json()
                await wait_for_session(http, accepted["session_id"])
                timeline = (await http.get(f"/api/v1/sessions/{accepted['session_id']}/timeline")).json()
            assert await midwatch.end(signal.SIGINT) == 0
    seen = next(entry["content"] for entry in timeline if entry["event_type"] == "llm_tool_call")
    assert model.requests[0].headers["authorization"] == f"Bearer {SECRET}"
    assert '"PATH"' in seen
    assert not any(word in seen for word in ("MODEL_KEY", "DATABASE_URL", SECRET))


async def test_the_first_signal_drains_and_the_second_ends_at_once(dsn: str, home: Path) -> None:
    turns = [ScriptedTurn(text="I wait.", calls=(ScriptedCall(name="deck.slow_read", arguments={"seconds": 60}),))]
    async with serve_model(by_turn(turns)) as model:
        config = write_config(home.parent / "config", base_url=model.base_url)
        command = (PROGRAM, "serve", "--config-dir", config, "--port", "0")
        async with start(*command, home=home, environ={"DATABASE_URL": dsn, "MODEL_KEY": SECRET}) as midwatch:
            url = (await midwatch.log("serving"))["url"]
            async with httpx.AsyncClient(base_url=url) as http:
                await http.post("/api/v1/alerts", json={"data": "Fog."})
                family = await eventually(midwatch.children)
                await eventually(lambda: model.requests)
                midwatch.process.send_signal(signal.SIGTERM)
                await midwatch.log("draining")
                health = (await http.get("/health")).json()
                assert health["checks"]["worker_pool"]["status"] == "stopping"
            assert await midwatch.end(signal.SIGTERM) == 1
            assert midwatch.logged("stopping_at_once")
    assert all(is_dead_soon(member.pid) for member in family)


async def wait_for_connection(listener: socket.socket) -> socket.socket:
    listener.setblocking(False)  # noqa: FBT003 - the socket's own signature
    async with asyncio.timeout(30):
        return (await asyncio.get_running_loop().sock_accept(listener))[0]


async def test_a_signal_while_it_starts_ends_it_in_order(home: Path, config: Path) -> None:
    """A database that takes the connection and says nothing keeps the start waiting."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://watch@127.0.0.1:{silent.getsockname()[1]}/deck"
        command = (PROGRAM, "serve", "--config-dir", str(config), "--port", "0")
        async with start(*command, home=home, environ={"DATABASE_URL": url}) as midwatch:
            with await wait_for_connection(silent):
                assert await midwatch.end(signal.SIGTERM) == 0
            assert midwatch.logged("stopping_at_once")
            assert b"Traceback" not in midwatch.errors.read_bytes()


# Root may look anywhere, so root first becomes nobody, which alone forbids dumping: it is allowed again. What nobody
# could not import from root's folders is imported before.
AS_A_PLAIN_USER = """
import ctypes, encodings.utf_8_sig, os
from midwatch.cli import group, replica, serve
if os.geteuid() == 0:
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
    ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
group.group(["serve"])
"""


def open_for_writing(pipe: Path) -> BinaryIO | None:
    """None until somebody reads."""
    try:
        return os.fdopen(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK), "wb")
    except OSError:
        return None


async def look_into(process: Process) -> str:
    """What another process of the same user reads, or why it cannot."""
    look = await asyncio.create_subprocess_exec(
        *("cat", f"/proc/{process.pid}/environ"),
        user=PLAIN_USER,
        group=PLAIN_USER,
        extra_groups=None if PLAIN_USER is None else [],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return (await look.communicate())[0].decode()


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
async def test_processes_of_the_same_user_cannot_read_its_environment(home: Path) -> None:
    """It is held where it reads its configuration, which is before any tool server could run."""
    config = home.parent / "config"
    config.mkdir()
    os.mkfifo(config / ".env")
    settings = {"MODEL_KEY": SECRET, "CONFIG_DIR": str(config)}
    async with start(sys.executable, "-c", AS_A_PLAIN_USER, home=home, environ=settings) as midwatch:
        with await eventually(lambda: open_for_writing(config / ".env")):
            assert "Permission denied" in await look_into(midwatch.process)
            assert midwatch.process.returncode is None
    async with start("sleep", "60", home=home, environ=settings, user=PLAIN_USER) as careless:
        assert SECRET in await look_into(careless.process)
