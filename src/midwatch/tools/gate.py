"""The only thing an agent is given: decides on every call, in code, before anything is asked of a tool.

Holds what was listed; keeps no other state, so calls in flight do not see each other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast, final

from midwatch.domain.safety import ControlLevel
from midwatch.domain.tools import Clearance, ClearedCall, Refusal, ToolCall, ToolDefinition, ToolKind, ToolResult
from midwatch.kit.json import decode, is_too_deep
from midwatch.safety.kinds import KindVerdict, OperatorKinds, decide_kind
from midwatch.safety.policy import Stance, decide, refuse_arguments, refuse_unknown_tool
from midwatch.tools.journal import CallJournal
from midwatch.tools.toolset import Toolset

CALL_SECONDS = 90.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRules:
    """What the operator decided about one server."""

    kinds: OperatorKinds = field(default_factory=OperatorKinds)
    trust_annotations: bool = False
    level: ControlLevel = ControlLevel.READ_ONLY


_STRICTEST = ServerRules()


@final
@dataclass(slots=True, kw_only=True)
class Gate:
    inner: Toolset
    journal: CallJournal
    stance: Stance
    rules: Mapping[str, ServerRules]
    """By server id; a server without any gets the strictest."""
    timeout: float = CALL_SECONDS
    _listed: Mapping[str, ToolDefinition] | None = field(default=None, init=False)

    async def list_tools(self) -> Sequence[ToolDefinition]:
        # A dot in a server's id would have its calls judged as one server's and routed to another.
        tools = [tool for tool in await self.inner.list_tools() if "." not in tool.server]
        self._listed = {tool.full_name: tool for tool in tools}
        return tools

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
        arguments = _parse_arguments(call.arguments)
        if isinstance(arguments, Refusal):
            return arguments
        verdict = self._judge(tool)
        permission = decide(verdict, level=self._rules_of(tool).level, stance=self.stance)
        if isinstance(permission, Refusal):
            return permission
        clearance = self._clear(tool, verdict=verdict, observed=permission.observed)
        return ClearedCall(call=call, arguments=arguments, clearance=clearance)

    def _clear(self, tool: ToolDefinition, *, verdict: KindVerdict, observed: str | None) -> Clearance:
        return Clearance(
            kind=verdict.kind,
            proven=verdict.proven,
            rule=verdict.rule,
            targets=(f"mcp:{tool.server}",),
            timeout=self.timeout,
            observed=observed,
        )

    def _judge(self, tool: ToolDefinition | None) -> KindVerdict:
        rules = _STRICTEST if tool is None else self._rules_of(tool)
        return decide_kind(tool, kinds=rules.kinds, trust_annotations=rules.trust_annotations)

    def _rules_of(self, tool: ToolDefinition) -> ServerRules:
        return self.rules.get(tool.server, _STRICTEST)


def _parse_arguments(text: str) -> Mapping[str, Any] | Refusal:
    """No text at all is how some models write "no arguments"."""
    if not text.strip():
        return {}
    try:
        arguments = decode(text)
    except ValueError:
        return refuse_arguments("not JSON")
    if is_too_deep(arguments):
        return refuse_arguments("nested too deep")
    return cast("dict[str, Any]", arguments) if isinstance(arguments, dict) else refuse_arguments("not a JSON object")
