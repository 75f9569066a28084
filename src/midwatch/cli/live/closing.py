"""The end of a session in a few lines: how it ended, what it took, and where to look on."""

from collections.abc import Iterator, Mapping
from typing import Any

from midwatch.cli.live.digest import format_seconds
from midwatch.domain.session import SessionStatus

DEMO = "demo"
"""The provider behind which stands no language model."""


def list_executions(session: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [execution for stage in session.get("stages") or () for execution in stage.get("executions") or ()]


def summarise(session: Mapping[str, Any]) -> str:
    """Such as `completed in 3.2 s · 2 model calls · 4 tool calls · 1,204 tokens · cost unknown`."""
    return " · ".join(_facts(session))


def _facts(session: Mapping[str, Any]) -> Iterator[str]:
    status = str(session.get("status")).replace("_", " ")
    duration = session.get("duration_ms")
    if duration is None:
        yield status
    else:
        between = "in" if session.get("status") == SessionStatus.COMPLETED else "after"
        yield f"{status} {between} {format_seconds(duration / 1000)}"
    yield _count(session.get("llm_interaction_count"), "model call")
    yield _count(session.get("mcp_interaction_count"), "tool call")
    yield _count(session.get("total_tokens"), "token")
    yield f"cost {_cost(session)}"


def _count(number: int | None, noun: str) -> str:
    return f"{number or 0:,} {noun}{'' if number == 1 else 's'}"


def _cost(session: Mapping[str, Any]) -> str:
    if {execution.get("llm_provider") for execution in list_executions(session)} == {DEMO}:
        return "none (demo model)"
    cost = session.get("estimated_cost_usd")
    if not isinstance(cost, int | float):
        return "unknown"
    about = "at least" if session.get("cost_completeness") == "partial" else "about"
    return f"{about} ${cost:.4f}" if cost < 1 else f"{about} ${cost:,.2f}"
