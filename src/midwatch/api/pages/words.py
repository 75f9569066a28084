"""Values as people read them. Pure."""

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from midwatch.domain.timeline import TimelineType

_LONGEST_LINE = 160
_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_TELLING = re.compile(r"\w")
_FIELD = re.compile(r'"(\w+)"\s*:\s*"((?:[^"\\]|\\.)*)"')
_TITLE_FIELDS = ("summary", "title", "message", "description", "alertname", "text", "name")
_TITLES: dict[str, str] = {
    TimelineType.LLM_THINKING: "Thinking",
    TimelineType.LLM_RESPONSE: "Model",
    TimelineType.LLM_TOOL_CALL: "Tool call",
    TimelineType.MCP_TOOL_SUMMARY: "Summary of a tool's answer",
    TimelineType.TOOL_REFUSED: "Refused by the gate",
    TimelineType.APPROVAL_REQUESTED: "Asked a person",
    TimelineType.APPROVAL_DECIDED: "Decided",
    TimelineType.SESSION_RESUMED: "Went on where it had stopped",
}


def first_line(text: str) -> str:
    """The first that says anything: of JSON, which may be cut off, the field that was written for people."""
    line = _find_title(text) or next((line.strip() for line in text.splitlines() if _TELLING.search(line)), "(empty)")
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}…"


def _find_title(text: str) -> str | None:
    if not text.lstrip().startswith(("{", "[")):
        return None
    fields = {name.lower(): value for name, value in reversed(_FIELD.findall(text))}
    value = next((fields[name] for name in _TITLE_FIELDS if fields.get(name, "").strip()), None)
    return None if value is None else " ".join(_unescape(value).split())


def _unescape(value: str) -> str:
    try:
        return json.loads(f'"{value}"', strict=False)
    except ValueError:
        return value


def say_age(moment: datetime, now: datetime) -> str:
    seconds = max(0, int((now - moment).total_seconds()))
    for size, word in ((_DAY, "day"), (_HOUR, "hour"), (_MINUTE, "minute")):
        if seconds >= size:
            number = seconds // size
            return f"{number} {word}{'' if number == 1 else 's'} ago"
    return "just now"


def say_duration(milliseconds: int | None) -> str:
    if milliseconds is None:
        return "not started"
    seconds = milliseconds / 1000
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), _MINUTE)
    return f"{minutes} min {rest} s" if minutes < _MINUTE else f"{minutes // _MINUTE} h {minutes % _MINUTE} min"


def say_cost(usd: float | None, completeness: str) -> str:
    if usd is None:
        return "unknown"
    about = "at least " if completeness == "partial" else ""
    return f"{about}${usd:.4f}" if 0 < usd < 1 else f"{about}${usd:,.2f}"


def say_times(number: int) -> str:
    return "once" if number == 1 else f"{number} times"


def say_status(status: str) -> str:
    return status.replace("_", " ")


def spell_json(value: object) -> str:
    """In ASCII: what cannot be seen is spelled out."""
    return json.dumps(value, indent=2, sort_keys=True)


def say_question(metadata: Mapping[str, Any]) -> str:
    """Such as `deck.restart, risk high, by level:controlled: a person must approve every change`."""
    what = f"{metadata.get('server_name')}.{metadata.get('tool_name')}, risk {metadata.get('risk')}"
    rule = f", by {metadata['rule']}" if metadata.get("rule") else ""
    reason = f": {metadata['reason']}" if metadata.get("reason") else ""
    return f"{what}{rule}{reason}"


def say_type(event_type: str) -> str:
    return _TITLES.get(event_type) or event_type.replace("_", " ").capitalize()


def cut(text: str, limit: int) -> str:
    hidden = len(text) - limit
    return text if hidden <= 0 else f"{text[:limit]}\n[… {hidden} more characters are in the JSON]"
