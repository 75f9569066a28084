"""Is this command provably only looking? One pure function, one verdict, for every layer."""

from dataclasses import replace

from midwatch.safety.shell.inquiry import Inquiry
from midwatch.safety.shell.rewriting import propose
from midwatch.safety.shell.verdict import (
    Finding,
    Phase,
    Risk,
    Verdict,
    deciding,
    read_finding,
    worst_risk,
    write_finding,
)

_NO_RISK = Risk.READ_ONLY
_SHELLS = {"bash": True, "sh": False}


def classify(command: str, *, shell: str = "bash") -> Verdict:
    """What `command` would do when `shell` (bash or sh) ran it. Whatever is not shown to read is a write."""
    inquiry = Inquiry.open()
    if shell in _SHELLS:
        inquiry.inquire(command, bash=_SHELLS[shell])
    else:
        inquiry.note(write_finding("guard:unknown-shell", phase=Phase.GUARD, part=shell))
    verdict = conclude(command, inquiry.findings)
    if verdict.endless is None or not inquiry.endless:
        return verdict
    return _with_rewrite(verdict, inquiry, shell=shell)


def conclude(command: str, findings: list[Finding]) -> Verdict:
    """Guards and writes dominate: one of them outweighs any number of readings."""
    findings = findings or [read_finding("read:nothing")]
    first = findings[0] if len(findings) == 1 else deciding(findings)
    endless, secrets, egress, targets = None, (), (), ()
    for found in findings:
        endless = endless or found.endless
        secrets, egress, targets = secrets + found.sensitive, egress + found.egress, targets + found.targets
    return Verdict(
        command=command,
        intent=first.intent,
        risk=worst_risk(found.risk for found in findings) if first.writes else _NO_RISK,
        rule=first.rule,
        endless=endless,
        secrets=_distinct(secrets),
        egress=_distinct(egress),
        targets=_distinct(targets),
        findings=tuple(findings),
    )


def _with_rewrite(verdict: Verdict, inquiry: Inquiry, *, shell: str) -> Verdict:
    """A proposal counts only when it reads and ends by this very judgement."""
    text = propose(verdict.command, inquiry.endless)
    if text is None:
        return verdict
    second = Inquiry.open()
    second.inquire(text, bash=_SHELLS[shell])
    outcome = conclude(text, second.findings)
    return replace(verdict, rewrite=text) if outcome.reads and outcome.bounded else verdict


def _distinct(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts)) if texts else ()
