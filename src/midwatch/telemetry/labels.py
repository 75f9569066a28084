"""Values of labels, safe to print and few: what is unknown or too many is counted as `other`."""

import re
import unicodedata
from dataclasses import dataclass, field

OTHER = "other"
UNKNOWN = "unknown"
MOST_VALUES = 50
_LONGEST = 64
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Label:
    name: str
    known: frozenset[str] | None = None
    """All the values it may have; None: any, up to `most`."""
    most: int = MOST_VALUES


@dataclass(slots=True)
class Admission:
    """The values that one label of one series has taken so far."""

    label: Label
    _seen: set[str] = field(default_factory=set[str])

    def admit(self, value: str) -> str:
        cleaned = clean_value(value)
        known = self.label.known
        if known is not None:
            return cleaned if cleaned in known else OTHER
        if cleaned in self._seen:
            return cleaned
        if len(self._seen) >= self.label.most:
            return OTHER
        self._seen.add(cleaned)
        return cleaned


def clean_value(value: str) -> str:
    """One short word: no blanks, and no characters that a terminal or a parser would act on."""
    # Cut first: the name of a tool that a model made up may be very long.
    joined = _BLANKS.sub("_", value[: 4 * _LONGEST].strip())
    visible = "".join(character for character in joined if unicodedata.category(character)[0] != "C")
    return visible[:_LONGEST] or UNKNOWN
