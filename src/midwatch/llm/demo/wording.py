"""Values as they stand in the report. What comes from tools is shown as code and cannot break out of it."""

import re
import shlex
from collections.abc import Sequence

_LONGEST = 160
_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")
_STEP = 1000


def say_size(size: float) -> str:
    value, unit = float(size), 0
    while value >= _STEP and unit < len(_UNITS) - 1:
        value, unit = value / _STEP, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def say_percent(percent: float) -> str:
    return f"{percent:.1f} %"


def say_number(number: float) -> str:
    return f"{number:g}" if number == int(number) else f"{number:.2f}"


def show(text: object) -> str:
    """As code, on one line, shortened."""
    plain = "".join(char if char.isprintable() else " " for char in str(text))
    short = " ".join(plain.split())
    if len(short) > _LONGEST:
        short = f"{short[:_LONGEST]}…"
    ticks = "`" * (1 + max((len(run) for run in re.findall(r"`+", short)), default=0))
    return f"`{short or ' '}`" if ticks == "`" else f"{ticks} {short} {ticks}"


def say_details(parts: Sequence[str]) -> str:
    return f" ({', '.join(parts)})" if parts else ""


def build_command(*words: str) -> str:
    """A command a person may copy; empty when a name in it cannot be written on one line."""
    return shlex.join(words) if all(word and word.isprintable() for word in words) else ""
