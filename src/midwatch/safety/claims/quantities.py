"""Numbers with units, so that 95 %, 0.95 and 95.0% are one, and 1.5GiB is 1536Mi."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Measure(StrEnum):
    SHARE = "share"
    BYTES = "bytes"
    SECONDS = "seconds"
    COUNT = "count"


_UNITS: Final[Mapping[str, tuple[Measure, tuple[float, ...]]]] = {
    "%": (Measure.SHARE, (0.01,)),
    "percent": (Measure.SHARE, (0.01,)),
    "prozent": (Measure.SHARE, (0.01,)),
    "b": (Measure.BYTES, (1,)),
    "bytes": (Measure.BYTES, (1,)),
    "ns": (Measure.SECONDS, (1e-9,)),
    "µs": (Measure.SECONDS, (1e-6,)),
    "us": (Measure.SECONDS, (1e-6,)),
    "ms": (Measure.SECONDS, (1e-3,)),
    "milliseconds": (Measure.SECONDS, (1e-3,)),
    "s": (Measure.SECONDS, (1,)),
    "sec": (Measure.SECONDS, (1,)),
    "seconds": (Measure.SECONDS, (1,)),
    "second": (Measure.SECONDS, (1,)),
    "min": (Measure.SECONDS, (60,)),
    "minutes": (Measure.SECONDS, (60,)),
    "minute": (Measure.SECONDS, (60,)),
    "h": (Measure.SECONDS, (3600,)),
    "hours": (Measure.SECONDS, (3600,)),
    "hour": (Measure.SECONDS, (3600,)),
    "d": (Measure.SECONDS, (86400,)),
    "days": (Measure.SECONDS, (86400,)),
} | {
    f"{prefix}{suffix}": (Measure.BYTES, (1000.0**power, 1024.0**power))
    for power, prefix in enumerate("kmgtp", start=1)
    for suffix in ("b", "ib", "i", "bytes", "")
    if f"{prefix}{suffix}" != "m"
}
"""A unit that people use for two sizes has both."""
_QUANTITY: Final = (
    r"(?P<about>[~≈]\s?)?(?P<number>\d{1,15}(?:,\d{3})*(?:\.\d{1,9})?)(?:\s?/\s?\d+)?"
    r"(?P<space>[ \t]?)(?P<unit>%|[µa-z]{1,12})?(?![\d:]|\.\d|-\d)"
)
_SAID: Final = re.compile(rf"(?<![\w.,:/#-]){_QUANTITY}")
_KNOWN: Final = re.compile(rf"(?<![\w.]){_QUANTITY}")
"""In JSON and in logs a number may stand right after a colon or a dash."""
_ONLY_ATTACHED: Final = ("b", "k", "m", "g", "t", "p", "d")
_ROUGH: Final = 0.1


@dataclass(frozen=True, slots=True)
class Quantity:
    text: str
    start: int
    value: float
    unit: str
    measure: Measure
    scales: tuple[float, ...]
    step: float
    """What the last digit written is worth."""
    is_rough: bool = False

    def sizes(self) -> Sequence[float]:
        return [self.value * scale for scale in self.scales]


def find_quantities(low: str, *, is_evidence: bool = False) -> Iterator[Quantity]:
    """All numbers of a text in lower case. A number whose unit is unknown is a count of what the word names."""
    for match in (_KNOWN if is_evidence else _SAID).finditer(low):
        number, unit = match["number"].replace(",", ""), match["unit"] or ""
        measure, scales = _UNITS.get(unit, (Measure.COUNT, (1.0,)))
        if unit in _ONLY_ATTACHED and match["space"]:
            measure, scales, unit = Measure.COUNT, (1.0,), ""
        yield Quantity(
            text=match.group().strip(),
            start=match.start(),
            value=float(number),
            unit=unit,
            measure=measure,
            scales=scales,
            step=10.0 ** -len(number.partition(".")[2]),
            is_rough=bool(match["about"]),
        )


def is_found(claimed: Quantity, known: Sequence[Quantity]) -> bool:
    """Whether a known number is the claimed one, as it may be rounded or in another unit."""
    return any(_agree(claimed, other) for other in known)


def _agree(claimed: Quantity, known: Quantity) -> bool:
    if claimed.value == known.value and (claimed.unit == known.unit or Measure.COUNT in (claimed.measure, known.measure)):
        return True
    if known.measure is claimed.measure and claimed.measure is not Measure.COUNT:
        return any(_is_near(size, other, claimed) for size in claimed.sizes() for other in known.sizes())
    if known.measure is Measure.COUNT:
        # A bare number of evidence may be in any unit: bytes, milliseconds, a ratio, or percent without its sign.
        bare = (known.value, known.value / 100, known.value / 1000, known.value / 1e6, known.value * 1024, known.value / 1e9)
        wanted = claimed.sizes() if claimed.measure is not Measure.COUNT else (claimed.value,)
        candidates = bare if claimed.measure is not Measure.COUNT else (known.value, known.value * 100)
        return any(_is_near(size, other, claimed) for size in wanted for other in candidates)
    return claimed.measure is Measure.COUNT and _is_near(claimed.value, known.value, claimed)


def _is_near(size: float, other: float, claimed: Quantity) -> bool:
    scale = size / claimed.value if claimed.value else 1.0
    slack = claimed.step * scale * 0.5001
    if claimed.is_rough:
        slack = max(slack, _ROUGH * abs(other))
    elif claimed.measure is Measure.BYTES:
        slack = max(slack, 0.005 * abs(other))
    return abs(size - other) <= slack
