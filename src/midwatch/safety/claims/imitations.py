"""Tool calls that are only written down: markup of several models, code blocks, JSON, and steps of a text protocol."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

_HINTS: Final = re.compile(
    r"<[/|]?\s?(?:tool|function|invoke|antml|use_mcp)|\[/?tool|```\s*tool|\"(?:tool|function|action|name|recipient_name)\w*\""
    r"|action\s*input\s*:|observation\s*:|tool_result|function_call|default_api|functions\.|<｜tool|python_tag|\btool_calls?\b",
    re.IGNORECASE,
)
"""One look over the text tells most replies to be clean."""
_TAGS: Final = r"(?:tool_calls?|tool_use|tool_result|tool_response|tool_code|tool_output|function_calls?|function_result|function|invoke|use_mcp_tool)"
_PATTERNS: Final = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL | re.MULTILINE)
    for pattern in (
        rf"<(?:antml:)?({_TAGS})\b[^>\n]*>.{{0,4000}}?</(?:antml:)?\1>",
        rf"</?(?:antml:)?{_TAGS}(?:[\s=][^>\n]*)?>",
        r"<\|/?(?:tool|python_tag|function)[^|\n]*\|>[^\n]*",
        r"<｜tool[^\n]*",
        r"\[/?TOOL_(?:CALLS?|RESULTS?|REQUEST)\][^\n]*",
        r"```[ \t]*(?:tool\w*|function_call\w*|action)\b.{0,4000}?(?:```|\Z)",
        r"(?:```[ \t]*\w*\s*)?[\[{]\s*\{?\s*\"(?:tool|tool_name|tool_call|tool_calls|function|function_call|recipient_name)\"\s*:"
        r"[^`]{0,3000}?\}[\]}\s]*(?:```|(?=\n\s*\n)|\Z)",
        r"(?:```[ \t]*\w*\s*)?\{\s*\"(?:name|action)\"\s*:\s*\"[\w.\-/]+\"\s*,\s*\"(?:arguments|parameters|args|input|action_input|params)\"\s*:"
        r"[^`]{0,3000}?\}\s*(?:```|(?=\n)|\Z)",
        r"^[ \t>*]*Action[ \t]*:[^\n]*\n+[ \t>*]*Action[ \t]*Input[ \t]*:[^\n]*(?:\n+[ \t>*]*Observation[ \t]*:[^\n]*)?",
        r"^[ \t>*]*Action[ \t]*Input[ \t]*:[^\n]*(?:\n+[ \t>*]*Observation[ \t]*:[^\n]*)?",
        r"^[ \t>*]*(?:tool_result|tool_response|function_call|tool_call|tool_output)s?[ \t]*[:=(][^\n]*",
        r"\b(?:print\()?(?:default_api|functions)\.[a-z]\w*\([^\n]{0,400}?\)+",
    )
)


class Imitation(NamedTuple):
    start: int
    end: int


def find_imitations(text: str, *, tools: Iterable[str] = ()) -> Iterator[Imitation]:
    """In order, without overlaps. `tools` are names whose use like a function counts as well."""
    spans = sorted({span for span in _find_all(text, tools) if span.end > span.start})
    end = -1
    for span in spans:
        if span.start >= end:
            yield span
            end = span.end


def _find_all(text: str, tools: Iterable[str]) -> Iterator[Imitation]:
    names = {name for tool in tools for name in (tool, tool.replace(".", "__")) if name}
    if any(f"{name}(" in text for name in names):
        calls = "|".join(re.escape(name) for name in sorted(names))
        yield from (Imitation(*match.span()) for match in re.finditer(rf"`?\b(?:{calls})\([^\n]{{0,400}}\)`?", text))
    if _HINTS.search(text) is None:
        return
    for pattern in _PATTERNS:
        yield from (Imitation(*match.span()) for match in pattern.finditer(text))
