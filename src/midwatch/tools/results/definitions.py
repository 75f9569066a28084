"""The tools that open stored results, as a model is told of them."""

from collections.abc import Mapping
from typing import Any

from midwatch.domain.results import RESULT_SERVER
from midwatch.domain.tools import ToolDefinition

_NAME = {
    "type": "string",
    "description": "Name of the result, such as r1a2b3c4d, as it was given where the result was cut or summed up",
}


def _define(name: str, description: str, required: tuple[str, ...], **properties: Mapping[str, Any]) -> ToolDefinition:
    return ToolDefinition(
        server=RESULT_SERVER,
        name=name,
        description=description,
        schema={
            "type": "object",
            "properties": {"result": _NAME, **properties},
            "required": ["result", *required],
            "additionalProperties": False,
        },
        read_only_hint=True,
    )


def _number(description: str, *, least: int | None = None, most: int | None = None) -> dict[str, Any]:
    bounds = {"minimum": least, "maximum": most}
    return {"type": "integer", "description": description, **{k: v for k, v in bounds.items() if v is not None}}


SEARCH = _define(
    "search",
    "Search an earlier tool result that was cut or summed up, instead of calling its tool again. Gives numbered lines "
    "with their neighbours.",
    (),
    text={"type": "string", "maxLength": 500, "description": "Searched for as it stands"},
    pattern={"type": "string", "maxLength": 500, "description": "Regular expression (RE2), instead of text"},
    ignore_case={"type": "boolean", "description": "Default false"},
    context=_number("Lines to show before and after each; default 2", least=0, most=20),
    limit=_number("How many to show; default 20", least=1, most=100),
    skip=_number("How many to pass over first; default 0", least=0),
)
SLICE = _define(
    "slice",
    "Show a passage of an earlier tool result that was cut or summed up, by lines, or by characters where lines are "
    "long. Without more: its first 100 lines.",
    (),
    from_line=_number("First line, counted from 1; -50 is the 50th from the end"),
    lines=_number("How many lines; default 100", least=1, most=1000),
    from_character=_number("First character, counted from 1 or from the end, instead of from_line"),
    characters=_number("How many characters; default as many as fit", least=1),
)
QUERY = _define(
    "query",
    "Ask an earlier tool result that is JSON for a part of it, in JMESPath, such as "
    "items[?status.phase!='Running'].metadata.name. JSON on every line counts as a list.",
    ("expression",),
    expression={"type": "string", "minLength": 1, "maxLength": 2000, "description": "JMESPath"},
)
RESULT_TOOLS = (SEARCH, SLICE, QUERY)
