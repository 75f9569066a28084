"""`midwatch demo`, the first thing anybody runs: it needs nothing, says what it does, and leaves nothing behind."""

import asyncio
import signal
import socket
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from midwatch.cli.samples import list_samples
from tests.programs import PROGRAM, make_environ, run_program
from tests.replicas import all_dead_soon
from tests.terminals import CTRL_C, Terminal, open_terminal
from tests.waiting import eventually

OTHERS = {
    "OPENAI_API_KEY": "sk-night-watch",
    "DATABASE_URL": "postgresql://watch@127.0.0.1:1/deck",
    "CONFIG_DIR": "/nowhere",
}
"""What a user may have, and the demo must not touch."""
SERVING = "Ctrl-C stops everything."


@asynccontextmanager
async def demo(home: Path, *arguments: str) -> AsyncGenerator[Terminal]:
    environ = make_environ(home, {"LANG": "C.UTF-8", **OTHERS})
    async with open_terminal(PROGRAM, "demo", "--port", "0", *arguments, environ=environ, columns=120) as terminal:
        yield terminal


def read_url(shown: str) -> str:
    return shown.partition("  status page     ")[2].split()[0].rstrip("/")


def assert_refused(result: subprocess.CompletedProcess[str], words: str) -> None:
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr


async def test_it_investigates_serves_on_and_ctrl_c_leaves_nothing_running(home: Path) -> None:
    async with demo(home) as terminal:
        shown = await terminal.see(SERVING)
        url = read_url(shown)
        async with httpx.AsyncClient(base_url=url) as http:
            session_id = shown.partition("session  ")[2].split()[0]
            session = (await http.get(f"/api/v1/sessions/{session_id}")).json()
            assert all([(await http.get(path)).is_success for path in ("/", "/api/docs")])
            assert (await http.get("/health")).json()["status"] == "healthy"
        beside = await asyncio.to_thread(run_program, "demo", "--port", url.rpartition(":")[2], home=home)
        family = terminal.children()
        assert "postgres" in {member.name() for member in family}
        terminal.press(CTRL_C)
        assert await terminal.end() == 0
    assert (session["status"], session["stages"][0]["executions"][0]["llm_provider"]) == ("completed", "demo")
    assert url.startswith("http://localhost:")
    for words in (
        "model    demo model",
        "● midwatch-host.",
        "── analysis ─",
        "cost none (demo model)",
        f"{url}/api/docs",
    ):
        assert words in terminal.shown
    assert terminal.shown.splitlines()[-1] == SERVING
    assert all_dead_soon(family)
    assert_refused(beside, f"Midwatch serves on {url} already")
    assert (home / "demo" / "postgres").is_dir()
    assert not (home / "postgres").exists()


def test_once_in_a_pipe_and_once_more(home: Path) -> None:
    outputs = [run_program("demo", "--once", "--port", "0", home=home, **OTHERS) for _ in range(2)]
    for result in outputs:
        assert (result.returncode, result.stderr) == (0, "")
        assert "\x1b" not in result.stdout
        assert "model    demo model  no language model: rules choose what to look at\n" in result.stdout
        assert "✓ completed in" in result.stdout
        assert "status page" not in result.stdout
    first, second = (result.stdout.partition("session  ")[2].split()[0] for result in outputs)
    assert first != second


async def test_ctrl_c_in_the_middle_cancels_and_ends(home: Path) -> None:
    async with demo(home, "--sample", "disk") as terminal:
        await terminal.see("look · stage 1 of 2")
        family = terminal.children()
        terminal.press(CTRL_C)
        assert await terminal.end() == 130
    assert "✗ cancelled after" in terminal.shown
    assert SERVING not in terminal.shown
    assert family
    assert all_dead_soon(family)


async def test_without_a_terminal_it_serves_until_it_is_told_to_stop(home: Path, tmp_path: Path) -> None:
    output = tmp_path / "output"
    environ = make_environ(home, {})
    with output.open("wb") as file:
        process = subprocess.Popen(  # noqa: ASYNC220 -- returns at once
            [PROGRAM, "demo", "--port", "0"], env=environ, stdin=subprocess.DEVNULL, stdout=file, stderr=file
        )
    try:
        await eventually(lambda: SERVING in output.read_text(encoding="utf-8"), within=90)
        process.send_signal(signal.SIGTERM)
        await eventually(lambda: process.poll() is not None, within=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert b"\x1b" not in output.read_bytes()


def test_a_port_in_use_costs_a_sentence_and_starts_nothing(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = run_program("demo", "--port", port, home=home)
    assert_refused(result, f"port {port} is taken by another program: choose another with --port, or --port 0 for any")
    assert not home.exists()


def test_samples_are_named_and_unknown_ones_refused(home: Path) -> None:
    listed = run_program("demo", "--list-samples", home=home)
    assert listed.returncode == 0
    assert [line.split()[0] for line in listed.stdout.splitlines()] == [sample.name for sample in list_samples()]
    assert_refused(
        run_program("demo", "--sample", "tea", home=home), "there is no sample 'tea'; choose one of all-quiet"
    )
    assert not home.exists()


@pytest.mark.parametrize("command", ["demo", "investigate"])
def test_help_fits_a_terminal(command: str, home: Path) -> None:
    result = run_program(command, "--help", home=home)
    assert (result.returncode, result.stderr) == (0, "")
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert "Exit status: 0" in result.stdout
