"""Logs: one line per fact on stderr, JSON for machines, columns for a person at a terminal."""

import io
import logging.config
import sys
from typing import Any, TextIO, cast

import structlog
from structlog.typing import EventDict, Processor

_LIBRARIES = ("uvicorn", "uvicorn.error", "uvicorn.access", "httpx", "httpcore", "mcp", "asyncio")


def configure_logs(level: str, fmt: str | None = None) -> None:
    """`fmt` is text or json; None chooses by whether stderr is a terminal. Libraries speak from WARNING upwards."""
    threshold = logging.getLevelNamesMapping()[level.upper()]
    terminal = sys.stderr.isatty()
    renderer = _rendering(as_json=fmt == "json" or (fmt is None and not terminal), colors=terminal)
    structlog.configure(
        processors=[*_gathering(), *renderer],
        wrapper_class=structlog.make_filtering_bound_logger(threshold),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _Stderr())),
        # Loggers are cheap and rare here; a cached one would outlive a second configuration.
        cache_logger_on_first_use=False,
    )
    logging.config.dictConfig(_library_settings(renderer, level=max(threshold, logging.WARNING)))


def _gathering() -> list[Processor]:
    return [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
    ]


def _rendering(*, as_json: bool, colors: bool) -> list[Processor]:
    """Tracebacks are plain in both: lines of code, never the values of variables."""
    if as_json:
        return [structlog.processors.format_exc_info, structlog.processors.JSONRenderer()]
    return [structlog.dev.ConsoleRenderer(colors=colors, exception_formatter=structlog.dev.plain_traceback)]


def _library_settings(renderer: list[Processor], *, level: int) -> dict[str, Any]:
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": [structlog.stdlib.add_logger_name, *_gathering(), _hide_wire_content],
        "processors": [structlog.stdlib.ProcessorFormatter.remove_processors_meta, *renderer],
    }
    quiet = {"handlers": list[str](), "propagate": True, "level": "NOTSET"}
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"line": formatter},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "stream": _Stderr()}},
        "root": {"handlers": ["stderr"], "level": level},
        # The pool reports every failed attempt to fill itself, with a traceback; we report the outage once.
        "loggers": dict.fromkeys(_LIBRARIES, quiet) | {"asyncpg": quiet | {"level": "CRITICAL"}},
    }


def _hide_wire_content(_logger: object, _method: str, event: EventDict) -> EventDict:
    """The MCP library's tracebacks quote the message that failed, which is tool content nobody has masked."""
    record = event.get("_record")
    if isinstance(record, logging.LogRecord) and record.name.partition(".")[0] == "mcp" and event.get("exc_info"):
        kind, *_ = cast("tuple[type[BaseException] | None, object, object]", event.pop("exc_info"))
        event["error"] = kind.__name__ if kind else "unknown"
    return event


class _Stderr(io.TextIOBase):
    """Whatever stderr is at the moment of writing; it may be replaced after logs were configured."""

    def write(self, text: str, /) -> int:
        return sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()
