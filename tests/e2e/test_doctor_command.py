"""`midwatch doctor`: real servers are started and stopped, a real database is looked at, and nothing is left behind."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest
import yaml

from midwatch.kit import json
from midwatch.llm.scripted import ScriptedTurn
from midwatch.store import driver
from midwatch.store.engine import Store
from tests.commands import run_midwatch
from tests.fakes.mcp_process import FAKE_SERVER, SDK_SERVER
from tests.fakes.openai_server import Status, by_turn, in_order
from tests.fakes.openai_server import serve as serve_model
from tests.stored import add_running, add_session, expire_lease

SECRET = "hunter2-of-the-night-watch"
NOWHERE = "http://127.0.0.1:1/v1"
Shape = dict[str, Any]


def fake_server(*options: str, **more: Any) -> Shape:
    transport = {"type": "stdio", "command": sys.executable, "args": [str(FAKE_SERVER), *options]}
    return {"transport": transport, "run_as": "self", **more}


def write_config(folder: Path, servers: Shape, *, base_url: str = NOWHERE) -> None:
    for server in servers.values():
        server["transport"]["env"] = {"SAILS_WITH": str(folder)}
    provider = {"type": "openai", "model": "fake", "base_url": base_url, "api_key_env": "MODEL_KEY"}
    main = {
        "defaults": {"llm_provider": "fake", "alert_type": "deck"},
        "mcp_servers": servers,
        "agents": {"Mate": {"mcp_servers": list(servers)}},
        "agent_chains": {
            "deck": {"alert_types": ["deck"], "stages": [{"name": "watch", "agents": [{"name": "Mate"}]}]}
        },
    }
    (folder / "midwatch.yaml").write_text(json.encode_text(main))
    (folder / "llm-providers.yaml").write_text(json.encode_text({"llm_providers": {"fake": provider}}))


def examine(folder: Path | None, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    settings = {"MIDWATCH_HOME": "/nonexistent/midwatch", "MODEL_KEY": SECRET, "COLUMNS": "400", **environ}
    where = [] if folder is None else ["--config-dir", str(folder)]
    result = run_midwatch("doctor", *where, *arguments, **settings)
    assert SECRET not in result.stdout + result.stderr
    assert result.stderr == ""
    return result


def told(result: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines with the spaces between columns made one."""
    return [" ".join(line.split()) for line in result.stdout.splitlines()]


def reads_only(server: str, lines: list[str]) -> bool:
    """The server is sound, and all its tools are known to read."""
    return any(re.fullmatch(rf"✓ server {server} (\d+) tools \(\1 read\)", line) for line in lines)


def survivors(folder: Path) -> list[psutil.Process]:
    """Servers of this folder's configuration that are still there."""
    return [server for server in psutil.process_iter(["environ"]) if str(folder) in str(server.info["environ"])]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path, {"deck": fake_server(kinds={"read": ["*"]})})
    return tmp_path


def test_without_a_configuration_it_says_what_the_default_is_and_what_to_try(tmp_path: Path) -> None:
    home = tmp_path / "home"
    result = run_midwatch("doctor", MIDWATCH_HOME=str(home), COLUMNS="200")
    assert (result.returncode, result.stderr) == (0, "")
    assert "the built-in agent looks at this machine with the built-in tool server" in result.stdout
    assert f"✓ data folder {home}, made at the first start" in told(result)
    assert "✓ database our own, made at the first start" in told(result)
    assert "demo model" in result.stdout
    assert "server midwatch-host" in result.stdout
    assert "kubernetes" not in result.stdout
    assert told(result)[-1] == "Next: midwatch demo"
    assert not home.exists()


async def test_a_sound_configuration_leads_to_serve(folder: Path, dsn: str) -> None:
    result = examine(folder, DATABASE_URL=dsn)
    assert result.returncode == 0
    lines = told(result)
    assert f"✓ configuration {folder}; chains: deck" in lines
    assert any(line.startswith("✓ database PostgreSQL 18.") and line.endswith(", up to date") for line in lines)
    assert "✓ model fake openai, fake, key in MODEL_KEY; not asked, --probe does that" in lines
    assert reads_only("deck", lines)
    assert "restart read operator:read:*" in lines
    assert lines[-1] == f"Next: midwatch serve --config-dir {folder}"
    assert str(urlsplit(dsn).password) not in result.stdout
    assert survivors(folder) == []


