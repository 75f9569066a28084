"""A question to a person, as a terminal shows it: the whole call, what it acts on, and why somebody is asked. Pure."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from midwatch.cli.live.digest import format_seconds
from midwatch.cli.live.lines import name_call, render_aside, render_note
from midwatch.cli.live.screen import Marks
from midwatch.cli.terminal import clean_line

_LABEL = 10


def render_request(approval: Mapping[str, Any], *, marks: Marks) -> list[RenderableType]:
    """Arguments as JSON in ASCII: what cannot be seen is spelled out."""
    title = f"{name_call(approval)} needs a yes · risk {approval.get('risk')}"
    arguments = json.dumps(approval.get("arguments"), indent=2, sort_keys=True)
    return [
        render_note(marks.unknown, title, "bold yellow"),
        *(_fact(name, value) for name, value in _facts(approval)),
        _fact("arguments", ""),
        render_aside(arguments, ""),
        *_words(approval),
    ]


def render_waiting(metadata: Mapping[str, Any], *, marks: Marks) -> list[RenderableType]:
    """In a transcript: what waits, why, and how to answer."""
    asked = f"waiting for approval: {name_call(metadata)} · risk {metadata.get('risk')}"
    why = " · ".join(str(metadata[name]) for name in ("rule", "reason") if metadata.get(name))
    approval_id = clean_line(str(metadata.get("approval_id")))
    return [
        render_note(marks.unknown, asked, "yellow"),
        *([render_aside(why, "dim")] if why else []),
        render_aside(f"look at it: midwatch approvals show {approval_id}", "dim"),
    ]


def read_seconds_left(approval: Mapping[str, Any]) -> float:
    try:
        expires = datetime.fromisoformat(str(approval.get("expires_at")))
    except ValueError:
        return 0.0
    return max((expires - datetime.now(UTC)).total_seconds(), 0.0)


def _facts(approval: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    verdict: Mapping[str, Any] = approval.get("verdict") or {}
    yield "why", " · ".join(str(verdict[name]) for name in ("policy_rule", "policy_reason") if verdict.get(name))
    yield "kind", f"{approval.get('kind')} ({verdict.get('rule')})"
    yield "acts on", ", ".join(_name_target(target) for target in approval.get("targets") or ()) or "nothing named"
    runs_as: Mapping[str, Any] = approval.get("runs_as") or {}
    yield "runs as", " ".join(str(runs_as[name]) for name in ("executor", "user", "folder") if runs_as.get(name))
    for file in approval.get("files") or ():
        yield "with file", str(file.get("path"))
        yield "sha256", str(file.get("sha256"))
    yield "session", str(approval.get("session_id"))
    yield "expires", f"in {format_seconds(read_seconds_left(approval))}"
    if approval.get("has_hidden_characters"):
        yield "beware", "something in the arguments does not look like what it is"


def _name_target(target: Mapping[str, Any]) -> str:
    name, identity = str(target.get("name") or ""), str(target.get("id"))
    return identity if name in ("", identity) else f"{name} ({identity})"


def _words(approval: Mapping[str, Any]) -> list[RenderableType]:
    words: Mapping[str, Any] = approval.get("models_words") or {}
    text = str(words.get("text") or "").strip()
    return [_fact("the model says, which nobody has checked:", ""), render_aside(text, "italic")] if text else []


def _fact(name: str, value: str) -> RenderableType:
    return Text.assemble((f"  {name:<{_LABEL}}", "dim"), clean_line(value))
