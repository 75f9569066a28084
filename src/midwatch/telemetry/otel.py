"""Spans over OTLP. The only importer of OpenTelemetry's SDK, and itself imported only when spans go somewhere."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import final

import structlog
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.id_generator import IdGenerator, RandomIdGenerator
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from midwatch.telemetry.tracing import Attributes, RunIdentity, Span

_FAREWELL = 5.0
_IDENTITY: ContextVar[RunIdentity | None] = ContextVar("midwatch_run", default=None)
"""Set while the first span of a run is made."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceSettings:
    endpoint: str
    """The whole address to which spans are posted."""
    service_name: str
    version: str
    instance: str
    share: float = 1.0
    """Of sessions that are traced."""
    takes_content: bool = False


@asynccontextmanager
async def open_tracer(settings: TraceSettings) -> AsyncGenerator["OtelTracer"]:
    """Spans that are over when the block ends are still sent, as long as that takes no longer than a few seconds."""
    provider = TracerProvider(
        resource=Resource.create(
            {
                "service.name": settings.service_name,
                "service.version": settings.version,
                "service.instance.id": settings.instance,
            }
        ),
        sampler=ParentBased(TraceIdRatioBased(settings.share)),
        id_generator=_RunIds(),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=settings.endpoint, timeout=_FAREWELL)))
    # Not made the provider of the whole process: libraries would add spans of their own, with the words of others.
    tracer = provider.get_tracer("midwatch", settings.version)
    try:
        yield OtelTracer(tracer=tracer, takes_content=settings.takes_content)
    finally:
        await _shut_down(provider)


async def _shut_down(provider: TracerProvider) -> None:
    try:
        async with asyncio.timeout(_FAREWELL):
            await asyncio.to_thread(provider.shutdown)
    except TimeoutError:
        log.warning("spans_not_sent", seconds=_FAREWELL)


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class OtelTracer:
    tracer: trace.Tracer
    takes_content: bool = False

    @contextmanager
    def open_run(self, name: str, identity: RunIdentity, *, attributes: Attributes) -> Generator[Span]:
        links = [trace.Link(_earlier_run(identity))] if identity.goes_on else []
        # A root of its own, whatever the task that claimed the session is doing.
        nowhere = trace.set_span_in_context(trace.INVALID_SPAN)
        token = _IDENTITY.set(identity)
        try:
            span = self.tracer.start_span(name, context=nowhere, attributes=attributes, links=links)
        finally:
            _IDENTITY.reset(token)
        with _entered(span) as entered:
            yield entered

    @contextmanager
    def open(self, name: str, *, attributes: Attributes) -> Generator[Span]:
        with _entered(self.tracer.start_span(name, attributes=attributes)) as entered:
            yield entered


@contextmanager
def _entered(span: trace.Span) -> Generator[Span]:
    # Exceptions are told by their class alone: their texts may hold anything.
    with trace.use_span(span, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        told = _Span(span)
        try:
            yield told
        except BaseException as error:
            told.fail(type(error).__name__)
            raise


@final
@dataclass(frozen=True, slots=True)
class _Span:
    span: trace.Span

    def note(self, attributes: Attributes) -> None:
        self.span.set_attributes(attributes)

    def rename(self, name: str) -> None:
        self.span.update_name(name)

    def fail(self, code: str) -> None:
        self.span.set_attribute("error.type", code)
        self.span.set_status(trace.StatusCode.ERROR, code)


def _earlier_run(identity: RunIdentity) -> trace.SpanContext:
    return trace.SpanContext(
        trace_id=identity.session_id.int,
        span_id=_name_root(identity, epoch=identity.epoch - 1),
        is_remote=True,
        trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
    )


def _name_root(identity: RunIdentity, *, epoch: int) -> int:
    digest = hashlib.sha256(f"{identity.session_id}:{epoch}".encode()).digest()
    return int.from_bytes(digest[:8], "big") or 1


@final
class _RunIds(IdGenerator):
    """A session's id is its trace's, and its epoch names the first span: nothing has to be stored to link to it."""

    def __init__(self) -> None:
        self._random = RandomIdGenerator()

    def generate_trace_id(self) -> int:
        identity = _IDENTITY.get()
        return self._random.generate_trace_id() if identity is None else identity.session_id.int

    def generate_span_id(self) -> int:
        identity = _IDENTITY.get()
        if identity is None:
            return self._random.generate_span_id()
        return _name_root(identity, epoch=identity.epoch)
