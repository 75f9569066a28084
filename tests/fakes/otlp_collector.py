"""A collector that takes spans over OTLP/HTTP, as protobuf, and keeps them."""

import gzip
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedSpan:
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, Any]
    links: tuple[tuple[str, str], ...]
    """Trace and span of each."""
    failed: str | None
    began: int
    ended: int
    resource: dict[str, Any]


@dataclass(slots=True)
class OtlpCollector:
    port: int = 0
    paths: list[str] = field(default_factory=list[str])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    bodies: list[bytes] = field(default_factory=list[bytes])

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def spans(self) -> list[ReceivedSpan]:
        return [span for body in list(self.bodies) for span in _read(body)]

    def named(self, prefix: str) -> list[ReceivedSpan]:
        """Those that begin so, in the order in which they began."""
        return sorted((span for span in self.spans if span.name.startswith(prefix)), key=lambda span: span.began)


def _read(body: bytes) -> list[ReceivedSpan]:
    request = ExportTraceServiceRequest.FromString(body)
    return [
        _describe(span, resource=_attributes(group.resource.attributes))
        for group in request.resource_spans
        for scope in group.scope_spans
        for span in scope.spans
    ]


def _describe(span: Span, *, resource: dict[str, Any]) -> ReceivedSpan:
    return ReceivedSpan(
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        attributes=_attributes(span.attributes),
        links=tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
        failed=span.status.message if span.status.code == Status.STATUS_CODE_ERROR else None,
        began=span.start_time_unix_nano,
        ended=span.end_time_unix_nano,
        resource=resource,
    )


def _attributes(pairs: Any) -> dict[str, Any]:
    found: list[KeyValue] = list(pairs)
    return {pair.key: _value(pair.value) for pair in found}


def _value(value: AnyValue) -> Any:
    return getattr(value, value.WhichOneof("value") or "string_value")


@contextmanager
def collecting() -> Generator[OtlpCollector]:
    """Until the block is left; in a thread of its own, as the exporter has one too."""
    collector = OtlpCollector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            collector.paths.append(self.path)
            collector.headers.append({name.lower(): value for name, value in self.headers.items()})
            collector.bodies.append(body)
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its parent's name
            """Tests have nobody who reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector.port = server.server_address[1]
        thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()


def main() -> None:
    """In a process of its own: says where it listens, and takes spans until it is killed."""
    with collecting() as collector:
        print(collector.endpoint, flush=True)  # noqa: T201 -- whoever started it reads it
        Event().wait()


if __name__ == "__main__":
    main()
