"""`midwatch investigate` as a person or a script uses it: alone, beside a server, against one, and interrupted."""

import asyncio
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest

from midwatch.cli.alert_source import LIMIT
from midwatch.kit import json
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.api.edge import CONCLUSION, write_config
from tests.fakes.mcp_process import FAKE_SERVER
from tests.fakes.openai_server import OpenAIServer, by_turn
from tests.fakes.openai_server import serve as serve_model
from tests.programs import PROGRAM, make_environ, run_program
from tests.replicas import Fleet, Replica, all_dead_soon, open_fleet
from tests.terminals import CTRL_C, open_terminal
from tests.waiting import eventually

UNKNOWN = "01a1de01-3d5e-7c8b-80b4-f4ee65ae4be2"
COLOUR = re.compile(rb"\x1b\[[0-9;]*3[0-7]m")
SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"


@pytest.fixture
def alert(tmp_path: Path) -> Path:
    path = tmp_path / "alert.txt"
    path.write_text("The bilge pump runs hot.\n", encoding="utf-8")
    return path


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A script that looks once and concludes."""
    folder = tmp_path / "config"
    folder.mkdir()
    look = {
        "thinking": "I should look.",
        "text": "I look.",
        "calls": [{"name": "deck.lookup", "arguments": {"key": "a"}}],
    }
    write_config(folder, turns=[look, CONCLUSION])
    return folder


def assert_refused(result: subprocess.CompletedProcess[str], words: str) -> None:
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


def test_an_alert_in_a_file_is_investigated_with_nothing_but_the_program_and_again(alert: Path, home: Path) -> None:
    first = run_program("investigate", alert, home=home)
    assert (first.returncode, first.stderr) == (0, "")
    assert "\x1b" not in first.stdout
    assert not set(SPINNER) & set(first.stdout)
    for words in (
        "model    demo model",
        "── look · stage 1 of 2 ─",
        "● midwatch-host.",
        "── analysis ─",
        "✓ completed in",
    ):
        assert words in first.stdout
    session_id = first.stdout.partition("session  ")[2].split()[0]
    again = run_program("investigate", "--follow", session_id, home=home)
    assert again.returncode == 0
    assert again.stdout == first.stdout


async def test_in_a_terminal_the_last_line_lives_and_then_is_gone(
    dsn: str, config: Path, alert: Path, home: Path
) -> None:
    environ = make_environ(home, {"DATABASE_URL": dsn, "LANG": "C.UTF-8"})
    command = (PROGRAM, "investigate", alert, "--config-dir", config)
    async with open_terminal(*command, environ=environ) as terminal:
        await terminal.see(lambda shown: set(shown) & set(SPINNER))
        assert await terminal.end() == 0
    assert not set(terminal.shown) & set(SPINNER)
    assert '● deck.lookup  {"key":"a"}  ✓' in terminal.shown
    assert "\n  again    midwatch investigate --config-dir" in terminal.shown
    assert COLOUR.search(terminal.raw)
    assert terminal.raw.rstrip().endswith(b"\x1b[2K")
    assert b"\x1b[?25h" in terminal.raw


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
async def test_a_plainer_terminal_is_respected(name: str, value: str, dsn: str, config: Path, home: Path) -> None:
    """At twenty columns too."""
    environ = make_environ(home, {"DATABASE_URL": dsn, "LANG": "C.UTF-8", name: value})
    command = (PROGRAM, "investigate", "--sample", "cpu", "--type", "deck", "--config-dir", config)
    async with open_terminal(*command, environ=environ, columns=20) as terminal:
        assert await terminal.end() == 0
    is_live = value != "dumb"
    assert not COLOUR.search(terminal.raw)
    assert any(turn.encode() in terminal.raw for turn in SPINNER) is is_live
    assert (b"\x1b" in terminal.raw) is is_live
    assert "✓ completed in" in " ".join(terminal.shown.split())


def test_programs_get_every_event_and_the_result_as_lines_of_json(dsn: str, config: Path, home: Path) -> None:
    command = ("investigate", "-", "--json", "--config-dir", config)
    result = run_program(*command, home=home, stdin="Fog ahead \u202e.", DATABASE_URL=dsn)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.isascii()
    lines = [json.decode(line) for line in result.stdout.splitlines()]
    numbers = [line["db_event_id"] for line in lines if "db_event_id" in line]
    assert numbers == list(range(1, len(numbers) + 1))
    assert {line.get("event_type") for line in lines} >= {"llm_thinking", "llm_tool_call", "final_analysis"}
    last = lines[-1]
    assert (last["type"], last["status"], last["final_analysis"]) == ("result", "completed", "The deck is dry.")
    assert (UUID(last["session_id"]), last["mcp_interaction_count"]) == (UUID(lines[0]["session_id"]), 1)
    assert [line["type"] for line in lines].count("result") == 1


def test_the_analysis_alone_is_what_a_pipe_wants(dsn: str, config: Path, alert: Path, home: Path) -> None:
    result = run_program("investigate", alert, "-q", "--config-dir", config, home=home, DATABASE_URL=dsn)
    assert (result.returncode, result.stdout, result.stderr) == (0, "The deck is dry.\n", "")


def test_a_failed_investigation_is_exit_one_and_says_why(dsn: str, config: Path, alert: Path, home: Path) -> None:
    error = {"message": "the key was refused", "code": "credentials", "retryable": False}
    write_config(config, turns=[{"error": error}])
    command = ("investigate", alert, "--config-dir", config)
    result = run_program(*command, home=home, DATABASE_URL=dsn)
    assert (result.returncode, result.stderr) == (1, "")
    assert "✗ the key was refused\n" in result.stdout
    assert "✗ failed after" in result.stdout
    quiet = run_program(*command, "--quiet", home=home, DATABASE_URL=dsn)
    assert (quiet.returncode, quiet.stdout) == (1, "")
    assert "error: the investigation failed: " in quiet.stderr


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty; an alert needs some text"),
        (b" \n\t\n", "is empty; an alert needs some text"),
        (b"fog \xff", "byte 4 is not UTF-8"),
        (b"x" * (LIMIT + 1), "an alert may have 1 MiB"),
        (None, "there is no such file"),
    ],
)
def test_a_file_that_is_no_alert_costs_a_sentence(
    content: bytes | None, words: str, tmp_path: Path, home: Path
) -> None:
    path = tmp_path / "alert"
    if content is not None:
        path.write_bytes(content)
    result = run_program("investigate", path, home=home)
    assert_refused(result, words)
    assert f"error: {path}: " in result.stderr
    assert not home.exists()


def test_a_folder_and_an_empty_pipe_are_no_alerts_either(tmp_path: Path, home: Path) -> None:
    assert_refused(run_program("investigate", tmp_path, home=home), "is a folder; give a file in it")
    assert_refused(run_program("investigate", "-", home=home), "standard input: is empty")
    assert_refused(run_program("investigate", "", home=home), "the name of the file is empty")
    assert_refused(run_program("investigate", "--sample", "tea", home=home), "there is no sample 'tea'; choose one of ")


def test_a_server_that_is_not_there_costs_a_sentence(alert: Path, home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    words = f"cannot reach {url}: Connection refused; is Midwatch serving there?"
    assert_refused(run_program("investigate", alert, "--server", url, home=home), words)
    assert_refused(run_program("investigate", alert, home=home, MIDWATCH_URL=url), words)
    assert_refused(run_program("investigate", alert, "--server", "deck:1", home=home), "like http://localhost:8080")


def test_an_unknown_type_or_session_is_said_with_what_there_is(dsn: str, config: Path, alert: Path, home: Path) -> None:
    command = ("investigate", alert, "--config-dir", config, "--type", "tea")
    assert_refused(run_program(*command, home=home, DATABASE_URL=dsn), "choose one of deck, engine")
    unknown = run_program("investigate", "--follow", UNKNOWN, home=home, DATABASE_URL=dsn)
    assert_refused(unknown, f"there is no session {UNKNOWN}")


def test_a_database_that_is_not_there_means_that_nothing_began(alert: Path, home: Path) -> None:
    url = "postgresql://watch@127.0.0.1:1/deck"
    assert_refused(run_program("investigate", alert, home=home, DATABASE_URL=url), "cannot open the database: ")


async def test_a_signal_while_it_starts_ends_it_in_order(alert: Path, home: Path) -> None:
    """A database that takes the connection and says nothing keeps the start waiting."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.setblocking(False)  # noqa: FBT003 - the socket's own signature
        environ = make_environ(home, {"DATABASE_URL": f"postgresql://watch@127.0.0.1:{silent.getsockname()[1]}/deck"})
        async with open_terminal(PROGRAM, "investigate", alert, environ=environ) as terminal:
            async with asyncio.timeout(30):
                connection, _ = await asyncio.get_running_loop().sock_accept(silent)
            with connection:
                terminal.press(CTRL_C)
                assert await terminal.end(within=4) == 130
    assert "stopped before anything began" in terminal.shown
    assert "Traceback" not in terminal.shown


