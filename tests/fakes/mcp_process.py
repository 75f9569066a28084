"""How tests configure the fake MCP server, and what they read of its effects."""

import sys
from pathlib import Path
from typing import Any

import psutil

from midwatch.config.mcp import OURSELVES, McpServer, StdioTransport
from midwatch.kit.json import decode

FAKE_SERVER = Path(__file__).with_name("mcp_server.py")
SDK_SERVER = Path(__file__).with_name("sdk_mcp_server.py")


def fake_mcp_server(*options: str, program: Path = FAKE_SERVER) -> McpServer:
    transport = StdioTransport(type="stdio", command=sys.executable, args=(str(program), *options))
    # As another user it could not write into a test's folder.
    return McpServer(transport=transport, run_as=OURSELVES)


def running_fakes() -> list[psutil.Process]:
    """Those this process has started and not yet reaped."""
    return [child for child in psutil.Process().children() if child.cmdline()[1:2] == [str(FAKE_SERVER)]]


def read_effects(path: Path) -> list[dict[str, Any]]:
    return [decode(line) for line in path.read_text().splitlines()] if path.exists() else []
