"""Events as a server sends them, and a page to see them on."""

import io
from collections.abc import Iterable
from typing import Any

from rich.console import Console

from midwatch.cli.live.follow import Ended, Item, Seen, Told
from midwatch.cli.live.screen import Screen
from midwatch.cli.live.transcript import Transcript

SESSION = "01a1de01-3d5e-7c8b-80b4-f4ee65ae4be2"
ANALYSIS = "## What it is\n\nThe deck is **wet**.\n\n- rain\n- a wave\n"


def session(**fields: Any) -> dict[str, Any]:
    stage = {"id": "s1", "stage_name": "watch", "stage_index": 1, "executions": [execution()]}
    known = {"id": SESSION, "alert_type": "deck", "chain_id": "deck-chain", "total_stages": 1, "stages": [stage]}
    numbers = {"duration_ms": 3210, "llm_interaction_count": 2, "mcp_interaction_count": 1, "total_tokens": 1204}
    return known | numbers | {"status": "completed", "final_analysis": ANALYSIS} | fields


def execution(**fields: Any) -> dict[str, Any]:
    return {"execution_id": "x1", "agent_name": "Mate", "llm_provider": "demo", "model_name": "demo model"} | fields


def started(number: int = 1, name: str = "watch") -> Told:
    return tell("stage.status", status="started", stage_id=f"s{number}", stage_name=name, stage_index=number)


def tell(kind: str, **fields: Any) -> Told:
    return Told({"type": kind, "session_id": SESSION, "timestamp": "2026-01-01T03:00:00Z", **fields})


def opened(event_id: str, event_type: str, **fields: Any) -> Told:
    where = {"event_id": event_id, "execution_id": "x1", "stage_id": "s1"}
    return tell("timeline_event.created", **where, event_type=event_type, status="streaming", content="", **fields)


def closed(event_id: str, event_type: str, content: str, **fields: Any) -> Told:
    known = {"status": "completed", "timestamp": "2026-01-01T03:00:00.200Z"}
    return tell("timeline_event.completed", event_id=event_id, event_type=event_type, content=content, **known | fields)


def chunk(event_id: str, delta: str) -> Told:
    return tell("stream.chunk", event_id=event_id, delta=delta)


def call(tool: str = "disks", arguments: str = "{}", **fields: Any) -> dict[str, Any]:
    return {
        "server_name": "midwatch-host",
        "tool_name": tool,
        "arguments": arguments,
        "call_state": "finished",
    } | fields


def called(content: str, *, event_id: str = "c1", **fields: Any) -> list[Item]:
    """A call from its request to its result."""
    metadata = fields.pop("metadata", None) or call()
    return [
        opened(event_id, "llm_tool_call", metadata=metadata),
        closed(event_id, "llm_tool_call", content, metadata=metadata, **fields),
    ]


def analysis(text: str = ANALYSIS) -> list[Item]:
    """The last reply, and the analysis that it is."""
    return [
        opened("r9", "llm_response"),
        closed("r9", "llm_response", text),
        tell("timeline_event.created", event_id="f9", event_type="final_analysis", status="completed", content=text),
    ]


def run(*steps: Item, **ended: Any) -> list[Item]:
    """A whole session around these steps."""
    return [Seen(session(status="in_progress", stages=[])), started(), Seen(session()), *steps, Ended(session(**ended))]


def show(items: Iterable[Item], *, width: int = 80, encoding: str = "utf-8") -> str:
    page = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace", newline="")
    screen = Screen(console=Console(file=page, width=width, markup=False, emoji=False, highlight=False))
    transcript = Transcript(screen=screen)
    for item in items:
        transcript.take(item)
    page.seek(0)
    return page.read()


def steps_of(shown: str) -> str:
    """What stands between the first separator and the analysis."""
    return shown.partition("stage 1 of 1")[2].partition("\n")[2].partition("\n── analysis")[0]
