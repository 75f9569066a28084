"""Calls that come to a result at once, because nobody has to be asked about them."""

from midwatch.domain.tools import ToolCall, ToolResult
from midwatch.tools.gate import Gate


async def settle(gate: Gate, call: ToolCall) -> ToolResult:
    result = await gate.call(call)
    assert isinstance(result, ToolResult)
    return result
