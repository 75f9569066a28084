"""Views for programs and pipes: every event as a line of JSON, or the analysis alone."""

import json
from dataclasses import dataclass
from typing import Any

import click
from rich.console import Console
from rich.markdown import Markdown

from midwatch.cli.live.closing import summarise
from midwatch.cli.live.follow import Ended, Item, Told
from midwatch.cli.live.server import Body
from midwatch.cli.terminal import Cleaned, clean
from midwatch.domain.session import SessionStatus
from midwatch.domain.timeline import EventType

_RESULT = (
    *("status", "final_analysis", "executive_summary", "error_message", "alert_type", "chain_id", "duration_ms"),
    *("llm_interaction_count", "mcp_interaction_count", "input_tokens", "output_tokens", "total_tokens"),
    *("estimated_cost_usd", "cost_completeness", "warnings"),
)


class Complaining:
    def note(self, text: str) -> None:
        """Beside the output, which is somebody's input."""
        click.echo(clean(text), err=True)


class JsonLines(Complaining):
    """Nothing is hidden and nothing is harmful: what is not ASCII is spelled as JSON spells it."""

    def take(self, item: Item) -> None:
        match item:
            case Told(event):
                _write(event)
            case Ended(session):
                _write({"type": "result", "session_id": session.get("id"), **_pick(session)})
            case _:
                pass


def _pick(session: Body) -> dict[str, Any]:
    return {name: session.get(name) for name in _RESULT}


def _write(line: dict[str, Any]) -> None:
    click.echo(json.dumps(line, separators=(",", ":")))


@dataclass(frozen=True, slots=True)
class AnalysisOnly(Complaining):
    """For a person it is rendered; into a pipe it goes as it was written."""

    console: Console

    def take(self, item: Item) -> None:
        if isinstance(item, Told) and item.event.get("type") == EventType.APPROVAL_REQUESTED:
            self.note(f"waiting for approval: midwatch approvals show {item.event.get('approval_id')}")
        if not isinstance(item, Ended):
            return
        session = item.session
        analysis = session.get("final_analysis")
        if analysis and self.console.is_terminal:
            self.console.print(Cleaned(Markdown(clean(analysis), hyperlinks=False)))
        elif analysis:
            click.echo(clean(analysis).rstrip("\n"))
        if session.get("status") != SessionStatus.COMPLETED:
            reason = f": {session['error_message']}" if session.get("error_message") else ""
            click.echo(clean(f"error: the investigation {_ending(session)}{reason}"), err=True)


def _ending(session: Body) -> str:
    verb = {"failed": "failed", "timed_out": "timed out", "cancelled": "was cancelled"}
    return verb.get(str(session.get("status")), summarise(session))
