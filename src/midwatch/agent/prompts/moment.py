"""When a prompt is written, and what kind of day that is for the people who run the systems."""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import StrEnum

_SATURDAY = 5


class DayKind(StrEnum):
    WEEKDAY = "weekday"
    WEEKEND = "weekend"
    HOLIDAY = "holiday"


def tell_moment(now: datetime | None, *, holidays: Mapping[str, str]) -> dict[str, str]:
    """As the templates take it. `holidays` maps a month and a day, such as `12-25`, to a name."""
    now = (now or datetime.now(UTC)).astimezone(UTC)
    holiday = holidays.get(f"{now:%m-%d}", "")
    return {
        "time": f"{now:%Y-%m-%d %H:%M} UTC",
        "weekday": _WEEKDAYS[now.weekday()],
        "day_kind": classify_day(now, holidays=holidays),
        "holiday": holiday,
    }


def classify_day(day: datetime, *, holidays: Mapping[str, str]) -> DayKind:
    if f"{day:%m-%d}" in holidays:
        return DayKind.HOLIDAY
    return DayKind.WEEKEND if day.weekday() >= _SATURDAY else DayKind.WEEKDAY


# Not by strftime: its names follow the locale of the process.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
