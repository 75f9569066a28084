"""Single lines of a transcript. Pure: from facts to styled text; whoever prints them cleans them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from midwatch.cli.live.digest import digest_arguments, digest_result, format_seconds, read_refusal
from midwatch.cli.live.screen import Marks
from midwatch.cli.terminal import clean, clean_line
from midwatch.domain.timeline import TimelineStatus
from midwatch.domain.tools import CallState

GUTTER = 2
_LONGEST_ARGUMENTS = 60
_NARROW = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledCall:
    """A tool call that is over."""

    metadata: dict[str, Any]
    status: str
    content: str
    seconds: float | None
    agent: str = ""

    @property
    def is_refused(self) -> bool:
        return self.metadata.get("call_state") == CallState.REFUSED


def settle_call(asked: Mapping[str, Any], event: Mapping[str, Any], *, agent: str) -> SettledCall:
    """From the event with which it was asked for, and the one with which it ended."""
    return SettledCall(
        metadata={**(asked.get("metadata") or {}), **(event.get("metadata") or {})},
        status=str(event.get("status")),
        content=str(event.get("content") or ""),
        seconds=_seconds_between(asked.get("created_at") or asked.get("timestamp"), event.get("timestamp")),
        agent=agent,
    )


def name_call(metadata: Mapping[str, Any]) -> str:
    parts = (metadata.get("server_name"), metadata.get("tool_name"))
    return ".".join(dict.fromkeys(clean_line(str(part)) for part in parts if part)) or "a tool"


def render_call(call: SettledCall, *, width: int, marks: Marks) -> list[RenderableType]:
    """Its name, arguments and outcome, and below it what it brought, in a line each."""
    mark, style, outcome = _judge(call, marks)
    arguments = _cut(digest_arguments(call.metadata.get("arguments")), _LONGEST_ARGUMENTS)
    line = Text.assemble(
        (f"{marks.call} ", style),
        (call.agent and f"{clean_line(call.agent)} ", "dim"),
        (name_call(call.metadata), "bold"),
    )
    if arguments:
        line.append(f"  {arguments}", "dim")
    line.append(f"  {mark}{outcome}", style)
    if call.seconds is not None:
        line.append(f" {format_seconds(call.seconds)}", "dim")
    return [line, *_render_yield(call, width=width)]


def _judge(call: SettledCall, marks: Marks) -> tuple[str, str, str]:
    code = clean_line(str(call.metadata.get("error_code") or ""))
    match call.status:
        case _ if call.is_refused:
            return marks.bad, "yellow", f" refused: {code}" if code else " refused"
        case TimelineStatus.COMPLETED:
            return marks.good, "green", ""
        case TimelineStatus.INTERRUPTED:
            return marks.unknown, "yellow", " outcome unknown"
        case TimelineStatus.FAILED:
            return marks.bad, "red", f" failed: {code}" if code else " failed"
        case _:
            return marks.bad, "yellow", f" {clean_line(call.status.replace('_', ' '))}"


def _render_yield(call: SettledCall, *, width: int) -> list[RenderableType]:
    if call.is_refused:
        message, hint = read_refusal(call.content)
        told = [render_aside(message, "yellow")] if message else []
        return [*told, render_aside(f"hint: {hint}", "dim")] if hint else list(told)
    digest = digest_result(call.content)
    if not digest:
        return []
    room = max(width, _NARROW) - GUTTER
    return [render_aside(_cut(digest, room), "dim" if call.status == TimelineStatus.COMPLETED else "")]


def render_aside(text: str, style: str = "") -> RenderableType:
    return Padding(Text(clean(text), style=style), (0, 0, 0, GUTTER), expand=False)


def render_note(mark: str, text: str, style: str = "") -> RenderableType:
    return Text.assemble((f"{mark} ", style), clean(text))


def render_separator(title: str, *, width: int, marks: Marks) -> RenderableType:
    start = Text.assemble((f"{marks.line * 2} ", "dim"), (clean_line(title), "bold"))
    room = width - start.cell_len - 1
    return start.append(f" {marks.line * room}", "dim") if room > 0 else start


def render_fact(name: str, value: str, note: str = "") -> RenderableType:
    return Text.assemble((f"{name:<8} ", "dim"), clean_line(value), (f"  {clean_line(note)}" if note else "", "dim"))


def _cut(text: str, length: int) -> str:
    shown = Text(text)
    shown.truncate(length, overflow="ellipsis")
    return shown.plain


def _seconds_between(start: object, end: object) -> float | None:
    try:
        moments = [datetime.fromisoformat(str(written)) for written in (start, end)]
        return max((moments[1] - moments[0]).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return None
