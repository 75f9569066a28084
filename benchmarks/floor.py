"""The floor: the least that a loop of model and tools can be, with httpx and the MCP SDK alone. It stores nothing."""

import json
from collections.abc import Sequence
from typing import Any

import httpx
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import TextContent, Tool

from benchmarks.workload import SERVER, TOOL_PROGRAM, Workload

Message = dict[str, Any]


async def run_bare_loop(workload: Workload, *, base_url: str, http: httpx.AsyncClient) -> int:
    """Plays the workload once, with a tool server of its own. Returns how many tools were called."""
    messages: list[Message] = [
        {"role": "system", "content": "You investigate alerts."},
        {"role": "user", "content": "The machine feels slow."},
    ]
    command, *arguments = TOOL_PROGRAM
    called = 0
    async with Client(stdio_client(StdioServerParameters(command=command, args=arguments))) as tools:
        offered = [_describe(tool) for tool in (await tools.list_tools()).tools]
        while True:
            reply = await _ask(http, base_url, {"model": workload.name, "messages": messages, "tools": offered})
            messages.append(reply)
            if "tool_calls" not in reply:
                return called
            for call in reply["tool_calls"]:
                messages.append(await _act(tools, call))
                called += 1


def _describe(tool: Tool) -> dict[str, Any]:
    function = {
        "name": f"{SERVER}__{tool.name}",
        "description": tool.description,
        "parameters": tool.input_schema,
    }
    return {"type": "function", "function": function}


async def _ask(http: httpx.AsyncClient, base_url: str, question: dict[str, Any]) -> Message:
    body = json.dumps({**question, "stream": True, "stream_options": {"include_usage": True}})
    text: list[str] = []
    calls: list[dict[str, Any]] = []
    headers = {"Content-Type": "application/json"}
    async with http.stream("POST", f"{base_url}/chat/completions", content=body, headers=headers) as response:
        async for line in response.aiter_lines():
            if not line.startswith("data: ") or line == "data: [DONE]":
                continue
            for choice in json.loads(line[6:])["choices"]:
                text.append(choice["delta"].get("content") or "")
                _gather_calls(calls, choice["delta"].get("tool_calls", ()))
    reply: Message = {"role": "assistant", "content": "".join(text)}
    return {**reply, "tool_calls": calls} if calls else reply


def _gather_calls(calls: list[dict[str, Any]], pieces: Sequence[dict[str, Any]]) -> None:
    for piece in pieces:
        if piece["index"] == len(calls):
            calls.append({"id": piece["id"], "type": "function", "function": piece["function"]})
        else:
            calls[piece["index"]]["function"]["arguments"] += piece["function"]["arguments"]


async def _act(tools: Client, call: dict[str, Any]) -> Message:
    name = call["function"]["name"].removeprefix(f"{SERVER}__")
    result = await tools.call_tool(name, json.loads(call["function"]["arguments"]))
    content = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
    return {"role": "tool", "tool_call_id": call["id"], "content": content}
