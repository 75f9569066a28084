"""The first two minutes: a fresh clone, `make run` in a terminal, and what a person then sees."""

import os
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.programs import make_environ
from tests.terminals import CTRL_C, open_terminal

ROOT = Path(__file__).resolve().parents[2]
# Packages are fetched; whatever else a machine has set up for that must reach pip.
PIP = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP", "NO_PROXY"))}


@pytest.mark.skipif(
    "MIDWATCH_REQUIRE_ALL" not in os.environ, reason="fetches all packages anew: set MIDWATCH_REQUIRE_ALL=1"
)
async def test_make_run_shows_an_investigation_serves_and_leaves_nothing_behind(tmp_path: Path, home: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)  # noqa: ASYNC221 -- nothing else runs yet
    environ = make_environ(home, {**PIP, "RUN_ARGS": "--port 0"})
    for _ in range(2):
        async with open_terminal("make", "-C", clone, "run", environ=environ, columns=100) as terminal:
            shown = await terminal.see("Ctrl-C stops everything", within=600)
            assert "Midwatch investigates a made-up alert about this machine" in shown
            assert "demo model" in shown
            assert "midwatch-host.overview" in shown
            assert "Root cause" in shown
            assert "completed in" in shown
            started = terminal.children()
            assert any("postgres" in child.name() for child in started)
            terminal.press(CTRL_C)
            await terminal.end()
        _, alive = psutil.wait_procs(started, timeout=20)
        assert alive == []
