"""Every way a call is turned down or comes to nothing: its stable code, what it says, and what a model can do then."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from midwatch.domain.tools import Refusal
from midwatch.kit.json import encode_text

_GO_ON = "Go on with tools that read. Propose the change in your analysis, with the exact call and why it would help."
_NO_DETOUR = (
    "Do not try again, and do not look for another way to the same effect. Say in your analysis what is missing."
)


class Code(StrEnum):
    STRICT_RESOLUTION = "STRICT_RESOLUTION"
    AMBIGUOUS_TARGET = "AMBIGUOUS_TARGET"
    FSM_BLOCKED = "FSM_BLOCKED"
    ROUTING_MISMATCH = "ROUTING_MISMATCH"
    EXECUTION_CONTEXT_UNAVAILABLE = "EXECUTION_CONTEXT_UNAVAILABLE"
    NOT_FOUND = "NOT_FOUND"
    NO_AGENT = "NO_AGENT"
    TOOL_NOT_FOUND = "TOOL_NOT_FOUND"
    INVALID_INPUT = "INVALID_INPUT"
    MASKED_VALUE_IN_WRITE = "MASKED_VALUE_IN_WRITE"
    ACTION_NOT_ALLOWED = "ACTION_NOT_ALLOWED"
    POLICY_BLOCKED = "POLICY_BLOCKED"
    READ_ONLY_VIOLATION = "READ_ONLY_VIOLATION"
    SENSITIVE_COMMAND = "SENSITIVE_COMMAND"
    EGRESS_BLOCKED = "EGRESS_BLOCKED"
    EMERGENCY_STOP = "EMERGENCY_STOP"
    TARGET_BUSY = "TARGET_BUSY"
    APPROVAL_REQUIRED = "APPROVAL_REQUIRED"
    APPROVAL_DENIED = "APPROVAL_DENIED"
    APPROVAL_EXPIRED = "APPROVAL_EXPIRED"
    APPROVAL_STALE = "APPROVAL_STALE"
    NOT_APPROVABLE = "NOT_APPROVABLE"
    LOOP_DETECTED = "LOOP_DETECTED"
    CANCELLED_BY_PERSON = "CANCELLED_BY_PERSON"
    NOT_DISPATCHED = "NOT_DISPATCHED"
    EXECUTION_FAILED = "EXECUTION_FAILED"
    TOOL_ERROR = "TOOL_ERROR"
    PROTOCOL_ERROR = "PROTOCOL_ERROR"
    TIMEOUT = "TIMEOUT"
    TRANSPORT_ERROR = "TRANSPORT_ERROR"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeFacts:
    meaning: str
    hint: str
    """What a model can do about it, unless whoever refuses knows better."""
    blocked: bool = True
    """Code said no and nothing was sent. Otherwise the call ran and failed."""
    retryable: bool = False
    """The same call may pass later, just as it is."""
    auto_recoverable: bool = False
    """The model can put it right by itself, by the hint alone."""
    details: tuple[str, ...] = ()
    """What a refusal with this code always says besides."""


CODES: Mapping[Code, CodeFacts] = {
    Code.STRICT_RESOLUTION: CodeFacts(
        meaning="The target of a change was never found by a discovery in this session.",
        hint="Find the target with a tool that lists or gets it, then make the call again with what was found.",
        auto_recoverable=True,
        details=("resource_id", "action"),
    ),
    Code.AMBIGUOUS_TARGET: CodeFacts(
        meaning="The name fits more than one thing.",
        hint="Name one of the candidates by its whole id.",
        auto_recoverable=True,
        details=("resource_id", "candidates"),
    ),
    Code.FSM_BLOCKED: CodeFacts(
        meaning="What happened before does not allow this step yet: look before a change, and again after it.",
        hint="Read each of the targets, one by one, then go on.",
        auto_recoverable=True,
        details=("state", "targets"),
    ),
    Code.ROUTING_MISMATCH: CodeFacts(
        meaning="The call goes to a host, but something that runs on it was meant.",
        hint="Make the call on the more specific resource.",
        auto_recoverable=True,
        details=("target_host", "more_specific_resources", "more_specific_resource_ids", "target_resource_id"),
    ),
    Code.EXECUTION_CONTEXT_UNAVAILABLE: CodeFacts(
        meaning="There is no way to act inside the target, and acting on its host instead would be something else.",
        hint="Do not act on the host in its place. Say in your analysis that the target cannot be reached.",
    ),
    Code.NOT_FOUND: CodeFacts(
        meaning="The target does not exist.",
        hint="Look up what exists and use a name from there.",
    ),
    Code.NO_AGENT: CodeFacts(
        meaning="No host agent is connected for the target.",
        hint="Use other tools. Say in your analysis that the host cannot be reached.",
    ),
    Code.TOOL_NOT_FOUND: CodeFacts(
        meaning="There is no such tool.",
        hint="Call one of the tools you were given, by its exact name.",
    ),
    Code.INVALID_INPUT: CodeFacts(
        meaning="The arguments cannot be used.",
        hint="Nothing was sent. Correct the arguments and call the tool again.",
    ),
    Code.MASKED_VALUE_IN_WRITE: CodeFacts(
        meaning="The arguments of a change hold a placeholder that stands for a hidden secret.",
        hint=(
            "Nothing was sent: it would have put the placeholder where the secret is. Leave that field as it is, or "
            "refer to the secret by its name. If it needs the value itself, propose the change in your analysis for "
            "a person."
        ),
        details=("places",),
    ),
    Code.ACTION_NOT_ALLOWED: CodeFacts(
        meaning="The target does not offer this action.",
        hint=_GO_ON,
        details=("resource_id", "action", "allowed_actions"),
    ),
    Code.POLICY_BLOCKED: CodeFacts(
        meaning="A rule of the operator says no, or none says yes.",
        hint=_GO_ON,
    ),
    Code.READ_ONLY_VIOLATION: CodeFacts(
        meaning="The control level allows no changes, and this is one or is not known to be none.",
        hint=_GO_ON,
    ),
    Code.SENSITIVE_COMMAND: CodeFacts(
        meaning="The call would show secrets.",
        hint="Look for the cause without it: names, dates and sizes of such files and keys can be read.",
    ),
    Code.EGRESS_BLOCKED: CodeFacts(
        meaning="The call would reach an address outside the allowed ones.",
        hint="Use tools that need no such connection, or an allowed destination.",
        details=("destinations",),
    ),
    Code.EMERGENCY_STOP: CodeFacts(
        meaning="An operator has stopped every change.",
        hint="Do not try again. Finish the analysis with what you know and say that changes are stopped.",
    ),
    Code.TARGET_BUSY: CodeFacts(
        meaning="The target is being changed, or an earlier change of it has an unknown outcome.",
        hint="Read the target's state first; try the change again later only if it is still needed.",
        retryable=True,
        details=("targets",),
    ),
    Code.APPROVAL_REQUIRED: CodeFacts(
        meaning="A person has to say yes first.",
        hint="Do not try again. Propose the change in your analysis, so that a person can make it.",
    ),
    Code.APPROVAL_DENIED: CodeFacts(
        meaning="A person said no.",
        hint=_NO_DETOUR,
    ),
    Code.APPROVAL_EXPIRED: CodeFacts(
        meaning="Nobody said yes in time, which is a no, or the yes was too old to be used.",
        hint=_NO_DETOUR,
    ),
    Code.APPROVAL_STALE: CodeFacts(
        meaning="What was approved is not what would run now.",
        hint="Nothing was sent. Look at the target again; if the change is still needed, make the call once more.",
        details=("changed",),
    ),
    Code.NOT_APPROVABLE: CodeFacts(
        meaning="A person cannot be shown all that this call would do.",
        hint="Make a call whose whole effect stands in its arguments.",
        details=("files",),
    ),
    Code.LOOP_DETECTED: CodeFacts(
        meaning="The same call was made again and again.",
        hint="Use the results you have, or ask something else.",
    ),
    Code.CANCELLED_BY_PERSON: CodeFacts(
        meaning="A person watching ended this one call.",
        hint="Do not call it again. Go on with what you have, and say in your analysis what is missing for it.",
    ),
    Code.NOT_DISPATCHED: CodeFacts(
        meaning="The call was never sent.",
        hint="Call the tool again if its answer is still needed.",
        retryable=True,
    ),
    Code.EXECUTION_FAILED: CodeFacts(
        meaning="The call ran and failed, for a reason that has no code of its own.",
        hint="Read what it says before you try anything else.",
        blocked=False,
    ),
    Code.TOOL_ERROR: CodeFacts(
        meaning="The tool or its server said that the call failed.",
        hint="Read what it says; correct the call or use another tool.",
        blocked=False,
    ),
    Code.PROTOCOL_ERROR: CodeFacts(
        meaning="The server's answer is not what its protocol allows.",
        hint="Use another tool.",
        blocked=False,
    ),
    Code.TIMEOUT: CodeFacts(
        meaning="No answer came in time.",
        hint="Ask for less, or use another tool. A change may have been made: read its target.",
        blocked=False,
        retryable=True,
    ),
    Code.TRANSPORT_ERROR: CodeFacts(
        meaning="The connection to the server broke, or could not be made.",
        hint="Use another server's tools. A change may have been made: read its target.",
        blocked=False,
        retryable=True,
    ),
    Code.OUTCOME_UNKNOWN: CodeFacts(
        meaning="The worker that sent the call stopped before the answer came.",
        hint="It is not sent again. Read the target before you change anything.",
        blocked=False,
    ),
}


def build_refusal(
    code: Code, reason: str, *, hint: str | None = None, details: Mapping[str, Any] | None = None
) -> Refusal:
    """Facts only: what was wrong, and what would put it right. Raises ValueError when a promised detail is missing."""
    facts = CODES[code]
    told = dict(details or {})
    if missing := [name for name in facts.details if name not in told]:
        raise ValueError(f"{code} always says {', '.join(missing)}")
    advice = facts.hint if hint is None else hint
    if facts.auto_recoverable:
        told |= {"recovery_hint": advice, "auto_recoverable": True}
    return Refusal(code=code, reason=reason, hint=advice, details=told)


def name_failure(code: str | None) -> Code:
    """What is not in the table failed for reasons of its own."""
    return Code(code) if code in CODES else Code.EXECUTION_FAILED


def render_refusal(refusal: Refusal) -> str:
    """The envelope a model reads, as compact JSON. What is false or empty is left out."""
    facts = CODES[name_failure(refusal.code)]
    error = {"code": refusal.code, "message": refusal.reason, "blocked": True}
    further = {"retryable": facts.retryable, "hint": refusal.hint, "details": dict(refusal.details)}
    return encode_text({"ok": False, "error": error | {name: value for name, value in further.items() if value}})


def render_failure(code: str | None, message: str) -> str:
    """The same envelope for a call that ran."""
    known = name_failure(code)
    facts = CODES[known]
    stated = {"code": known, "message": message, "failed": not facts.blocked, "blocked": facts.blocked}
    further = {"retryable": facts.retryable, "hint": facts.hint}
    return encode_text({"ok": False, "error": {name: value for name, value in (stated | further).items() if value}})
