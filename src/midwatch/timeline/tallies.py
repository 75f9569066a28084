"""What one execution adds to the counters. Each thing is counted once, after the commit that makes it so."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from midwatch.domain.messages import Usage
from midwatch.domain.timeline import InteractionType
from midwatch.domain.tools import ClearedCall, Refusal, ToolCall, ToolKind, ToolResult
from midwatch.safety.claims.findings import Inspection
from midwatch.safety.refusals import CODES, Code, name_failure
from midwatch.safety.resources import split_id
from midwatch.telemetry import series
from midwatch.telemetry.labels import OTHER
from midwatch.telemetry.metrics import UNMETERED, Meters
from midwatch.timeline.asides import Replacement
from midwatch.timeline.replies import RepliedTurn

_PHANTOM_CLAIM = ("PHANTOM_CLAIM", "conclusion")


@dataclass(slots=True, kw_only=True)
class Tally:
    meters: Meters = UNMETERED
    model: tuple[str, str] = ("", "")
    """The provider and the name of the one that spoke last."""
    _open: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """By tool: the codes of refusals that its model can put right and has not yet."""

    def count_refusal(self, call: ToolCall, refusal: Refusal) -> None:
        code, tool = name_failure(refusal.code), _name_tool(call, refusal)
        self.meters.count(series.REFUSALS, (code, tool))
        _count_particulars(self.meters, code, refusal, tool=tool)
        if CODES[code].auto_recoverable:
            self.meters.count(series.RECOVERY_ATTEMPTS, (code, tool))
            self._open.setdefault(tool, set()).add(code)

    def count_withdrawal(self, why: Refusal | Inspection) -> None:
        """Of a conclusion that was not accepted, and that the model may put right."""
        if isinstance(why, Refusal):
            self.meters.count(series.FSM_FINAL_BLOCKS, (_text(why.details, "state"),))
        else:
            self.count_phantom(why)
            self.meters.count(series.RECOVERY_ATTEMPTS, _PHANTOM_CLAIM)

    def count_phantom(self, inspection: Inspection) -> None:
        """Each reply with false claims once, and each claim in it."""
        self.meters.count(series.PHANTOMS, self.model)
        for finding in inspection.findings:
            self.meters.count(series.CLAIMS, (finding.kind,))

    def count_correction(self) -> None:
        self.meters.count(series.RECOVERY_SUCCESSES, _PHANTOM_CLAIM)

    def count_result(self, cleared: ClearedCall, result: ToolResult, *, seconds: float) -> None:
        tool = cleared.tool
        self.meters.count(series.TOOL_CALLS, (tool.server, tool.name))
        self.meters.observe(series.TOOL_SECONDS, (tool.server, tool.name), seconds=seconds)
        if result.error is not None:
            self.meters.count(series.TOOL_ERRORS, (tool.server, tool.name, name_failure(result.error)))
            return
        for code in sorted(self._open.pop(tool.full_name, ())):
            self.meters.count(series.RECOVERY_SUCCESSES, (code, tool.full_name))

    def count_reply(self, reply: RepliedTurn) -> None:
        self._count_model_call(reply)
        if reply.interaction_type is not InteractionType.SUMMARIZATION:
            self.model = (reply.provider, reply.model)
            self.meters.count(series.ITERATIONS, self.model)

    def count_failed_reply(self, reply: RepliedTurn, *, code: str) -> None:
        self._count_model_call(reply)
        self.meters.count(series.MODEL_ERRORS, (reply.provider, reply.model, code))

    def count_fallback(self, fallback: Replacement) -> None:
        self.meters.count(series.FALLBACKS, (fallback.from_provider, fallback.to_provider))

    def _count_model_call(self, reply: RepliedTurn) -> None:
        model = (reply.provider, reply.model)
        self.meters.count(series.MODEL_CALLS, model)
        self.meters.observe(series.MODEL_SECONDS, model, seconds=reply.duration_ms / 1000)
        for kind, tokens in _list_tokens(reply.usage):
            if tokens:
                self.meters.count(series.TOKENS, (*model, kind), by=tokens)


def _count_particulars(meters: Meters, code: Code, refusal: Refusal, *, tool: str) -> None:
    details = refusal.details
    match code:
        case Code.FSM_BLOCKED:
            # Only changes are ever refused for what happened before.
            kind = _text(details, "kind", default=ToolKind.WRITE)
            meters.count(series.FSM_TOOL_BLOCKS, (_text(details, "state"), tool, kind))
        case Code.STRICT_RESOLUTION:
            meters.count(series.STRICT_BLOCKS, (tool, _text(details, "action")))
        case Code.ROUTING_MISMATCH:
            child = split_id(_text(details, "target_resource_id"))
            child_kind = "" if child is None else child.kind
            meters.count(series.ROUTING_BLOCKS, (tool, _text(details, "target_kind"), child_kind))
        case _:
            pass


def _name_tool(call: ToolCall, refusal: Refusal) -> str:
    """A name that the model made up is no tool's."""
    return OTHER if refusal.code == Code.TOOL_NOT_FOUND else call.name


def _text(details: Mapping[str, Any], key: str, *, default: str = "") -> str:
    return str(details.get(key) or default)


def _list_tokens(usage: Usage) -> tuple[tuple[str, int], ...]:
    return (
        ("input", usage.input_tokens),
        ("output", usage.output_tokens),
        ("thinking", usage.thinking_tokens),
        ("cache_read", usage.cache_read_tokens),
        ("cache_write", usage.cache_write_tokens),
    )
