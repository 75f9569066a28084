"""What must never stand in a log: words that the fakes plant in alerts, prompts, replies, arguments and results.

Every log of a test run is looked at: those of this process as they are written, those of replicas when they stop.
"""

import logging
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import structlog
from structlog.typing import EventDict

PLANTED = "canary-4c1e"
"""Begins whatever is planted on purpose."""
ALERT = f"{PLANTED}-alert"
ARGUMENT = f"{PLANTED}-argument"
REPLY = f"{PLANTED}-reply"
RESULT = f"{PLANTED}-result"
"""In every answer of the fake tool servers."""
RAW = f"{PLANTED}-raw"
"""In every event that the fake of OpenAI sends."""

WORDS = (
    PLANTED,
    "an agent of Midwatch",  # every prompt begins with it
    "bilge pump runs hot",  # the usual alert
    "The deck is dry",  # a usual analysis
    "The pump was restarted and runs cool",
    "password=hunter2",  # what the fake's `secret` tells
)
_AROUND = 60


@dataclass(slots=True)
class LogWatch:
    leaks: list[str] = field(default_factory=list[str])

    def look_at(self, text: str, *, where: str) -> None:
        for word in WORDS:
            place = text.find(word)
            if place >= 0:
                self.leaks.append(f"{where}: …{text[max(place - _AROUND, 0) : place + len(word)]}")

    def look_into(self, log: Path) -> None:
        self.look_at(log.read_text(encoding="utf-8", errors="replace"), where=log.name)


WATCH = LogWatch()


def watch_this_process() -> None:
    """Also after somebody has configured logs anew."""
    processors = structlog.get_config()["processors"]
    if _look_at_event not in processors:
        processors.insert(0, _look_at_event)
    if _HANDLER not in logging.root.handlers:
        logging.root.addHandler(_HANDLER)


def _look_at_event(_logger: object, _method: str, event: EventDict) -> EventDict:
    failure = traceback.format_exc() if event.get("exc_info") and sys.exc_info()[0] else ""
    WATCH.look_at(f"{dict(event)!r}\n{failure}", where=str(event.get("event")))
    return event


class _Handler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        WATCH.look_at(self.format(record), where=record.name)


_HANDLER = _Handler(logging.WARNING)
