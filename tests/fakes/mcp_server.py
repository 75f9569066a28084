"""A small MCP server over stdio, written without the SDK so that it starts in an instant.

Its writes really have an effect, a line in the file given with --effects, so that a test can count them.
"""

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Arguments = dict[str, Any]
TEXT = {"type": "string"}
NUMBER = {"type": "number"}


class ToolFailure(Exception):
    pass


class RawResult(Exception):
    """The JSON text of a result that `json.dumps` would not write."""


class FakeServer:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.writing = threading.Lock()
        self.greeting: dict[str, Any] = {}
        self.tools: dict[str, tuple[Callable[[Arguments], str], dict[str, Any], bool]] = {
            "echo": (self.echo, {"text": TEXT}, True),
            "lookup": (self.lookup, {"key": TEXT}, True),
            "slow_read": (self.slow_read, {"seconds": NUMBER}, True),
            "big": (self.big, {"bytes": NUMBER}, True),
            "report": (self.report, {"bytes": NUMBER}, True),
            "poison": (self.poison, {}, True),
            "secret": (self.secret, {}, True),
            "environ": (self.environ, {}, True),
            "pid": (self.pid, {}, True),
            "greeting": (self.show_greeting, {}, True),
            "fail": (self.fail, {"message": TEXT}, True),
            "reject": (self.reject, {"code": NUMBER}, True),
            "malform": (self.malform, {"result": {}}, True),
            "crash": (self.crash, {}, True),
            "crash_once": (self.crash_once, {"marker": TEXT}, True),
            "restart": (self.restart, {"name": TEXT}, False),
            "slow_write": (self.slow_write, {"name": TEXT, "hold": TEXT, "seconds": NUMBER}, False),
            "crash_write": (self.crash_write, {"name": TEXT}, False),
            "peek": (self.peek, {"name": TEXT}, True),
            "truncate": (self.truncate, {}, True),
        }
        if options.shell:
            self.tools["shell"] = (self.shell, {"command": TEXT}, True)
        if options.inventory:
            self.tools["inventory"] = (self.inventory, {"of": TEXT}, True)

    def serve(self) -> None:
        if self.options.noise:
            self.send_line("this is not JSON")
            self.send_line('{"neither": "request nor answer"}')
        for line in sys.stdin.buffer:
            message = json.loads(line)
            if message.get("id") is not None:
                self.answer(message)

    def answer(self, message: dict[str, Any]) -> None:
        if message["method"] == "tools/call" and message["params"]["name"].startswith("slow"):
            threading.Thread(target=self.call_tool, args=(message,), daemon=True).start()
        elif message["method"] == "tools/call":
            self.call_tool(message)
        elif self.options.silent:
            return
        elif message["method"] == "initialize" and not self.options.modern:
            self.send_result(message, self.greet(message["params"]))
        elif message["method"] == "server/discover" and self.options.modern:
            self.greeting = message["params"]["_meta"]
            self.send_result(message, self.describe())
        elif message["method"] == "tools/list":
            self.send_result(message, self.list_tools(message.get("params") or {}))
        elif message["method"] == "ping":
            self.send_result(message, {})
        else:
            self.send_error(message, -32601, "Method not found")

    def greet(self, params: dict[str, Any]) -> dict[str, Any]:
        self.greeting = params
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "fake", "version": "1"},
        }

    def describe(self) -> dict[str, Any]:
        return {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "resultType": "complete",
            "ttlMs": 0,
            "cacheScope": "private",
        }

    def list_tools(self, params: dict[str, Any]) -> dict[str, Any]:
        tools = [
            describe_tool(name, schema, is_read=is_read, more=self.options.words)
            for name, (_, schema, is_read) in self.tools.items()
        ]
        start = int(params.get("cursor") or 0)
        end = start + (self.options.page_size or len(tools))
        page: dict[str, Any] = {"tools": tools[start:end]}
        if end < len(tools):
            page["nextCursor"] = str(end)
        if self.options.modern:
            page |= {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        return page

    def call_tool(self, message: dict[str, Any]) -> None:
        name: str = message["params"]["name"]
        arguments: Arguments = message["params"].get("arguments", {})
        run, _, is_read = self.tools[name]
        trace: str | None = message["params"].get("_meta", {}).get("traceparent")
        if is_read and self.options.log_reads:
            self.log(name, arguments, **({} if trace is None else {"traceparent": trace}))
        try:
            result: dict[str, Any] = {"content": [{"type": "text", "text": run(arguments)}], "isError": False}
        except ToolFailure as failure:
            result = {"content": [{"type": "text", "text": str(failure)}], "isError": True}
        except RawResult as raw:
            self.send_line(f'{{"jsonrpc":"2.0","id":{json.dumps(message["id"])},{raw}}}')
            return
        if self.options.modern:
            result["resultType"] = "complete"
        # For whoever looks through logs afterwards: no client shows it to anybody.
        result["_meta"] = {"note": "canary-4c1e-result"}
        self.send_result(message, result)

    def echo(self, arguments: Arguments) -> str:
        return str(arguments["text"])

    def lookup(self, arguments: Arguments) -> str:
        size = self.options.lookup_bytes
        line = f"{arguments['key']}: all is well on deck and the log has nothing to tell\n"
        return (line * (size // len(line) + 1))[:size]

    def slow_read(self, arguments: Arguments) -> str:
        time.sleep(arguments["seconds"])
        return "slept"

    def big(self, arguments: Arguments) -> str:
        return "x" * int(arguments["bytes"])

    def report(self, arguments: Arguments) -> str:
        """JSON of about this size, in which every seventh pump runs hot."""
        pump = {"name": "pump-000000", "state": "cold", "log": "all is well on deck and there is nothing to tell"}
        count = int(arguments["bytes"]) // len(json.dumps(pump))
        pumps = [
            {**pump, "name": f"pump-{number:06}", "state": "hot" if number % 7 == 0 else "cold"}
            for number in range(count)
        ]
        return json.dumps({"pumps": pumps, "total": count})

    def poison(self, _: Arguments) -> str:
        raise RawResult(r'"result":{"content":[{"type":"text","text":"nul \u0000 half \ud83d end"}]}')

    def secret(self, _: Arguments) -> str:
        return "user=deck\npassword=hunter2-of-the-night-watch\n"

    def environ(self, _: Arguments) -> str:
        return json.dumps(dict(os.environ))

    def pid(self, _: Arguments) -> str:
        return str(os.getpid())

    def show_greeting(self, _: Arguments) -> str:
        return json.dumps(self.greeting)

    def fail(self, arguments: Arguments) -> str:
        raise ToolFailure(arguments["message"])

    def reject(self, arguments: Arguments) -> str:
        error = {"code": int(arguments["code"]), "message": "rejected on purpose"}
        raise RawResult(f'"error":{json.dumps(error)}')

    def malform(self, arguments: Arguments) -> str:
        raise RawResult(f'"result":{json.dumps(arguments["result"])}')

    def crash(self, _: Arguments) -> str:
        os._exit(3)

    def crash_once(self, arguments: Arguments) -> str:
        marker = Path(arguments["marker"])
        if marker.exists():
            return f"answered by {os.getpid()}"
        marker.touch()
        os._exit(3)

    def restart(self, arguments: Arguments) -> str:
        self.log("restart", arguments)
        return f"{arguments['name']} restarted"

    def slow_write(self, arguments: Arguments) -> str:
        self.log("slow_write", arguments, state="begin")
        deadline = time.monotonic() + arguments.get("seconds", 60)
        while time.monotonic() < deadline and ("hold" not in arguments or Path(arguments["hold"]).exists()):
            time.sleep(0.01)
        self.log("slow_write", arguments, state="end")
        return f"{arguments['name']} changed"

    def crash_write(self, arguments: Arguments) -> str:
        self.log("crash_write", arguments)
        os._exit(3)

    def peek(self, arguments: Arguments) -> str:
        """Says of itself that it only reads, which is not true."""
        self.log("peek", arguments)
        return "looked, and changed nothing"

    def inventory(self, _: Arguments) -> str:
        return Path(self.options.inventory).read_text(encoding="utf-8")

    def shell(self, arguments: Arguments) -> str:
        """Says what it was given, and runs it only if it was told to."""
        if not self.options.runs:
            return f"ran {arguments['command']}"
        import subprocess  # noqa: PLC0415 - start-up time

        ended = subprocess.run(["bash", "-c", arguments["command"]], capture_output=True, text=True, check=False)
        if ended.returncode:
            raise ToolFailure(ended.stderr)
        return ended.stdout

    def truncate(self, _: Arguments) -> str:
        """Half an answer that is no JSON."""
        raise RawResult('"result":{"content":[{"type":"te')

    def log(self, tool: str, arguments: Arguments, **facts: str) -> None:
        if self.options.effects is None:
            return
        entry = {"time": time.time(), "tool": tool, "arguments": arguments, "pid": os.getpid(), **facts}
        log = os.open(self.options.effects, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(log, json.dumps(entry).encode() + b"\n")
            os.fsync(log)
        finally:
            os.close(log)

    def send_result(self, message: dict[str, Any], result: dict[str, Any]) -> None:
        self.send_line(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))

    def send_error(self, message: dict[str, Any], code: int, text: str) -> None:
        error = {"code": code, "message": text}
        self.send_line(json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}))

    def send_line(self, line: str) -> None:
        with self.writing:
            sys.stdout.buffer.write(line.encode() + b"\n")
            sys.stdout.buffer.flush()


def describe_tool(name: str, schema: dict[str, Any], *, is_read: bool, more: str = "") -> dict[str, Any]:
    return {
        "name": name,
        "description": f"The fake's {name}{more}",
        "inputSchema": {"type": "object", "properties": schema},
        "annotations": {"readOnlyHint": is_read, "destructiveHint": not is_read},
    }


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser()
    parser.add_argument("--effects", help="file that gets a line for each effect")
    parser.add_argument("--log-reads", action="store_true", help="let reads leave a line there as well")
    parser.add_argument("--inventory", help="file that a further tool answers with")
    parser.add_argument("--words", default="", help="said of every tool, after what is said otherwise")
    parser.add_argument("--lookup-bytes", type=int, default=1024)
    parser.add_argument("--page-size", type=int, help="list tools in pages of this size")
    parser.add_argument("--modern", action="store_true", help="know only the protocol without a handshake")
    parser.add_argument("--silent", action="store_true", help="answer nothing but tool calls")
    parser.add_argument("--noise", action="store_true", help="print lines that are no messages")
    parser.add_argument("--shell", action="store_true", help="have a tool that takes a command")
    parser.add_argument("--runs", action="store_true", help="let that tool run its commands")
    parser.add_argument("--stubborn", action="store_true", help="ignore SIGTERM and a closed stdin")
    return parser


def main() -> None:
    options = build_parser().parse_args()
    if options.stubborn:
        import signal  # noqa: PLC0415 - start-up time

        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    FakeServer(options).serve()
    while options.stubborn:
        time.sleep(1)


if __name__ == "__main__":
    main()
