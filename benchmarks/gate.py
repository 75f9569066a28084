"""What the gate costs of a turn: CPU of one call through it, with all of it in use, beside the turn as a whole."""

import json
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.report import Check
from midwatch.domain.safety import ControlLevel, SafetyMode
from midwatch.domain.tools import Clearance, ClearedCall, ToolCall, ToolDefinition, ToolKind, ToolResult
from midwatch.kit.ids import new_id
from midwatch.safety.kinds import OperatorKinds
from midwatch.safety.policy import Stance
from midwatch.safety.resources import Resource
from midwatch.safety.rules import Decision, Rule
from midwatch.safety.session import SessionSafety
from midwatch.safety.targets import TargetTemplate
from midwatch.tools.appraisal import ServerRules
from midwatch.tools.gate import Gate
from midwatch.tools.journaled import Journaled
from midwatch.tools.learning import Learning
from midwatch.tools.unrecorded import Unrecorded

_MOST = 1.1
_CALLS = 500
_KNOWN = 100
_FOUND = 10
_RULES = ServerRules(
    kinds=OperatorKinds(read=("look*",)),
    level=ControlLevel.AUTONOMOUS,
    rules=tuple(Rule(place=place, decision=Decision.ASK, tools=(f"bench.other{place}",)) for place in range(20)),
    templates={"look*": TargetTemplate(target="pump:{host}:{name}", parent="host:{host}")},
)
_TEXT = {"type": "string"}
_TOOL = ToolDefinition(
    server="bench",
    name="lookup",
    description="",
    schema={"type": "object", "properties": {"host": _TEXT, "name": _TEXT, "command": _TEXT}},
)
_ARGUMENTS = json.dumps({"host": "deck", "name": "pump-7", "command": "journalctl -u pump -n 50 --no-pager"})
_ANSWER = ToolResult(content=json.dumps({"items": [{"kind": "pump", "uid": f"pump-{n}"} for n in range(_FOUND)]}))


class _Answering:
    """Costs nothing, and answers at once."""

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return (_TOOL,)

    async def call(self, cleared: ClearedCall) -> ToolResult:  # noqa: ARG002 -- as the protocol has it
        return _ANSWER


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFigures:
    """Seconds of CPU."""

    call: float
    turn: float

    @property
    def checks(self) -> list[Check]:
        return [
            Check(
                what="gate: CPU of a turn with it, against one without",
                measured=self.turn / (self.turn - self.call),
                target=_MOST,
            )
        ]

    @property
    def notes(self) -> list[str]:
        return [
            f"gate: {self.call * 1000:.3f} ms for a call with a command, a template, 20 rules and {_FOUND} discoveries"
        ]


async def measure_gate(*, turn: float, rounds: int) -> GateFigures:
    """`turn` is what an iteration of the whole loop costs in the same run."""
    gate = _open_gate()
    await gate.list_tools()
    bare = Journaled(inner=_Answering(), journal=Unrecorded())

    async def decide() -> None:
        call = ToolCall(call_id=new_id(), provider_id="p", name=_TOOL.full_name, arguments=_ARGUMENTS)
        gate.kind_of(call)
        await gate.call(call)

    async def send() -> None:
        call = ToolCall(call_id=new_id(), provider_id="p", name=_TOOL.full_name, arguments=_ARGUMENTS)
        clearance = Clearance(kind=ToolKind.READ, proven=True, rule="bench", targets=(), timeout=60.0)
        await bare.call(ClearedCall(call=call, tool=_TOOL, arguments={}, clearance=clearance))

    costs = [await _cost(decide) - await _cost(send) for _ in range(rounds * 4 + 1)]
    return GateFigures(call=median(costs[1:]), turn=turn)


def _open_gate() -> Gate:
    safety = SessionSafety()
    safety.learn([Resource(kind="pump", host="deck", uid=f"pump-{number}") for number in range(_KNOWN)])
    journal = Unrecorded()
    journaled = Journaled(inner=_Answering(), journal=journal, safety=safety)
    return Gate(
        inner=Learning(inner=journaled, safety=safety, paths={"bench": {"look*": "items[]"}}),
        journal=journal,
        stance=Stance(mode=SafetyMode.ENFORCE),
        rules={"bench": _RULES},
        safety=safety,
    )


async def _cost(work: Callable[[], Awaitable[None]]) -> float:
    started = time.process_time()
    for _ in range(_CALLS):
        await work()
    return (time.process_time() - started) / _CALLS
