"""What is kept and shown of how a call was judged. What goes without saying is left out, and filled in on reading."""

from collections.abc import Mapping
from typing import Any, Final

from midwatch.domain.tools import Clearance, Refusal, ToolKind
from midwatch.safety.claims.findings import Inspection

_LOOKS: Final = (ToolKind.READ, ToolKind.RESOLVE)
_NO_RISK: Final = "read_only"
_UNJUDGED: Final = "unknown"


def describe_clearance(clearance: Clearance, *, verified: tuple[str, ...] = ()) -> dict[str, Any]:
    verdict: dict[str, Any] = {"kind": clearance.kind, "proven": clearance.proven, "rule": clearance.rule}
    further = {
        "policy_rule": None if clearance.policy_rule == clearance.rule else clearance.policy_rule,
        "risk": None if clearance.kind in _LOOKS else clearance.risk,
        "observed": clearance.observed,
        "read_as": clearance.read_as,
        "began": None if clearance.ticket is None else clearance.ticket.began,
        "verified": list(verified) or None,
    }
    return verdict | {name: word for name, word in further.items() if word is not None}


def describe_refusal(refusal: Refusal, judged: Mapping[str, Any]) -> dict[str, Any]:
    return {"refused": refusal.code, **judged}


def describe_withdrawal(why: Refusal | Inspection) -> dict[str, Any]:
    """Of a reply that was not accepted as a conclusion."""
    return {"withdrawn": why.code} if isinstance(why, Refusal) else {"withdrawn": "PHANTOM_CLAIM", **why.describe()}


def show_verdict(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Kind, risk and rule, for people."""
    kind = verdict.get("kind")
    rule = verdict.get("policy_rule") or verdict.get("rule")
    risk = _NO_RISK if kind in _LOOKS else verdict.get("risk") or (_UNJUDGED if kind else None)
    observed = verdict.get("observed")
    facts = {"kind": kind, "risk": risk, "policy_rule": rule, "observed": observed}
    return {name: fact for name, fact in facts.items() if fact is not None}