def test_what_does_not_go_together_is_refused(alert: Path, config: Path, home: Path) -> None:
    for arguments, words in (
        ([], "give one of"),
        ([alert, "--follow", UNKNOWN], "give one of"),
        ([alert, "--json", "--quiet"], "choose one"),
        ([alert, "--server", "http://deck", "--config-dir", config], "leave out --config-dir or --server"),
    ):
        result = run_program("investigate", *arguments, home=home)
        assert (result.returncode, result.stdout) == (2, "")
        assert words in result.stderr


def test_a_reader_who_leaves_early_breaks_nothing(dsn: str, config: Path, alert: Path, home: Path) -> None:
    command = [PROGRAM, "investigate", alert, "--config-dir", config, "--json"]
    environ = make_environ(home, {"DATABASE_URL": dsn})
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) in (0, 1)
        assert process.stderr.read() == b""


WAIT = ScriptedTurn(
    text="I wait.", calls=(ScriptedCall(name="deck.slow_read", arguments={"seconds": 60}),), thinking="I should wait."
)


def write_slow_config(folder: Path, model: OpenAIServer) -> Path:
    folder.mkdir()
    transport = {"type": "stdio", "command": sys.executable, "args": [str(FAKE_SERVER)]}
    main: dict[str, Any] = {
        "defaults": {"llm_provider": "fake", "alert_type": "deck"},
        "mcp_servers": {"deck": {"transport": transport, "run_as": "self", "kinds": {"read": ["*"]}}},
        "agents": {"Mate": {"mcp_servers": ["deck"]}},
        "agent_chains": {
            "deck": {"alert_types": ["deck"], "stages": [{"name": "watch", "agents": [{"name": "Mate"}]}]}
        },
        "queue": {"heartbeat_interval": "10s", "graceful_shutdown_timeout": "1s"},
    }
    provider = {"type": "openai", "model": "fake", "base_url": model.base_url}
    (folder / "midwatch.yaml").write_text(json.encode_text(main), encoding="utf-8")
    (folder / "llm-providers.yaml").write_text(
        json.encode_text({"llm_providers": {"fake": provider}}), encoding="utf-8"
    )
    return folder


