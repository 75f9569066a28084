"""A container runtime that is none: it answers like Docker over a Unix socket, and remembers what it was asked."""

import json
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingMixIn, UnixStreamServer
from typing import Any, cast
from urllib.parse import urlsplit


class FakeRuntime(ThreadingMixIn, UnixStreamServer):
    daemon_threads = True

    def __init__(self, path: Path, *, answers: Mapping[str, bytes]) -> None:
        self.answers = answers
        """Bodies by path; anything else is not found."""
        self.asked: list[str] = []
        """Method and target of every request."""
        self.may_answer = threading.Event()
        """Clear it, and whoever asks has to wait."""
        self.may_answer.set()
        super().__init__(str(path), _Handler)


class _Handler(BaseHTTPRequestHandler):
    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline or not self.parse_request():
            self.close_connection = True
            return
        runtime = cast("FakeRuntime", self.server)
        runtime.asked.append(f"{self.command} {self.path}")
        runtime.may_answer.wait()
        body = runtime.answers.get(urlsplit(self.path).path)
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - so the library calls it
        pass


def as_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def frame(stream: int, text: str) -> bytes:
    """One piece of a container's output, as it comes without a terminal."""
    return bytes([stream, 0, 0, 0]) + len(text.encode()).to_bytes(4, "big") + text.encode()


@contextmanager
def running_runtime(path: Path, answers: Mapping[str, bytes]) -> Generator[FakeRuntime]:
    with FakeRuntime(path, answers=answers) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, name="fake runtime")
        thread.start()
        try:
            yield server
        finally:
            server.may_answer.set()
            server.shutdown()
            thread.join()
