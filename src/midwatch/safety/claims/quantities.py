"""Numbers with units, so that 95 %, 0.95 and 95.0% are one, and 1.5GiB is 1536Mi."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple


class Measure(StrEnum):
    SHARE = "share"
    BYTES = "bytes"
    SECONDS = "seconds"
    SPAN = "span"
    """Longer times: mostly reckoned, hardly ever read off."""
    COUNT = "count"


_MEASURES: Final = tuple(Measure)
_Unit = tuple[Measure, tuple[float, ...]]
_TIMES: Final[Mapping[str, float]] = {
    "ns": 1e-9,
    "µs": 1e-6,
    "us": 1e-6,
    "ms": 1e-3,
    "milliseconds": 1e-3,
    "s": 1,
    "sec": 1,
    "second": 1,
    "seconds": 1,
}
_SPANS: Final[Mapping[str, float]] = {
    "min": 60,
    "minute": 60,
    "minutes": 60,
    "h": 3600,
    "hour": 3600,
    "hours": 3600,
    "d": 86400,
    "days": 86400,
}
_UNITS: Final[Mapping[str, _Unit]] = (
    dict.fromkeys(("%", "percent", "prozent"), (Measure.SHARE, (0.01,)))
    | dict.fromkeys(("b", "byte", "bytes"), (Measure.BYTES, (1.0,)))
    | {unit: (Measure.SECONDS, (size,)) for unit, size in _TIMES.items()}
    | {unit: (Measure.SPAN, (size,)) for unit, size in _SPANS.items()}
    | {
        f"{prefix}{suffix}": (Measure.BYTES, (1000.0**power, 1024.0**power))
        for power, prefix in enumerate("kmgtp", start=1)
        for suffix in ("b", "ib", "i", "bytes", "")
        if f"{prefix}{suffix}" != "m"
    }
)
"""A unit that people use for two sizes has both."""
_PLAIN: Final[_Unit] = (Measure.COUNT, (1.0,))
_ONLY_ATTACHED: Final = ("b", "k", "m", "g", "t", "p", "d")
_SAID: Final = re.compile(
    r"(\d(?<![\w.,:/#-]\d)\d{0,14}(?:,\d{3})*(?:\.\d{1,9})?)(?:\s?/\s?\d+)?"
    r"([ \t]?)(%|[µa-z]{1,12})?(?![\d:]|\.\d|-\d)"
)
_ABOUT: Final = "~≈"
_JOINING: Final = "_.,:/#-"
_KNOWN: Final = re.compile(r"(\d{1,15}(?:,\d{3})*(?:\.\d{1,9})?)(%|[µa-z]{1,12})?[.,]?")
_SEPARATORS: Final = str.maketrans(dict.fromkeys("\"'`:;=()[]{}<>|/-+*_~≈#@!?", " "))
"""In JSON and in logs a number may stand right after a colon or a dash."""
_LARGE: Final = 100
_ROUGH: Final = 0.1
_HALF: Final = 0.5001
_BARE_SCALES: Final[Mapping[Measure, tuple[float, ...]]] = {
    Measure.SHARE: (1.0, 0.01),
    Measure.BYTES: (1.0, 1e3, 1024.0, 1e6, 1024.0**2, 1e9, 1024.0**3),
    Measure.SECONDS: (1.0, 1e-3, 1e-6, 1e-9),
    Measure.SPAN: (1.0, 1e-3, 60.0),
    Measure.COUNT: (1.0, 100.0),
}
"""What a bare number of evidence may be worth: bytes, milliseconds, a ratio, or percent without its sign."""


class Quantity(NamedTuple):
    text: str
    start: int
    digits: str
    unit: str
    measure: Measure
    scales: tuple[float, ...]

    @property
    def value(self) -> float:
        return float(self.digits)

    @property
    def step(self) -> float:
        """What the last digit written is worth."""
        return 10.0 ** -len(self.digits.partition(".")[2])

    @property
    def is_rough(self) -> bool:
        return self.text[0] in _ABOUT


def find_quantities(low: str) -> Iterator[Quantity]:
    """All numbers of a text in lower case. A number whose unit is unknown is a count of what the word names."""
    has_rough = "~" in low or "≈" in low
    for match in _SAID.finditer(low):
        digits, space, unit = match.groups("")
        measure, scales = _PLAIN if space and unit in _ONLY_ATTACHED else _UNITS.get(unit, _PLAIN)
        start, end = match.span()
        if has_rough:
            start = _begin_of_rough(low, start)
        yield Quantity(low[start:end].strip(), start, digits.replace(",", ""), unit, measure, scales)


def _begin_of_rough(low: str, start: int) -> int:
    """Where the sign stands that makes it a rough number, or where the number itself does."""
    sign = start - 2 if low[start - 1 : start].isspace() else start - 1
    if sign < 0 or low[sign] not in _ABOUT:
        return start
    before = low[sign - 1 : sign]
    return start if before and (before.isalnum() or before in _JOINING) else sign


class KnownQuantities:
    """All numbers of the evidence, in order, by what they measure."""

    def __init__(self, low: str) -> None:
        sizes: dict[Measure, set[float]] = {measure: set() for measure in _MEASURES}
        lines = "\n".join(set(low.split("\n")))  # what is read repeats itself
        for word in set(lines.translate(_SEPARATORS).split()):
            match = _KNOWN.fullmatch(word) if word[0] in "0123456789" else None
            if match:
                measure, scales = _UNITS.get(match[2], _PLAIN)
                sizes[measure].update(_scale(float(match[1].replace(",", "")), scales))
        self._sizes = {measure: sorted(found) for measure, found in sizes.items()}

    def has(self, claimed: Quantity) -> bool:
        """Whether one of them is the claimed one, as it may be rounded or in another unit."""
        bare, same = self._sizes[Measure.COUNT], self._sizes[claimed.measure]
        for scale in claimed.scales:
            size, slack = claimed.value * scale, _slack(claimed, scale)
            if _holds(same, size, slack):
                return True
            for worth in _worths(claimed.measure, size):
                if _holds(bare, size / worth, slack / worth):
                    return True
        is_plain = claimed.measure is Measure.COUNT
        return is_plain and any(_holds(sizes, claimed.value, 0.0) for sizes in self._sizes.values())


def _worths(measure: Measure, size: float) -> Sequence[float]:
    """A small bare number is a count of bytes or of nothing: nobody can tell that 3 are gigabytes."""
    worths = _BARE_SCALES[measure]
    if measure is not Measure.BYTES:
        return worths
    return [worth for worth in worths if worth == 1 or size / worth >= _LARGE]


def _scale(value: float, scales: Iterable[float]) -> Iterator[float]:
    return (value * scale for scale in scales)


def _slack(claimed: Quantity, scale: float) -> float:
    rounding = claimed.step * scale * _HALF
    return max(rounding, _ROUGH * claimed.value * scale) if claimed.is_rough else rounding


def _holds(sizes: Sequence[float], size: float, slack: float) -> bool:
    at = bisect_left(sizes, size - slack)
    return at < len(sizes) and sizes[at] <= size + slack
