"""A small MCP server over stdio that talks while it works, changes its mind about its tools, and names them oddly."""

import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

ODD_NAMES = ("Look Up.all__things", "über/tool name", "UPPER", "a" * 90)
TEXT = {"type": "string"}


class TalkativeServer:
    def __init__(self) -> None:
        self.writing = threading.Lock()
        self.descriptions = dict.fromkeys(ODD_NAMES, "Says its arguments again")
        if len(sys.argv) > 2:
            self.descriptions |= json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))

    def serve(self) -> None:
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if message.get("method") == "tools/call":
                threading.Thread(target=self.call_tool, args=(message,), daemon=True).start()
            elif message.get("id") is not None:
                self.answer(message)

    def answer(self, message: dict[str, Any]) -> None:
        match message["method"]:
            case "initialize":
                capabilities = {"tools": {"listChanged": True}, "logging": {}}
                info = {"name": "talkative", "version": "1"}
                version = message["params"]["protocolVersion"]
                self.reply(message, {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info})
            case "tools/list":
                self.reply(message, {"tools": self.list_tools()})
            case _:
                self.reply(message, {})

    def list_tools(self) -> list[dict[str, Any]]:
        odd = [describe(name, description, {"text": TEXT}) for name, description in self.descriptions.items()]
        return [
            *odd,
            describe("work", "Works until a file is there", {"until": TEXT}),
            describe("evolve", "Becomes another", {"tool": TEXT, "description": TEXT}),
            describe("check", "Fails while a file is there", {}),
        ]

    def call_tool(self, message: dict[str, Any]) -> None:
        params = message["params"]
        name, arguments = params["name"], params.get("arguments", {})
        if name == "work":
            self.work(params.get("_meta", {}).get("progressToken"), Path(arguments["until"]))
        elif name == "evolve":
            self.descriptions[arguments["tool"]] = arguments["description"]
            self.send({"method": "notifications/tools/list_changed"})
        failed = name == "check" and len(sys.argv) > 1 and Path(sys.argv[1]).exists()
        text = "all is lost" if failed else json.dumps(arguments)
        self.reply(message, {"content": [{"type": "text", "text": text}], "isError": failed})

    def work(self, token: Any, until: Path) -> None:
        progress = {"progressToken": token, "progress": 1, "total": 4, "message": "password=hunter2-of-the-watch"}
        self.send({"method": "notifications/progress", "params": progress})
        while not until.exists():
            # A second note so soon would be dropped, and the test waits for one of this kind.
            time.sleep(0.25)
            log = {"level": "info", "data": "still at it"}
            self.send({"method": "notifications/message", "params": log})

    def reply(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        self.send({"id": message["id"], "result": result})

    def send(self, message: dict[str, Any]) -> None:
        with self.writing:
            sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            sys.stdout.buffer.flush()


def describe(name: str, description: str, properties: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"name": name, "description": description, "inputSchema": schema}


if __name__ == "__main__":
    TalkativeServer().serve()
