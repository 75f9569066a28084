"""Kind and risk of a call from all that is known of it. Every further witness can only make them graver."""

from collections.abc import Mapping
from typing import Any

from midwatch.domain.tools import ToolKind
from midwatch.safety.kinds import KindVerdict
from midwatch.safety.shell.verdict import Phase, Risk, Verdict, worst_risk


def raise_kind(kind: KindVerdict, command: Verdict | None) -> KindVerdict:
    """A tool that reads does not make a reading of the command it is given."""
    if command is None or command.reads or kind.kind not in (ToolKind.READ, ToolKind.RESOLVE):
        return kind
    is_known = any(finding.writes and finding.phase is not Phase.UNKNOWN for finding in command.findings)
    return KindVerdict(kind=ToolKind.WRITE, proven=is_known, rule=f"shell:{command.rule}")


def assess_risk(kind: ToolKind, *, annotations: Mapping[str, Any], command: Verdict | None = None) -> Risk | None:
    """None for a change that nobody has judged. A server's word that its tool destroys nothing counts for nothing."""
    if kind in (ToolKind.READ, ToolKind.RESOLVE):
        return Risk.READ_ONLY
    risks = [] if command is None or command.reads else [command.risk]
    if annotations.get("destructiveHint") is True:
        risks.append(Risk.HIGH)
    return worst_risk(risks) if risks else None
