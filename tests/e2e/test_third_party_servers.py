"""Servers that others wrote, as people use them: their tools are listed, and one of each is called."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from midwatch.config.mcp import OURSELVES, Kinds, McpServer, RemoteTransport, StdioTransport
from midwatch.config.safety import Safety
from midwatch.domain.tools import ToolCall, ToolResult
from midwatch.kit.ids import new_id
from midwatch.kit.json import encode_text
from midwatch.tools.workbench import Fittings, open_workbench
from tests.fakes.call_journal import FakeCallJournal
from tests.settled import settle

NEEDS_ALL = pytest.mark.skipif(
    "MIDWATCH_REQUIRE_ALL" not in os.environ, reason="fetches other people's servers: set MIDWATCH_REQUIRE_ALL=1"
)
NEEDS_NODE = pytest.mark.skipif(shutil.which("npm") is None, reason="needs node and npm")
pytestmark = NEEDS_ALL
NPM = ("@modelcontextprotocol/server-everything", "@modelcontextprotocol/server-filesystem")
PYPI = ("mcp-server-time", "mcp-server-git")


@pytest.fixture(scope="module")
def node_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("node")
    fetch = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder), *NPM]
    subprocess.run(fetch, check=True, capture_output=True, timeout=300)
    return folder / "node_modules" / ".bin"


@pytest.fixture(scope="module")
def python_programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    programs = tmp_path_factory.mktemp("python") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(programs)], check=True, timeout=120)
    fetch = [str(programs / "bin" / "pip"), "install", "--quiet", *PYPI]
    subprocess.run(fetch, check=True, capture_output=True, timeout=300)
    return programs / "bin"


def started(program: Path, *arguments: str) -> McpServer:
    transport = StdioTransport(type="stdio", command=str(program), args=arguments)
    return McpServer(transport=transport, kinds=Kinds(read=("*",)), run_as=OURSELVES)


async def call(server: McpServer, tool: str, arguments: Mapping[str, object]) -> tuple[set[str], ToolResult]:
    """The names of all tools, and the answer of one."""
    async with (
        asyncio.timeout(60),
        open_workbench(
            Fittings(servers={"other": server}, safety=Safety(), journal=FakeCallJournal(), environment=os.environ)
        ) as workbench,
    ):
        assert not workbench.unavailable
        names = {known.name for known in await workbench.gate.list_tools()}
        asked = ToolCall(
            call_id=new_id(), provider_id="p", name=f"other.{tool}", arguments=encode_text(dict(arguments))
        )
        return names, await settle(workbench.gate, asked)


@contextmanager
def serving(program: Path, *arguments: str) -> Generator[int]:
    """Its port, once it listens there."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environ = {**os.environ, "PORT": str(port)}
    process = subprocess.Popen([program, *arguments], env=environ, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        assert any("listening" in line for line in process.stderr), "it ended before it listened"
        yield port
    finally:
        process.terminate()
        process.communicate(timeout=20)


@NEEDS_NODE
async def test_everything_over_stdio(node_programs: Path) -> None:
    names, result = await call(started(node_programs / "mcp-server-everything"), "echo", {"message": "ahoy"})
    assert "echo" in names
    assert (result.error, result.content) == (None, "Echo: ahoy")


@NEEDS_NODE
async def test_everything_shows_what_is_no_text_by_name(node_programs: Path) -> None:
    _, result = await call(started(node_programs / "mcp-server-everything"), "get-tiny-image", {})
    assert result.error is None
    assert "[image image/png, " in result.content
    assert ", not shown]" in result.content


@NEEDS_NODE
async def test_everything_over_streamable_http(node_programs: Path) -> None:
    with serving(node_programs / "mcp-server-everything", "streamableHttp") as port:
        transport = RemoteTransport.model_validate({"type": "http", "url": f"http://127.0.0.1:{port}/mcp"})
        server = McpServer(transport=transport, kinds=Kinds(read=("*",)))
        names, result = await call(server, "echo", {"message": "ahoy"})
    assert "echo" in names
    assert (result.error, result.content) == (None, "Echo: ahoy")


@NEEDS_NODE
async def test_filesystem(node_programs: Path, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("all is well on deck")
    server = started(node_programs / "mcp-server-filesystem", str(tmp_path))
    names, result = await call(server, "read_text_file", {"path": str(tmp_path / "log")})
    assert {"read_text_file", "write_file"} <= names
    assert (result.error, result.content) == (None, "all is well on deck")


async def test_time(python_programs: Path) -> None:
    server = started(python_programs / "mcp-server-time", "--local-timezone", "UTC")
    names, result = await call(server, "get_current_time", {"timezone": "UTC"})
    assert "get_current_time" in names
    assert (result.error, '"UTC"' in result.content) == (None, True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / "pump.log").write_text("hot")
    return tmp_path


async def test_git(python_programs: Path, repository: Path) -> None:
    server = started(python_programs / "mcp-server-git", "--repository", str(repository))
    names, result = await call(server, "git_status", {"repo_path": str(repository)})
    assert "git_status" in names
    assert result.error is None
    assert "pump.log" in result.content