async def test_tools_that_nobody_vouches_for_come_with_a_block_that_settles_them(tmp_path: Path, dsn: str) -> None:
    args = [str(SDK_SERVER)]
    server: Shape = {
        "transport": {"type": "stdio", "command": sys.executable, "args": args},
        "run_as": "self",
        "kinds": {"read": ["no*"]},
    }
    write_config(tmp_path, {"sdk": server})
    result = examine(tmp_path, DATABASE_URL=dsn)
    assert result.returncode == 0
    assert "! server sdk 6 tools (6 write); nobody vouches for 6, so they count as writes" in told(result)
    assert "echo write unknown" in told(result)
    block = result.stdout.partition("If what their server says is true:\n\n")[2].partition("\n\nNext:")[0]
    assert "read: [no*, echo, weather]  # the server says that they only read: echo, weather" in block
    unsaid = "picture, stumble, labour, grow"
    assert f"write: [{unsaid}]  # the server says nothing of them: {unsaid}" in block
    write_config(tmp_path, {"sdk": server | yaml.safe_load(block)["mcp_servers"]["sdk"]})
    settled = examine(tmp_path, DATABASE_URL=dsn)
    assert "✓ server sdk 6 tools (2 read, 4 write)" in told(settled)
    assert "kinds:" not in settled.stdout


async def test_a_script_can_read_it(folder: Path, dsn: str) -> None:
    write_config(folder, {"deck": fake_server(kinds={"read": ["echo"]})})
    seen = json.decode(examine(folder, "--json", DATABASE_URL=dsn).stdout)
    assert seen["ok"] is True
    assert {finding["subject"]: finding["grade"] for finding in seen["findings"]} == {
        "configuration": "ok",
        "database": "ok",
        "model fake": "ok",
        "server deck": "warning",
        "replicas": "ok",
        "queue": "ok",
    }
    tools = {tool["name"]: tool for tool in seen["servers"]["deck"]}
    assert tools["echo"]["proven"] is True
    assert (tools["lookup"]["rule"], tools["lookup"]["server_says_read_only"]) == ("unknown", True)
    assert tools["restart"]["rule"] == "annotation:write"
    assert "lookup" in seen["kinds"]["deck"]
    assert "restart" not in seen["kinds"]["deck"]
    assert seen["next"].startswith("midwatch serve")


async def test_sessions_that_wait_for_nobody_lead_to_serve(folder: Path, dsn: str, store: Store) -> None:
    quiet = told(examine(folder, DATABASE_URL=dsn))
    assert "✓ replicas none is running" in quiet
    assert "✓ queue nothing waits, 0 of 5 run" in quiet
    held = await add_running(store)
    await expire_lease(store, held.session_id)
    await add_session(store)
    result = examine(folder, DATABASE_URL=dsn)
    assert result.returncode == 0
    (line,) = [line for line in told(result) if line.startswith("! queue")]
    assert re.fullmatch(r"! queue 1 session waits, the first for \d+ s; no replica is alive; 0 of 5 run", line)
    assert "! leases 1 past its expiry: the replica is gone, and nobody has taken over yet" in told(result)
    assert told(result)[-1] == f"Next: midwatch serve --config-dir {folder}"


async def test_a_server_that_does_not_come_up_is_named_beside_those_that_do(tmp_path: Path, dsn: str) -> None:
    broken = {"transport": {"type": "stdio", "command": "no-such-program-anywhere"}}
    servers = {"deck": fake_server(kinds={"read": ["*"]}), "gone": broken, "mute": fake_server("--silent")}
    write_config(tmp_path, servers)
    result = examine(tmp_path, "--timeout", "2", DATABASE_URL=dsn)
    assert result.returncode == 1
    assert "✗ server gone cannot be started: No such file or directory" in told(result)
    assert "✗ server mute not ready after 2 s" in told(result)
    assert reads_only("deck", told(result))
    assert told(result)[-1] == f"Next: midwatch doctor --config-dir {tmp_path}"
    assert survivors(tmp_path) == []


WAITS_FOR_ANOTHER = """
import runpy, sys, time
from pathlib import Path
_, mine, others, program = sys.argv
Path(mine).touch()
while not Path(others).exists():
    time.sleep(0.01)
sys.argv = [program]
runpy.run_path(program, run_name="__main__")
"""


async def test_servers_are_tried_side_by_side(tmp_path: Path, dsn: str) -> None:
    """Each of these two answers only once the other runs."""
    marks = [str(tmp_path / name) for name in ("one", "two")]
    servers: Shape = {}
    for mine, others in (marks, marks[::-1]):
        args = ["-c", WAITS_FOR_ANOTHER, mine, others, str(FAKE_SERVER)]
        transport = {"type": "stdio", "command": sys.executable, "args": args}
        servers[Path(mine).name] = {"transport": transport, "run_as": "self", "kinds": {"read": ["*"]}}
    write_config(tmp_path, servers)
    result = examine(tmp_path, "--timeout", "20", DATABASE_URL=dsn)
    assert result.returncode == 0
    assert reads_only("one", told(result))
    assert reads_only("two", told(result))


