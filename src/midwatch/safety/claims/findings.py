"""What an inspection of a reply comes to."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

_LONGEST: Final = 200


class FindingKind(StrEnum):
    ACTION = "action"  # said to be done, and not on record: withheld
    IMITATION = "imitation"  # a tool call written as text, which nobody made: withheld
    STATE = "state"  # said to be so, and nothing seen says it: marked
    MEASUREMENT = "measurement"  # a figure that nothing seen contains: marked

    @property
    def is_phantom(self) -> bool:
        return self in (FindingKind.ACTION, FindingKind.IMITATION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    kind: FindingKind
    start: int
    end: int
    """Of the sentence, in the text that was inspected."""
    sentence: str
    reason: str
    action: str = ""
    """The verb that was claimed, in its base form; for other kinds the word or figure that is meant."""
    target: str = ""
    """What the sentence says it was done to, as it says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    findings: tuple[Finding, ...]
    """In the order of the text."""
    safe_text: str
    """The text with phantoms replaced and unsupported statements marked; the text itself when there is nothing."""

    @property
    def has_phantom(self) -> bool:
        return any(finding.kind.is_phantom for finding in self.findings)

    def describe(self) -> dict[str, Any]:
        """For whoever reads the timeline. Empty when there is nothing to tell."""
        if not self.findings:
            return {}
        withheld = [_describe(finding) for finding in self.findings if finding.kind.is_phantom]
        marked = Counter(str(finding.kind) for finding in self.findings if not finding.kind.is_phantom)
        return {"claims": {"withheld": withheld, "marked": dict(marked)}}


def _describe(finding: Finding) -> dict[str, str]:
    return {
        "kind": finding.kind,
        "action": finding.action,
        "target": finding.target[:_LONGEST],
        "reason": finding.reason,
        "sentence": finding.sentence[:_LONGEST],
    }