@asynccontextmanager
async def slow_config(tmp_path: Path) -> AsyncGenerator[Path]:
    async with serve_model(by_turn([WAIT])) as model:
        yield write_slow_config(tmp_path / "slow", model)


async def test_ctrl_c_cancels_what_runs_here_and_leaves_nothing_running(
    alert: Path, home: Path, tmp_path: Path
) -> None:
    environ = make_environ(home, {"LANG": "C.UTF-8"})
    async with slow_config(tmp_path) as config:
        command = (PROGRAM, "investigate", alert, "--config-dir", config)
        async with open_terminal(*command, environ=environ) as terminal:
            await terminal.see("deck.slow_read")
            family = terminal.children()
            assert {"postgres"} < {member.name() for member in family}
            terminal.press(CTRL_C)
            await terminal.see("stopping: the investigation is being cancelled")
            assert await terminal.end() == 130
    assert "✗ cancelled after" in terminal.shown
    assert all_dead_soon(family)


@asynccontextmanager
async def slow_fleet(tmp_path: Path, dsn: str) -> AsyncGenerator[Fleet]:
    async with (
        slow_config(tmp_path) as config,
        open_fleet(tmp_path, config_dir=config, environ={"DATABASE_URL": dsn}) as fleet,
    ):
        yield fleet


async def test_ctrl_c_does_not_cancel_what_was_only_followed(dsn: str, home: Path, tmp_path: Path) -> None:
    environ = make_environ(home, {"DATABASE_URL": dsn, "LANG": "C.UTF-8"})
    async with slow_fleet(tmp_path, dsn) as fleet:
        [other] = await fleet.start("other")
        session_id = await other.submit()
        command = (PROGRAM, "investigate", "--config-dir", fleet.config_dir, "--follow", str(session_id))
        async with open_terminal(*command, environ=environ) as terminal:
            await terminal.see("deck.slow_read")
            terminal.press(CTRL_C)
            assert await terminal.end() == 130
        assert "· stopped watching. Take it up again: midwatch investigate --config-dir" in terminal.shown
        assert (await other.show(session_id))["status"] == "in_progress"


async def test_against_a_server_ctrl_c_only_ends_the_watching(
    dsn: str, alert: Path, home: Path, tmp_path: Path
) -> None:
    environ = make_environ(home, {"LANG": "C.UTF-8"})
    async with slow_fleet(tmp_path, dsn) as fleet:
        [replica] = await fleet.start("watch")
        url = str(replica.http.base_url).rstrip("/")
        command = (PROGRAM, "investigate", alert, "--server", url)
        async with open_terminal(*command, environ=environ, columns=160) as terminal:
            session_id = (await terminal.see("deck.slow_read")).partition("session  ")[2].split()[0]
            assert terminal.children() == []
            terminal.press(CTRL_C)
            assert await terminal.end() == 130
        again = f"midwatch investigate --server {url} --follow {session_id}"
        assert f"stopped watching; the session goes on. Watch it again: {again}" in terminal.shown
        assert (await replica.show(UUID(session_id)))["status"] == "in_progress"
        assert (await replica.cancel(UUID(session_id))).is_success
        result = await asyncio.to_thread(run_program, *again.split()[1:], home=home)
    assert (result.returncode, result.stderr) == (1, "")
    assert "✗ cancelled after" in result.stdout
    assert f"  look on  {url}/api/v1/sessions/{session_id}\n" in result.stdout
    assert not home.exists()