def test_a_broken_configuration_is_told_with_its_places(folder: Path) -> None:
    (folder / "midwatch.yaml").write_text("agnts: {}\n")
    result = examine(folder, DATABASE_URL="postgresql://watch@127.0.0.1:1/deck")
    assert result.returncode == 2
    assert '✗ configuration midwatch.yaml:1: unknown key "agnts"; did you mean "agents"?' in told(result)
    assert any(line.startswith("✗ database cannot open the database: connection refused") for line in told(result))
    assert told(result)[-1] == f"Next: midwatch check-config --config-dir {folder}"


async def test_a_key_that_is_not_set_is_misconfigured(folder: Path, dsn: str) -> None:
    result = examine(folder, DATABASE_URL=dsn, MODEL_KEY="")
    assert result.returncode == 2
    assert "variable MODEL_KEY is not set" in result.stdout


def test_an_environment_that_makes_no_sense_is_misconfigured(folder: Path) -> None:
    result = examine(folder, MIDWATCH_PORT="eighty")
    assert result.returncode == 2
    assert "✗ environment MIDWATCH_PORT: expected a port number up to 65535" in told(result)


def test_a_data_folder_that_cannot_be_made_is_misconfigured(folder: Path) -> None:
    (folder / "file").touch()
    result = examine(folder, MIDWATCH_HOME=str(folder / "file" / "home"))
    assert result.returncode == 2
    assert f"{folder / 'file'} is not a folder that you may write to" in result.stdout


async def execute(dsn: str, statement: str) -> None:
    connection = await driver.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def test_an_older_schema_leads_to_its_upgrade(folder: Path, dsn: str) -> None:
    await execute(dsn, "UPDATE alembic_version SET version_num = '0001'")
    result = examine(folder, DATABASE_URL=dsn)
    assert result.returncode == 0
    assert "schema 0001 is behind 0" in result.stdout
    assert told(result)[-1] == f"Next: midwatch db upgrade --config-dir {folder}"


async def test_a_newer_schema_is_wrong(folder: Path, dsn: str) -> None:
    await execute(dsn, "UPDATE alembic_version SET version_num = '9999'")
    result = examine(folder, DATABASE_URL=dsn)
    assert result.returncode == 2
    assert "a newer Midwatch made this schema (9999;" in " ".join(result.stdout.split())


def test_a_database_that_is_not_there_fails(folder: Path) -> None:
    result = examine(folder, DATABASE_URL=f"postgresql://watch:{SECRET}@127.0.0.1:1/deck")
    assert result.returncode == 1
    assert told(result)[-1] == f"Next: midwatch db status --config-dir {folder}"


async def test_a_model_is_asked_only_when_that_is_wanted(tmp_path: Path, dsn: str) -> None:
    async with serve_model(by_turn([ScriptedTurn(text="ok")])) as model:
        write_config(tmp_path, {}, base_url=model.base_url)
        quiet = await asyncio.to_thread(examine, tmp_path, DATABASE_URL=dsn)
        assert (quiet.returncode, model.requests) == (0, [])
        asked = await asyncio.to_thread(examine, tmp_path, "--probe", DATABASE_URL=dsn)
        assert asked.returncode == 0
        assert "; began to answer after " in asked.stdout
        [request] = model.requests
        assert request.headers["authorization"] == f"Bearer {SECRET}"


async def test_what_a_provider_says_against_us_is_shown_without_the_key(tmp_path: Path, dsn: str) -> None:
    refusal = Status(
        status=401, body=json.encode({"error": {"message": f"Incorrect API key {SECRET}; ask \x1b[31mAnna"}})
    )
    async with serve_model(in_order([refusal])) as model:
        write_config(tmp_path, {}, base_url=model.base_url)
        asked = await asyncio.to_thread(examine, tmp_path, "--probe", DATABASE_URL=dsn)
    assert asked.returncode == 1
    assert "HTTP 401: Incorrect API key [MASKED_API_KEY]; ask Anna" in asked.stdout
    assert "\x1b" not in asked.stdout


async def test_a_model_that_has_to_be_asked_again_has_not_answered_yet(tmp_path: Path, dsn: str) -> None:
    refusal = Status(status=401, body=json.encode({"error": {"message": "no such key"}}))
    async with serve_model(in_order([Status(status=503), refusal])) as model:
        write_config(tmp_path, {}, base_url=model.base_url)
        asked = await asyncio.to_thread(examine, tmp_path, "--probe", DATABASE_URL=dsn)
    assert asked.returncode == 1
    assert "HTTP 401: no such key" in asked.stdout
