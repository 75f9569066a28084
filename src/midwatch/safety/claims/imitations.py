"""Tool calls that are only written down: markup of several models, code blocks, JSON, and steps of a text protocol."""

import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from midwatch.safety.claims.actions import word_set
from midwatch.safety.claims.words import fold

_HINTS: Final = word_set("""
<tool </tool <function </function <invoke </invoke <| <｜ <use_mcp [tool_ [/tool_ ```tool ```action ```function
"tool "function "recipient_name "name" "action" input: tool_result tool_response tool_call tool_output function_call
default_api. functions. antml:
""")
"""A text without any of them is clean, which most replies are."""
_TRACES: Final = (
    "tool",
    "function",
    "invoke",
    "<|",
    "<｜",
    "use_mcp",
    "```action",
    "recipient_name",
    '"name"',
    '"action"',
    "input:",
    "default_api.",
    "antml:",
)
"""Every hint contains one of them."""
_TAG: Final = re.compile(
    r"<(?P<close>/)?(?:antml:)?(?P<name>tool_(?:calls?|use|result|response|code|output)|function_calls?|function_result"
    r"|function|invoke|use_mcp_tool)(?:[\s=][^>\n]{0,200})?>"
)
_BLOCKS: Final = re.compile(
    r"```[ \t]*(?:tool\w*|function_call\w*|action)\b"
    r"|(?:```[ \t]*\w*\s*)?[\[{]\s{0,20}\{?\s{0,20}"
    r"\"(?:tool|tool_name|tool_calls?|function|function_call|recipient_name)\"\s{0,9}:"
    r"|(?:```[ \t]*\w*\s*)?\{\s{0,20}\"(?:name|action)\"\s{0,9}:\s{0,9}\"[\w.\-/]{1,100}\"\s{0,9},\s{0,20}"
    r"\"(?:arguments|parameters|args|input|action_input|params)\"\s{0,9}:"
)
_LINES: Final = re.compile(
    r"^[ \t>*]*(?:action[ \t]*:[^\n]{0,300}\n+[ \t>*]*)?action[ \t]*input[ \t]*:[^\n]*"
    r"(?:\n+[ \t>*]*observation[ \t]*:[^\n]*)?"
    r"|^[ \t>*]*(?:tool_result|tool_response|function_call|tool_call|tool_output)s?[ \t]*[:=(][^\n]*"
    r"|<\|/?(?:tool|python_tag|function)[^\n]*|<｜tool[^\n]*|\[/?tool_(?:calls?|results?|request)\][^\n]*"
    r"|\b(?:print\()?(?:default_api|functions)\.[a-z]\w{0,60}\([^\n]*",
    re.MULTILINE,
)
_LONGEST: Final = 4000


class Imitation(NamedTuple):
    start: int
    end: int


def find_imitations(text: str, *, tools: Iterable[str] = ()) -> Iterator[Imitation]:
    """In order, without overlaps. `tools` are names whose use like a function counts as well."""
    end = -1
    for span in sorted(_find_all(text, tools), key=lambda span: (span.start, -span.end)):
        if span.start >= end:
            yield span
            end = span.end


def _find_all(text: str, tools: Iterable[str]) -> Iterator[Imitation]:
    low = fold(text)
    yield from _find_uses(low, tools)
    if not any(hint in low for hint in _TRACES) or not any(hint in low for hint in _HINTS):
        return
    yield from _find_tags(low)
    yield from (Imitation(match.start(), _end_of_block(low, match.end())) for match in _BLOCKS.finditer(low))
    yield from (Imitation(*match.span()) for match in _LINES.finditer(low))


def _find_uses(low: str, tools: Iterable[str]) -> Iterator[Imitation]:
    names = {name for tool in tools for name in (tool.lower(), tool.lower().replace(".", "__")) if name}
    if not any(f"{name}(" in low for name in names):
        return
    calls = "|".join(re.escape(name) for name in sorted(names))
    # With nothing between the brackets a function is only named.
    yield from (Imitation(*match.span()) for match in re.finditer(rf"`?\b(?:{calls})\((?!\))[^\n]{{0,400}}\)`?", low))


def _find_tags(low: str) -> Iterator[Imitation]:
    """Each opening tag up to its closing one, when that is near; else the tag alone."""
    opened: dict[str, re.Match[str]] = {}
    for tag in _TAG.finditer(low):
        opening = opened.pop(tag["name"], None) if tag["close"] else None
        is_near = opening is not None and tag.end() - opening.start() <= _LONGEST
        yield Imitation(opening.start() if opening is not None and is_near else tag.start(), tag.end())
        if not tag["close"]:
            opened[tag["name"]] = tag


def _end_of_block(low: str, begin: int) -> int:
    """At the fence that closes it, or at the next empty line."""
    limit = min(begin + _LONGEST, len(low))
    fence, gap = low.find("```", begin, limit), low.find("\n\n", begin, limit)
    if fence >= 0:
        return fence + 3
    return gap if gap >= 0 else limit