async def test_it_works_beside_a_server_with_the_same_home(
    config: Path, alert: Path, home: Path, tmp_path: Path
) -> None:
    async with open_fleet(tmp_path, config_dir=config, environ={"MIDWATCH_HOME": str(home)}) as fleet:
        [server] = await fleet.start("server")
        command = ("investigate", alert, "--json", "--config-dir", config)
        for _ in range(2):
            result = await asyncio.to_thread(run_program, *command, home=home)
            assert (result.returncode, result.stderr) == (0, "")
            session_id = json.decode(result.stdout.splitlines()[-1])["session_id"]
            assert (await server.show(UUID(session_id)))["status"] == "completed"
        await eventually(server.is_idle_and_healthy)
        server.process.send_signal(signal.SIGTERM)
        assert await server.exit_status() == 0


async def test_what_is_selected_is_sent_with_the_secret_here_and_at_a_server(
    dsn: str, config: Path, alert: Path, home: Path, tmp_path: Path
) -> None:
    select = ("investigate", alert, "--json", "--select", "lxc:delly:141", "--select", "node:delly")
    async with open_fleet(tmp_path, config_dir=config, environ={"DATABASE_URL": dsn}) as fleet:
        [replica] = await fleet.start("server")
        there = ("--server", str(replica.http.base_url))
        refused = await asyncio.to_thread(run_program, *select, *there, home=home)
        assert_refused(refused, "--token-file")
        token_file = ("--token-file", fleet.home / "approver.token")
        asked = await asyncio.to_thread(run_program, *select, *there, *token_file, home=home)
        alone = await asyncio.to_thread(run_program, *select, "--config-dir", config, home=home, DATABASE_URL=dsn)
        for result in (asked, alone):
            assert (result.returncode, result.stderr) == (0, "")
            session_id = json.decode(result.stdout.splitlines()[-1])["session_id"]
            session = await replica.show(UUID(session_id))
            assert session["selected_resources"] == ["lxc:delly:141", "node:delly"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-", "--select", "homepage"), "entry 1 is no id: expected {kind}:{host}:{uid} or {kind}:{uid}"),
        (("--follow", UNKNOWN, "--select", "vm:9"), "leave out --select or --follow"),
        (("-", "--token-file", "x"), "leave out --token-file"),
        (("-", "--token-file", "x", "--select", "vm:9"), "leave out --token-file"),
        (("-", "--token-file", "x", "--server", "http://127.0.0.1:1"), "leave out --token-file"),
    ],
)
def test_a_selection_that_cannot_be_sent_is_refused_before_anything_begins(
    arguments: tuple[str, ...], words: str, dsn: str, home: Path
) -> None:
    result = run_program("investigate", *arguments, home=home, stdin="Fog.", DATABASE_URL=dsn)
    assert result.returncode == 2
    assert words in " ".join(result.stderr.split())


@asynccontextmanager
async def serving_again(replica: Replica, config: Path, environ: dict[str, str]) -> AsyncGenerator[None]:
    """Another process under the same address."""
    port = str(replica.http.base_url.port)
    process = await asyncio.create_subprocess_exec(
        *(PROGRAM, "serve", "--config-dir", config, "--port", port), env=environ, stderr=subprocess.DEVNULL
    )

    async def is_there() -> bool:
        try:
            return (await replica.http.get("/health")).is_success
        except httpx.TransportError:
            return False

    try:
        await eventually(is_there, within=60)
        yield
    finally:
        process.terminate()
        await process.wait()


async def test_a_server_that_starts_again_is_found_again(dsn: str, alert: Path, home: Path, tmp_path: Path) -> None:
    environ = make_environ(home, {"LANG": "C.UTF-8"})
    async with slow_fleet(tmp_path, dsn) as fleet:
        [replica] = await fleet.start("first")
        url = str(replica.http.base_url)
        async with open_terminal(PROGRAM, "investigate", alert, "--server", url, environ=environ) as terminal:
            session_id = UUID((await terminal.see("deck.slow_read")).partition("session  ")[2].split()[0])
            await replica.kill()
            await terminal.see("the connection is lost; trying to get it back")
            async with serving_again(replica, fleet.config_dir, {**environ, "DATABASE_URL": dsn}):
                assert (await replica.cancel(session_id)).is_success
                await terminal.see("✗ cancelled after")
                assert await terminal.end() == 1
