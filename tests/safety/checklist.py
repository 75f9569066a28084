"""What whoever changes tools, the machine, the loop or the rules has to keep, line by line, and what proves it.

The lines stand in `src/midwatch/safety/AGENTS.md` under the same ids. `scripts/checklist.py` compares all three.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Line:
    proven_by: tuple[str, ...] = ()
    """Requirements, each of which has its tests."""
    missing: str | None = None
    """Why nothing proves it yet."""


def _proven(*requirements: str) -> Line:
    return Line(proven_by=requirements)


CHECKLIST: Mapping[str, Line] = {
    "checklist:never:act-unfound": _proven("context:strict", "machine:look-before-change"),
    "checklist:never:loop-without-gates": _proven("gate:session-decides", "conclusion:refused"),
    "checklist:never:unknown-is-read": _proven("kind:unknown-is-write", "shell:unknown-is-write"),
    "checklist:never:store-context": _proven("context:memory-only"),
    "checklist:never:reset-halves": _proven("context:reset-together", "context:debts-survive"),
    "checklist:never:trust-claims": _proven("claims:on-record", "claims:only-success"),
    "checklist:never:read-as-write": _proven("kind:operator-first", "machine:reads-unlimited"),
    "checklist:never:host-for-guest": _proven(
        "routing:host-refused", "routing:mention-arms", "routing:selection-arms", "routing:get-arms"
    ),
    "checklist:never:plead": _proven("envelope:promised-details", "envelope:known-codes"),
    "checklist:never:silent-block": _proven("telemetry:refusal-counted-once"),
    "checklist:tools:envelope": _proven("envelope:known-codes", "envelope:unknown-is-failed"),
    "checklist:tools:classified": _proven("tools:declared", "kind:unknown-is-write"),
    "checklist:tools:reads-are-reads": _proven("tools:declared", "policy:read-allowed"),
    "checklist:tools:writes-need-targets": _proven("machine:look-before-change", "context:strict"),
    "checklist:tools:writes-verified": _proven("machine:verify-after-change"),
    "checklist:tools:routed": _proven("routing:host-refused", "routing:things-on-hosts"),
    "checklist:tools:counted": _proven("telemetry:refusal-counted-once"),
    "checklist:tools:tested": _proven("tools:declared"),
    "checklist:machine:write-read-write": _proven("machine:write-read-write"),
    "checklist:machine:reads-verify": _proven("machine:only-reads-verify", "machine:read-after-end"),
    "checklist:machine:clean-cycle": _proven("machine:write-read-write", "machine:unsent-moves-nothing"),
    "checklist:machine:in-code": _proven("machine:verify-after-change", "machine:entered-in-one-step"),
    "checklist:machine:all-tests": _proven("manifest:both-ways"),
    "checklist:loop:before-every-call": _proven("gate:session-decides", "gate:entered-before-waiting"),
    "checklist:loop:before-the-answer": _proven("conclusion:refused", "conclusion:withdrawn"),
    "checklist:loop:told-of-success": _proven("gate:outcomes"),
    "checklist:loop:verification-ends": _proven("machine:only-reads-verify", "gate:outcomes"),
    "checklist:loop:claims-compared": _proven("claims:on-record", "claims:resumed"),
    "checklist:loop:recovery-counted": _proven("telemetry:recovery-same-labels"),
    "checklist:resolution:found-first": _proven("context:strict"),
    "checklist:resolution:reading-commands": _proven("context:reading-commands"),
    "checklist:resolution:says-how": _proven("envelope:promised-details"),
    "checklist:resolution:risk-at-the-edges": _proven("shell:redirects", "shell:pipes", "shell:risk"),
    "checklist:resolution:counted": _proven("telemetry:refusal-counted-once"),
    "checklist:release:blocked-changes": _proven("telemetry:rules-ship"),
    "checklist:release:blocked-answers": _proven("telemetry:rules-ship"),
    "checklist:release:recovery-rate": _proven("telemetry:rules-ship", "telemetry:recovery-same-labels"),
}
