"""What becomes of a stage whose agents have all come to an end. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from midwatch.domain.session import SuccessPolicy, WorkStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEnd:
    agent: str
    status: WorkStatus
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    status: WorkStatus
    error: str | None = None


def judge(policy: SuccessPolicy, ends: Sequence[AgentEnd]) -> Verdict:
    """Agents that failed in different ways make a stage that failed; in one way, a stage that ended that way."""
    unsuccessful = [end for end in ends if end.status is not WorkStatus.COMPLETED]
    is_enough = not unsuccessful if policy is SuccessPolicy.ALL else len(unsuccessful) < len(ends)
    if is_enough:
        return Verdict(status=WorkStatus.COMPLETED)
    ways = {end.status for end in unsuccessful}
    status = ways.pop() if len(ways) == 1 else WorkStatus.FAILED
    return Verdict(status=status, error=_explain(unsuccessful, of=len(ends)))


def _explain(unsuccessful: Sequence[AgentEnd], *, of: int) -> str:
    reasons = [end.error or "no reason is known" for end in unsuccessful]
    if of == 1:
        return reasons[0]
    told = "; ".join(f"{end.agent} {end.status}: {why}" for end, why in zip(unsuccessful, reasons, strict=True))
    return f"{len(unsuccessful)} of {of} agents did not succeed: {told}"
