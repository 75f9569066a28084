"""The one verdict about a shell command: what it can change, whether it ends, what it reveals and whom it reaches."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NamedTuple


class Intent(StrEnum):
    CERTAIN = "read_only_certain"  # cannot change anything, by construction
    CONDITIONAL = "read_only_conditional"  # shown to be reading by looking at what it was given
    WRITE = "write_or_unknown"  # changes something, or nobody has shown that it does not


class Risk(StrEnum):
    READ_ONLY = "read_only"
    LOW = "low"  # only the caller's own passing state
    MEDIUM = "medium"
    HIGH = "high"


class Category(StrEnum):
    """Why a command may never end."""

    TTY = "tty_flag"
    PAGER = "pager"
    STREAM = "unbounded_stream"
    REPL = "interactive_repl"


class Phase(IntEnum):
    """The order in which rules decide: an earlier phase that finds a write is never outvoted by a later one."""

    GUARD = 1  # constructs that can change something whatever the programs are
    WRITE = 2  # programs, verbs and options known to change something
    READ = 3  # programs that only read, by construction
    INSPECT = 4  # programs whose content was looked into
    UNKNOWN = 5  # the rest


_INTENTS = {Intent.CERTAIN: 0, Intent.CONDITIONAL: 1, Intent.WRITE: 2}
_RISKS = {Risk.READ_ONLY: 0, Risk.LOW: 1, Risk.MEDIUM: 2, Risk.HIGH: 3}


_WRITE = Intent.WRITE


class Finding(NamedTuple):
    """What one rule says of one part of a command. A tuple, because there is one for every part."""

    intent: Intent
    rule: str
    phase: Phase
    risk: Risk = Risk.READ_ONLY
    part: str = ""
    """The words it speaks of."""
    endless: Category | None = None
    sensitive: tuple[str, ...] = ()
    egress: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    @property
    def writes(self) -> bool:
        return self.intent is _WRITE


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    command: str
    intent: Intent
    risk: Risk
    rule: str
    """The id of the rule that decided."""
    endless: Category | None = None
    """Why it may never end; None when it ends by itself or has a bound."""
    secrets: tuple[str, ...] = ()
    """Which secrets it would show."""
    egress: tuple[str, ...] = ()
    """Hosts it would reach."""
    targets: tuple[str, ...] = ()
    """Containers, pods, guests and hosts it enters, as `kind:name`."""
    rewrite: str | None = None
    """A command that ends and shows much the same, already classified as reading."""
    findings: tuple[Finding, ...] = ()
    """Every part with the rule that spoke of it, in order."""

    @property
    def reads(self) -> bool:
        return self.intent is not Intent.WRITE

    @property
    def kind(self) -> str:
        return "read" if self.reads else "write"

    @property
    def bounded(self) -> bool:
        return self.endless is None

    @property
    def sensitive(self) -> bool:
        return bool(self.secrets)


def read_finding(rule: str, *, part: str = "", conditional: bool = False) -> Finding:
    intent, phase = (Intent.CONDITIONAL, Phase.INSPECT) if conditional else (Intent.CERTAIN, Phase.READ)
    return Finding(intent, rule, phase, part=part)


def write_finding(rule: str, *, phase: Phase = Phase.WRITE, risk: Risk = Risk.MEDIUM, part: str = "") -> Finding:
    return Finding(Intent.WRITE, rule, phase, risk, part)


def worst_risk(risks: Iterable[Risk]) -> Risk:
    return max(risks, key=_RISKS.__getitem__, default=Risk.READ_ONLY)


def deciding(findings: Iterable[Finding]) -> Finding:
    """The finding that names the verdict: the worst intent, then the earliest phase, then the highest risk."""
    return max(findings, key=_weight)


def _weight(found: Finding) -> tuple[int, int, int, bool]:
    return _INTENTS[found.intent], -found.phase, _RISKS[found.risk], found.rule.startswith("read:")
