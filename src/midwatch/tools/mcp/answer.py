"""What a server's answer says, as text for a model; and what a server says of its tools."""

from collections.abc import Mapping, Sequence
from typing import Any, assert_never, cast

from mcp_types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)

from midwatch.domain.tools import ToolDefinition, ToolResult
from midwatch.kit.json import clean_text, decode, encode_text
from midwatch.tools.failure import FailureCode

MAX_CHARACTERS = 10 * 1024 * 1024
_MAX_NAME = 300
_KILO = 1000


def read_answer(answer: CallToolResult) -> ToolResult:
    error = FailureCode.TOOL_ERROR if answer.is_error else None
    return ToolResult(content=_limit(clean_text(_join_blocks(answer))), error=error)


def read_tool(tool: Tool, *, server: str) -> ToolDefinition:
    return ToolDefinition(
        server=server,
        name=tool.name,
        description=tool.description or "",
        schema=tool.input_schema,
        read_only_hint=_read_hint(tool.annotations),
        annotations={} if tool.annotations is None else tool.annotations.model_dump(by_alias=True, exclude_unset=True),
    )


def _read_hint(annotations: ToolAnnotations | None) -> bool | None:
    if annotations is None:
        return None
    return False if annotations.destructive_hint else annotations.read_only_hint


def _join_blocks(answer: CallToolResult) -> str:
    parts = [_read_block(block) for block in answer.content]
    structured = answer.structured_content
    texts = [block.text for block in answer.content if isinstance(block, TextContent)]
    if structured is not None and not _is_told(structured, texts):
        parts.insert(len(parts) if texts else 0, encode_text(structured))
    return "\n".join(parts)


def _is_told(structured: Mapping[str, Any], texts: Sequence[str]) -> bool:
    """Whether the texts say the same: most servers write down as text what they send as structure.

    What is no object by itself is wrapped in one, under a single key, and its parts may come as a text each.
    """
    if any(_means(text, structured) for text in texts):
        return True
    if len(structured) != 1:
        return False
    (value,) = structured.values()
    parts = cast("list[Any]", value) if isinstance(value, list) else [value]
    return len(parts) == len(texts) and all(map(_means, texts, parts))


def _means(text: str, value: Any) -> bool:
    if text == value:
        return True
    try:
        return decode(text) == value
    except ValueError:
        return False


def _read_block(block: ContentBlock) -> str:
    match block:
        case TextContent(text=text):
            return text
        case ImageContent() | AudioContent():
            return _hide(block.type, kind=block.mime_type, size=_decoded_size(block.data))
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return f"[resource {_short(resource.uri)}, {_short(resource.mime_type or 'text')}]\n{resource.text}"
        case EmbeddedResource(resource=BlobResourceContents() as resource):
            what = f"resource {_short(resource.uri)}"
            return _hide(what, kind=resource.mime_type, size=_decoded_size(resource.blob))
        case EmbeddedResource():
            return _hide("resource", kind=None, size=0)
        case ResourceLink():
            return _name_link(block)
        case _ as never:
            assert_never(never)


def _hide(what: str, *, kind: str | None, size: int) -> str:
    return f"[{what} {_short(kind or 'of unknown type')}, {_measure(size)}, not shown]"


def _name_link(link: ResourceLink) -> str:
    facts = [_short(link.name), _short(link.uri), *([_short(link.mime_type)] if link.mime_type else [])]
    facts += [] if link.size is None else [_measure(link.size)]
    told = f"[link {', '.join(facts)}, not followed]"
    return f"{told} {link.description}" if link.description else told


def _short(text: str) -> str:
    """On one line, and no longer than a name may be."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_NAME else f"{line[:_MAX_NAME]}…"


def _measure(size: int) -> str:
    if size < _KILO:
        return f"{size} bytes"
    return f"{size / _KILO:.0f} kB" if size < _KILO**2 else f"{size / _KILO**2:.1f} MB"


def _decoded_size(base64_text: str) -> int:
    return len(base64_text.rstrip("=")) * 3 // 4


def _limit(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[:MAX_CHARACTERS]}\n[cut here: the answer is longer]"
