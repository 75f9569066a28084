"""The only thing an agent is given: decides on every call, in code, before anything is asked of a tool.

What it decides by is the operator's, and the session's: what was found, meant, changed and looked at in it, by all of
its agents together. From the decision to the entry of a change there is no await, so no call slips in between.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, final
from uuid import UUID

import structlog

from midwatch.domain.safety import SafetyMode
from midwatch.domain.tools import (
    Clearance,
    ClearedCall,
    Refusal,
    Ticket,
    ToolCall,
    ToolDefinition,
    ToolKind,
    ToolResult,
    Waiting,
)
from midwatch.kit.json import encode_text
from midwatch.masking.placeholders import find_placeholders
from midwatch.safety.kinds import UNKNOWN, KindVerdict, decide_kind
from midwatch.safety.machine import Outcome
from midwatch.safety.pins import CHANGED, needs_pin
from midwatch.safety.policy import Stance, refuse_masked_values, refuse_unknown_tool
from midwatch.safety.rules import Allow, Ask, Refuse
from midwatch.safety.session import SessionSafety
from midwatch.tools.appraisal import Appraisal, Rewrite, ServerRules, appraise, find_rewrite, judge_kind
from midwatch.tools.arguments import Arguments, read_arguments
from midwatch.tools.consent import Consent, ConsentRequest, Granted, NoConsent
from midwatch.tools.journal import CallJournal
from midwatch.tools.toolset import Toolset

CALL_SECONDS = 90.0

_STRICTEST = ServerRules()

log = structlog.get_logger()


class Pins(Protocol):
    async def find_changed(self, tools: Sequence[ToolDefinition]) -> Collection[str]:
        """Full names of the tools that are not what they were when they were first seen. Raises StoreUnavailable."""
        ...


@final
class NoPins:
    """Every tool is taken for what it says now."""

    async def find_changed(self, tools: Sequence[ToolDefinition]) -> Collection[str]:  # noqa: ARG002 - none is held
        return ()


def _as_it_is(tool: ToolDefinition) -> ToolDefinition:
    return tool


@final
@dataclass(slots=True, kw_only=True)
class Gate:
    inner: Toolset
    journal: CallJournal
    stance: Stance
    rules: Mapping[str, ServerRules]
    """By server id; a server without any gets the strictest."""
    safety: SessionSafety = field(default_factory=SessionSafety)
    """Shared by all that is at work in the session."""
    owner: UUID | None = None
    """The execution whose calls these are."""
    consent: Consent = field(default_factory=NoConsent)
    pins: Pins = field(default_factory=NoPins)
    timeout: float = CALL_SECONDS
    introduce: Callable[[ToolDefinition], ToolDefinition] = _as_it_is
    """How a model is told of a tool. It is judged by what its server says."""
    changed: frozenset[str] = field(default=frozenset(), init=False)
    """Full names of tools that somebody vouched for when they were something else: they count as unknown."""
    _listed: Mapping[str, ToolDefinition] | None = field(default=None, init=False)

    async def list_tools(self) -> Sequence[ToolDefinition]:
        # A dot in a server's id would have its calls judged as one server's and routed to another.
        listed = {tool.full_name: tool for tool in await self.inner.list_tools() if "." not in tool.server}
        vouched = [tool for tool in listed.values() if self._is_vouched_for(tool)]
        self.changed = frozenset(await self.pins.find_changed(vouched) if vouched else ())
        self._listed = listed
        return [self.introduce(tool) for tool in listed.values()]

    def list_names(self) -> Collection[str]:
        """Of the tools that were listed last."""
        return (self._listed or {}).keys()

    def kind_of(self, call: ToolCall) -> ToolKind:
        """For putting calls in order. What is not listed is a write."""
        tool = (self._listed or {}).get(call.name)
        if tool is None:
            return UNKNOWN.kind
        return judge_kind(tool, self._declare(tool), lambda: read_arguments(call.arguments, tool.schema))

    def refuse_conclusion(self) -> Refusal | None:
        """Why the agent may not be done yet: it has changed something, and nobody has looked at it since."""
        is_observed = self.stance.mode is SafetyMode.OBSERVE
        return None if is_observed else self.safety.machine.refuse_conclusion(owner=self.owner)

    async def call(self, call: ToolCall) -> ToolResult | Waiting:
        if self._listed is None:
            await self.list_tools()
        recalled = await self.consent.recall(call, self.safety, look=self._look)
        if isinstance(recalled, Waiting):
            return recalled
        if isinstance(recalled, Refusal):
            return await self._refuse(call, recalled)
        read = await self._read(call)
        return await self._refuse(call, read) if isinstance(read, Refusal) else await self._decide(call, *read)

    async def _decide(self, call: ToolCall, tool: ToolDefinition, arguments: Arguments) -> ToolResult | Waiting:
        """From the appraisal to the entry nothing is awaited but a person's word, and then all is asked again."""
        appraisal = self._appraise(tool, arguments)
        if isinstance(appraisal, Refusal):
            return await self._refuse(call, appraisal)
        granted: Granted | None = None
        entry = self._enter(call, appraisal)
        if isinstance(entry, Ask):
            answer = await self._seek(call, appraisal, entry)
            if isinstance(answer, Waiting):
                return answer
            granted, entry = (None, answer) if isinstance(answer, Refusal) else (answer, self._begin(appraisal))
        if isinstance(entry, Refusal):
            return await self._refuse(call, entry, appraisal)
        return await self._send(self._clear(call, appraisal, entry=entry, granted=granted), entry.ticket)

    async def _read(self, call: ToolCall) -> tuple[ToolDefinition, Arguments] | Refusal:
        """What is to be called, with what. A command without an end gives way to one that has one, which is told."""
        listed = self._listed or {}
        tool = listed.get(call.name)
        if tool is None:
            return refuse_unknown_tool(call.name, known=listed)
        arguments = read_arguments(call.arguments, tool.schema)
        if isinstance(arguments, Refusal):
            return arguments
        rewrite = None if self.stance.mode is SafetyMode.OBSERVE else find_rewrite(tool, arguments)
        if isinstance(rewrite, Rewrite):
            await self.journal.note_rewrite(call, rewrite.refusal)
            return tool, rewrite.arguments
        return (tool, arguments) if rewrite is None else rewrite

    def _appraise(self, tool: ToolDefinition, arguments: Arguments) -> Appraisal | Refusal:
        return appraise(
            tool,
            arguments,
            declared=self._declare(tool),
            rules=self._rules_of(tool),
            stance=self.stance,
            identify=self.safety.identify,
            knows=lambda text: self.safety.context.find(text) is not None,
        )

    def _enter(self, call: ToolCall, appraisal: Appraisal) -> "_Entry | Refusal | Ask":
        decision = appraisal.decision
        if isinstance(decision, Refuse):
            return decision.refusal
        if not needs_pin(appraisal.kind) and (places := _find_masked(call, appraisal.arguments)):
            return refuse_masked_values(places)
        # Nobody is bothered with what would be refused anyway.
        return (self._object(appraisal) or decision) if isinstance(decision, Ask) else self._begin(appraisal)

    def _object(self, appraisal: Appraisal) -> Refusal | None:
        """What the session has against it, by what was found, meant and done in it before."""
        return self.safety.refuse(
            appraisal.targets, kind=appraisal.kind.kind, action=appraisal.tool.name, enters=appraisal.enters
        )

    def _begin(self, appraisal: Appraisal) -> "_Entry | Refusal":
        """A change is under way from here on."""
        kind, decision = appraisal.kind.kind, appraisal.decision
        if self.stance.mode is SafetyMode.ENFORCE:
            ticket = self.safety.begin(
                appraisal.targets, kind=kind, action=appraisal.tool.name, enters=appraisal.enters, owner=self.owner
            )
            return ticket if isinstance(ticket, Refusal) else _Entry(ticket=ticket, observed=None)
        objection = self._object(appraisal)
        ticket = self.safety.observe(appraisal.targets, kind=kind, owner=self.owner)
        if isinstance(ticket, Refusal):
            return ticket
        observed = decision.observed if isinstance(decision, Allow) else None
        return _Entry(ticket=ticket, observed=observed or (objection and objection.code))

    async def _seek(self, call: ToolCall, appraisal: Appraisal, decision: Ask) -> Granted | Waiting | Refusal:
        request = ConsentRequest(
            call=_as_sent(call, appraisal.arguments),
            tool=appraisal.tool,
            arguments=appraisal.arguments.values,
            targets=appraisal.targets,
            kind=appraisal.kind,
            risk=appraisal.risk,
            decision=decision,
            safety=self.safety,
            contents=appraisal.find_contents(),
        )
        return await self.consent.seek(request, look=self._look)

    def _clear(self, call: ToolCall, appraisal: Appraisal, *, entry: "_Entry", granted: Granted | None) -> ClearedCall:
        clearance = Clearance(
            kind=appraisal.kind.kind,
            proven=appraisal.kind.proven,
            rule=appraisal.kind.rule,
            targets=entry.ticket.targets,
            parent=appraisal.targets[0].parent if appraisal.targets else None,
            timeout=self.timeout,
            observed=entry.observed,
            read_as=appraisal.arguments.read_as,
            is_pinned=granted is not None or (self._rules_of(appraisal.tool).is_pinned and needs_pin(appraisal.kind)),
            policy_rule=appraisal.decision.rule,
            risk=appraisal.risk,
            ticket=entry.ticket,
            approval_id=None if granted is None else granted.approval_id,
            approval_digest=None if granted is None else granted.digest,
        )
        return ClearedCall(
            call=_as_sent(call, appraisal.arguments),
            tool=appraisal.tool,
            arguments=appraisal.arguments.values,
            clearance=clearance,
        )

    async def _send(self, cleared: ClearedCall, ticket: Ticket) -> ToolResult:
        try:
            return await self.inner.call(cleared)
        finally:
            # Whoever journals the call has said what came of it. This counts only when it was torn away before.
            self.safety.end(ticket, Outcome.UNKNOWN, held_for=cleared.clearance.timeout)

    async def _look(self, call: ToolCall) -> ToolResult | None:
        """Code looks for itself: nothing that is not a look, and allowed, comes of it."""
        read = await self._read(call)
        appraisal = read if isinstance(read, Refusal) else self._appraise(*read)
        if isinstance(appraisal, Refusal) or not appraisal.is_look or not isinstance(appraisal.decision, Allow):
            return None
        entry = self._begin(appraisal)
        if isinstance(entry, Refusal):
            return None
        return await self._send(self._clear(call, appraisal, entry=entry, granted=None), entry.ticket)

    async def _refuse(self, call: ToolCall, refusal: Refusal, appraisal: Appraisal | None = None) -> ToolResult:
        judged = {} if appraisal is None else appraisal.describe()
        if appraisal is None or not isinstance(appraisal.decision, Refuse):
            judged["policy_rule"] = f"gate:{refusal.code}"
        log.info("call_refused", code=refusal.code, call_id=str(call.call_id), **judged)
        return await self.journal.refuse(call, refusal, judged=judged)

    def _declare(self, tool: ToolDefinition) -> KindVerdict:
        """The kind of the tool, whatever it is called with."""
        if tool.full_name in self.changed:
            return CHANGED
        rules = self._rules_of(tool)
        return decide_kind(tool, kinds=rules.kinds, trust_annotations=rules.trust_annotations)

    def _is_vouched_for(self, tool: ToolDefinition) -> bool:
        rules = self._rules_of(tool)
        verdict = decide_kind(tool, kinds=rules.kinds, trust_annotations=rules.trust_annotations)
        return rules.is_pinned and needs_pin(verdict)

    def _rules_of(self, tool: ToolDefinition) -> ServerRules:
        return self.rules.get(tool.server, _STRICTEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    ticket: Ticket
    observed: str | None
    """The code of the refusal that observe mode let pass."""


def _find_masked(call: ToolCall, arguments: Arguments) -> list[str]:
    """In what is sent, and in what the model wrote: read as YAML, a placeholder is no longer the text it was."""
    return list(find_placeholders(arguments.values)) or list(find_placeholders(call.arguments))


def _as_sent(call: ToolCall, arguments: Arguments) -> ToolCall:
    return call if arguments.read_as is None else replace(call, arguments=encode_text(arguments.values))
