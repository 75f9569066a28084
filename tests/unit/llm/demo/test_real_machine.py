"""The demo model with the real server for this machine: real schemas, real answers."""

import os
import socket
from pathlib import Path

from mcp import Client
from mcp_types import TextContent

from midwatch.bundled.host.server import build_server
from midwatch.cli.samples import load_sample
from midwatch.domain.messages import ToolMessage
from midwatch.domain.tools import ToolCall, ToolDefinition
from midwatch.kit import json
from midwatch.llm.demo.answers import read_answer
from midwatch.llm.demo.report import FOOTER
from tests.unit.llm.demo.desk import Desk


async def list_tools(client: Client) -> list[ToolDefinition]:
    return [
        ToolDefinition(
            server="midwatch-host", name=tool.name, description=tool.description or "", schema=tool.input_schema
        )
        for tool in (await client.list_tools()).tools
    ]


async def call(client: Client, asked: ToolCall) -> ToolMessage:
    result = await client.call_tool(asked.name.partition(".")[2], json.decode(asked.arguments))
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert result.is_error or read_answer(json.decode(content.text)), f"{asked.name} is not understood"
    return ToolMessage(
        provider_id=asked.provider_id, name=asked.name, content=content.text, is_error=bool(result.is_error)
    )


async def investigate(client: Client, alert: str) -> tuple[Desk, str]:
    desk = Desk(alert, tools=await list_tools(client))
    while (reply := await desk.ask()).calls:
        desk.messages += [await call(client, asked) for asked in reply.calls]
    return desk, reply.text


async def test_a_dead_service_is_followed_to_the_process_that_holds_its_port(tmp_path: Path) -> None:
    logs, run = tmp_path / "log", tmp_path / "run"
    (logs / "lighthouse").mkdir(parents=True)
    run.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = f"lighthouse starts\nfatal: bind 127.0.0.1:{port}: Address already in use\n"
        (logs / "lighthouse" / "error.log").write_text(words)
        async with Client(build_server(log_roots=[str(logs)], run_roots=[str(run)])) as client:
            desk, text = await investigate(client, "lighthouse.service is down")
    assert f"read_log path={logs}/lighthouse/error.log" in desk.asked
    assert desk.asked[-2:] == [f"ports port={port}", f"process pid={os.getpid()}"]
    cause = text.partition("## Evidence")[0]
    assert "another process holds its port" in cause
    assert f"Port {port} is held by" in cause
    assert f"pid {os.getpid()}" in cause


async def test_a_look_around_understands_every_answer() -> None:
    async with Client(build_server()) as client:
        desk, text = await investigate(client, load_sample("all-quiet").text)
    assert desk.rounds[0] == ["overview", "disks", "memory", "load", "services state=failed", "kernel_messages"]
    assert "`midwatch-host.memory`: Memory is " in text
    assert "answered in" not in text
    assert text.endswith(FOOTER)
