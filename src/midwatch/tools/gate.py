"""The only thing an agent is given: decides on every call, in code, before anything is asked of a tool.

Holds what was listed; keeps no other state, so calls in flight do not see each other.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, final

from midwatch.domain.safety import ControlLevel
from midwatch.domain.tools import Clearance, ClearedCall, Refusal, ToolCall, ToolDefinition, ToolKind, ToolResult
from midwatch.kit.json import encode_text
from midwatch.masking.placeholders import find_placeholders
from midwatch.safety.kinds import KindVerdict, OperatorKinds, decide_kind
from midwatch.safety.pins import CHANGED, needs_pin
from midwatch.safety.policy import Stance, decide, refuse_masked_values, refuse_unknown_tool
from midwatch.tools.arguments import Arguments, read_arguments
from midwatch.tools.journal import CallJournal
from midwatch.tools.toolset import Toolset

CALL_SECONDS = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRules:
    """What the operator decided about one server."""

    kinds: OperatorKinds = field(default_factory=OperatorKinds)
    trust_annotations: bool = False
    level: ControlLevel = ControlLevel.READ_ONLY
    acts_on_server: bool = True
    """Its calls reach something outside, which is the server as a whole."""
    is_pinned: bool = True
    """What was vouched for holds for the definitions that were seen first. Not so for what comes with Midwatch."""


_STRICTEST = ServerRules()


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

    def kind_of(self, call: ToolCall) -> ToolKind:
        """For putting calls in order. What is not listed is a write."""
        tool = (self._listed or {}).get(call.name)
        return self._judge(tool).kind

    async def call(self, call: ToolCall) -> ToolResult:
        if self._listed is None:
            await self.list_tools()
        decision = self._decide(call)
        if isinstance(decision, Refusal):
            return await self.journal.refuse(call, decision)
        return await self.inner.call(decision)

    def _decide(self, call: ToolCall) -> ClearedCall | Refusal:
        listed = self._listed or {}
        tool = listed.get(call.name)
        if tool is None:
            return refuse_unknown_tool(call.name, known=listed)
        arguments = read_arguments(call.arguments, tool.schema)
        if isinstance(arguments, Refusal):
            return arguments
        verdict = self._judge(tool)
        permission = decide(verdict, level=self._rules_of(tool).level, stance=self.stance)
        if isinstance(permission, Refusal):
            return permission
        if not needs_pin(verdict) and (places := _find_masked(call, arguments)):
            return refuse_masked_values(places)
        clearance = self._clear(tool, verdict=verdict, observed=permission.observed, read_as=arguments.read_as)
        return ClearedCall(call=_as_sent(call, arguments), tool=tool, arguments=arguments.values, clearance=clearance)

    def _clear(
        self, tool: ToolDefinition, *, verdict: KindVerdict, observed: str | None, read_as: str | None
    ) -> Clearance:
        return Clearance(
            kind=verdict.kind,
            proven=verdict.proven,
            rule=verdict.rule,
            targets=(f"mcp:{tool.server}",) if self._rules_of(tool).acts_on_server else (),
            timeout=self.timeout,
            observed=observed,
            read_as=read_as,
            is_pinned=self._rules_of(tool).is_pinned and needs_pin(verdict),
        )

    def _judge(self, tool: ToolDefinition | None) -> KindVerdict:
        if tool is not None and tool.full_name in self.changed:
            return CHANGED
        rules = _STRICTEST if tool is None else self._rules_of(tool)
        return decide_kind(tool, kinds=rules.kinds, trust_annotations=rules.trust_annotations)

    def _is_vouched_for(self, tool: ToolDefinition) -> bool:
        rules = self._rules_of(tool)
        verdict = decide_kind(tool, kinds=rules.kinds, trust_annotations=rules.trust_annotations)
        return rules.is_pinned and needs_pin(verdict)

    def _rules_of(self, tool: ToolDefinition) -> ServerRules:
        return self.rules.get(tool.server, _STRICTEST)


def _find_masked(call: ToolCall, arguments: Arguments) -> list[str]:
    """In what is sent, and in what the model wrote: read as YAML, a placeholder is no longer the text it was."""
    return list(find_placeholders(arguments.values)) or list(find_placeholders(call.arguments))


def _as_sent(call: ToolCall, arguments: Arguments) -> ToolCall:
    return call if arguments.read_as is None else replace(call, arguments=encode_text(arguments.values))
