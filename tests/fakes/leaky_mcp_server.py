"""An MCP server over stdio that tells secrets in every way a server can speak: of its tools, in answers, on the way."""

import json
import sys
from pathlib import Path
from typing import Any

LEAKS = ("result", "failure", "error", "progress", "log", "description", "schema", "default")
TOOLS = ("tell", "fail", "break_off")
FAKE_SERVER = Path(__file__)


def secret_of(leak: str) -> str:
    """A token of a shape that nobody can mistake."""
    return "ghp_" + f"{leak}Canary".ljust(36, "0")


def serve() -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("id") is None:
            continue
        match message["method"]:
            case "initialize":
                version = message["params"]["protocolVersion"]
                server = {"name": "leaky", "version": "1"}
                answer(message, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server})
            case "tools/list":
                token = {"type": "string", "description": f"not {secret_of('schema')}", "default": secret_of("default")}
                schema: dict[str, Any] = {"type": "object", "properties": {"token": token}}
                told = f"with {secret_of('description')}"
                tools = [{"name": name, "description": f"Does {name} {told}", "inputSchema": schema} for name in TOOLS]
                answer(message, {"tools": tools})
            case "tools/call":
                call(message)
            case _:
                send({"id": message["id"], "error": {"code": -32601, "message": "Method not found"}})


def call(message: dict[str, Any]) -> None:
    params = message["params"]
    token = params.get("_meta", {}).get("progressToken")
    if token is not None:
        told = {"progressToken": token, "progress": 1, "message": f"using {secret_of('progress')}"}
        send({"method": "notifications/progress", "params": told})
    send({"method": "notifications/message", "params": {"level": "info", "data": f"log {secret_of('log')}"}})
    match params["name"]:
        case "tell":
            answer(message, {"content": [{"type": "text", "text": f"token {secret_of('result')} is in use"}]})
        case "fail":
            text = f"refused for {secret_of('failure')}"
            answer(message, {"content": [{"type": "text", "text": text}], "isError": True})
        case _:
            send({"id": message["id"], "error": {"code": -32000, "message": f"broke off at {secret_of('error')}"}})


def answer(message: dict[str, Any], result: dict[str, Any]) -> None:
    send({"id": message["id"], "result": result})


def send(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve()
