"""The pause that a provider asks for, in all the ways it is written. Nothing is shortened here."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from midwatch.llm.loose_json import read_fields, read_items, read_text

_MILLISECONDS = "retry-after-ms"


def read_pause(headers: Mapping[str, str], error: Any) -> float | None:
    """Seconds; None if no pause was asked for, or in no way that anybody could keep."""
    milliseconds = _read_number(headers.get(_MILLISECONDS))
    if milliseconds is not None:
        return milliseconds / 1000
    after = headers.get("retry-after")
    seconds = _read_number(after)
    if seconds is None:
        seconds = _read_date(after, now=headers.get("date"))
    return read_delay(error) if seconds is None else seconds


def read_delay(error: Any) -> float | None:
    """Google names the pause in the details of its error, as a text such as "34.1s"."""
    delays = (read_text(detail.get("retryDelay")) for detail in read_items(read_fields(error).get("details")))
    return next((_read_number(delay.removesuffix("s")) for delay in delays if delay), None)


def _read_number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _read_date(text: str | None, *, now: str | None) -> float | None:
    """By the provider's own clock where it tells the time: ours may be wrong."""
    until = _parse_date(text)
    if until is None:
        return None
    return max((until - (_parse_date(now) or datetime.now(UTC))).total_seconds(), 0.0)


def _parse_date(text: str | None) -> datetime | None:
    try:
        date = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
