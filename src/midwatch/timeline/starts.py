"""A change that starts: the person's yes that it uses up, and why it may not. Pure."""

from midwatch.domain.tools import Clearance, Refusal
from midwatch.safety.refusals import Code, build_refusal
from midwatch.store.calls import NotStarted, Start, Yes


def find_yes(clearance: Clearance) -> Yes | None:
    if clearance.approval_id is None or clearance.approval_digest is None:
        return None
    return Yes(approval_id=clearance.approval_id, digest=clearance.approval_digest)


def explain_not_started(refused: NotStarted, clearance: Clearance) -> Refusal:
    if refused.why is Start.APPROVAL_SPENT:
        return build_refusal(
            Code.APPROVAL_STALE, "the yes was used before, or is too old by now", details={"changed": ["used"]}
        )
    if refused.why is Start.STOPPED:
        return Refusal(
            code="EMERGENCY_STOP",
            reason="every change is stopped by an operator",
            hint="Do not try again. Finish the analysis with what you know and say that changes are stopped.",
        )
    return Refusal(
        code="TARGET_BUSY",
        reason="the target is being changed, or an earlier change of it has an unknown outcome",
        hint="Read the target's state first; try the change again later only if it is still needed.",
        details={"targets": list(clearance.targets)},
    )
