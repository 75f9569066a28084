"""The fake MCP server behind HTTP, streamable or with server-sent events. A crash ends it; another takes its place.

The port is bound once and printed, so that clients that come between two lives wait instead of being refused.
"""

import argparse
import json
import os
import queue
import socket
import sys
import threading
import time
import uuid
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.fakes.mcp_server import FakeServer, build_parser


class HttpFake(FakeServer):
    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(options)
        self.sessions: dict[str, queue.Queue[str | None]] = {}
        self.local = threading.local()
        self.kept: list[str] = []

    def send_line(self, line: str) -> None:
        self.local.lines.append(line)

    def answer_in_thread(self, message: dict[str, Any]) -> Iterator[str]:
        lines: list[str] = []
        self.local.lines = lines
        if message["method"] == "tools/call":
            self.call_tool(message)
        else:
            self.answer(message)
        yield from lines

    def record(self, handler: BaseHTTPRequestHandler) -> None:
        if self.options.requests is not None:
            headers = {name.lower(): value for name, value in handler.headers.items()}
            with Path(self.options.requests).open("a") as log:
                entry = {"method": handler.command, "path": handler.path, "headers": headers, "pid": os.getpid()}
                log.write(json.dumps(entry) + "\n")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    fake: HttpFake

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its parent's name
        pass

    def do_POST(self) -> None:
        self.fake.record(self)
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.fake.options.redirect and self.path != "/moved":
            self.reply(307, headers={"location": self.fake.options.redirect})
        elif self.fake.options.status and message.get("method") == "tools/call":
            self.reply(self.fake.options.status)
        elif self.fake.options.transport == "sse":
            self.take_for_stream(message)
        else:
            self.take(message)

    def do_GET(self) -> None:
        self.fake.record(self)
        if self.fake.options.transport == "sse":
            self.stream_events()
        elif "last-event-id" in self.headers:
            self.resume()
        else:
            self.reply(405)

    def do_DELETE(self) -> None:
        self.fake.record(self)
        self.fake.sessions.pop(self.headers.get("mcp-session-id", ""), None)
        self.reply(200)

    def take(self, message: dict[str, Any]) -> None:
        session = self.headers.get("mcp-session-id")
        headers: dict[str, str] = {}
        if message.get("method") == "initialize":
            headers["mcp-session-id"] = session = str(uuid.uuid4())
            self.fake.sessions[session] = queue.Queue()
        if session not in self.fake.sessions:
            self.reply(404)
        elif message.get("id") is None:
            self.reply(202)
        elif self.fake.options.silent and message["method"] != "tools/call":
            time.sleep(60)
        elif self.fake.options.events:
            self.reply_with_events(message, headers)
        else:
            lines = list(self.fake.answer_in_thread(message))
            body = self.fake.options.garble or "".join(lines)
            self.reply(200, body.encode(), headers={**headers, "content-type": "application/json"})

    def reply_with_events(self, message: dict[str, Any], headers: dict[str, str]) -> None:
        with self.chunked({**headers, "content-type": "text/event-stream"}):
            self.write_chunk(": a comment\n\n")
            if self.fake.options.cut and message["method"] == "tools/call":
                self.write_chunk("id: 1\nretry: 1\ndata:\n\n")
                self.fake.kept += self.fake.answer_in_thread(message)
                return
            for line in self.fake.answer_in_thread(message):
                self.write_chunk(f"event: message\ndata: {self.fake.options.garble or line}\n\n")

    def resume(self) -> None:
        with self.chunked({"content-type": "text/event-stream"}):
            for line in self.fake.kept:
                self.write_chunk(f"id: 2\ndata: {line}\n\n")

    def take_for_stream(self, message: dict[str, Any]) -> None:
        session = self.path.partition("session=")[2]
        stream = self.fake.sessions.get(session)
        if stream is None:
            self.reply(404)
            return
        self.reply(202)
        silent = self.fake.options.silent and message.get("method") != "tools/call"
        if message.get("id") is not None and not silent:
            threading.Thread(target=self.put_answer, args=(message, stream), daemon=True).start()

    def put_answer(self, message: dict[str, Any], stream: "queue.Queue[str]") -> None:
        for line in self.fake.answer_in_thread(message):
            stream.put(line)

    def stream_events(self) -> None:
        session = str(uuid.uuid4())
        stream = self.fake.sessions[session] = queue.Queue()
        with self.chunked({"content-type": "text/event-stream"}):
            self.write_chunk(f"event: endpoint\r\ndata: {self.fake.options.endpoint}?session={session}\r\n\r\n")
            if self.fake.options.garble:
                self.write_chunk(f"event: message\ndata: {self.fake.options.garble}\n\n")
            while True:
                try:
                    self.write_chunk(f"event: message\r\ndata: {stream.get(timeout=0.2)}\r\n\r\n")
                except queue.Empty:
                    self.write_chunk(": still here\n\n")

    def reply(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    @contextmanager
    def chunked(self, headers: dict[str, str]) -> Generator[None]:
        self.send_response(200)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            yield
            self.wfile.write(b"0\r\n\r\n")
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def write_chunk(self, text: str) -> None:
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass


def live(listener: socket.socket, options: argparse.Namespace) -> None:
    server = Server(listener.getsockname(), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    if options.certificate is not None:
        import ssl  # noqa: PLC0415 - start-up time

        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(options.certificate)
        server.socket = context.wrap_socket(listener, server_side=True)
    Handler.fake = HttpFake(options)
    server.serve_forever(poll_interval=0.05)


def main() -> None:
    parser = build_parser()
    parser.add_argument("--transport", choices=["http", "sse"], default="http")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--events", action="store_true", help="answer with events where JSON would do")
    parser.add_argument("--cut", action="store_true", help="end the events of a call before its answer")
    parser.add_argument("--requests", help="file that gets a line for each request")
    parser.add_argument("--redirect", help="send clients on to this address")
    parser.add_argument("--endpoint", default="/messages", help="where clients are told to write to")
    parser.add_argument("--garble", help="send this instead of each answer")
    parser.add_argument("--status", type=int, help="answer calls with this HTTP status")
    parser.add_argument("--certificate", help="speak TLS with it")
    options = parser.parse_args()
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", options.port))
    listener.listen(64)
    print(listener.getsockname()[1], flush=True)  # noqa: T201 - whoever started this waits for the port
    while True:
        child = os.fork()
        if child == 0:
            live(listener, options)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
