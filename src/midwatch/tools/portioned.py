"""How much of a result is read at once: what is longer is cut, kept whole beside it, and may be summed up instead."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import final
from uuid import UUID

from midwatch.domain.results import name_result
from midwatch.domain.tools import ClearedCall, ToolDefinition, ToolResult
from midwatch.kit.tokens import estimate_tokens, fill_tokens
from midwatch.tools.results.excerpt import cut_middle
from midwatch.tools.toolset import Toolset

SHOWN_TOKENS = 8_000
"""What the timeline shows of a result, and a model reads of one that is neither summed up nor asked for in full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """Of one server's results, in estimated tokens."""

    summarised_above: int | None = None
    """None: never."""
    read: int = SHOWN_TOKENS
    """How much a model reads of a result that is not summed up."""


def _tell_nobody() -> None:
    """Nobody wants to know."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Portioned:
    inner: Toolset
    portions: Mapping[str, Portion] = field(default_factory=dict[str, Portion])
    """By server id."""
    on_long: Callable[[], None] = _tell_nobody
    """Told when there is a result that is worth opening again."""

    async def list_tools(self) -> Sequence[ToolDefinition]:
        return await self.inner.list_tools()

    async def call(self, cleared: ClearedCall) -> ToolResult:
        result = await self.inner.call(cleared)
        portion = self.portions.get(cleared.tool.server, _USUAL)
        portioned = cut_result(result, portion, call_id=cleared.call.call_id)
        if portioned is not result:
            self.on_long()
        return portioned


_USUAL = Portion()


def cut_result(result: ToolResult, portion: Portion, *, call_id: UUID) -> ToolResult:
    """The same result when all of it can be read."""
    tokens = estimate_tokens(result.content)
    limit = portion.summarised_above
    awaits_summary = limit is not None and tokens > limit and not result.is_error
    most = SHOWN_TOKENS if awaits_summary or result.is_error else max(portion.read, limit or 0)
    if tokens <= most:
        return replace(result, awaits_summary=True) if awaits_summary else result

    def explain(left_out: int) -> str:
        return _explain(left_out, size=len(result.content), name=name_result(call_id))

    shown = cut_middle(result.content, most=fill_tokens(most), explain=explain)
    return replace(result, content=shown, whole=result.content, awaits_summary=awaits_summary)


def _explain(left_out: int, *, size: int, name: str) -> str:
    return (
        f"[… {left_out:,} of {size:,} characters are left out here; all of them are kept as result {name}: "
        "use result.search, result.slice or result.query …]"
    )
