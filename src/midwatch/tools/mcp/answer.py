"""What a server's answer says, as text for a model; and what a server says of its tools."""

from typing import assert_never

from mcp_types import (
    AudioContent,
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
from midwatch.kit.json import clean_text, encode_text
from midwatch.tools.failure import FailureCode

MAX_CHARACTERS = 10 * 1024 * 1024
_MAX_MIME_TYPE = 80


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
    )


def _read_hint(annotations: ToolAnnotations | None) -> bool | None:
    if annotations is None:
        return None
    return False if annotations.destructive_hint else annotations.read_only_hint


def _join_blocks(answer: CallToolResult) -> str:
    parts = [_read_block(block) for block in answer.content]
    if answer.structured_content is not None and not any(isinstance(block, TextContent) for block in answer.content):
        parts.insert(0, encode_text(answer.structured_content))
    return "\n".join(parts)


def _read_block(block: ContentBlock) -> str:
    match block:
        case TextContent(text=text):
            return text
        case ImageContent() | AudioContent():
            return _describe(block.type, mime_type=block.mime_type, size=_decoded_size(block.data))
        case EmbeddedResource(resource=resource):
            is_text = isinstance(resource, TextResourceContents)
            size = len(resource.text.encode()) if is_text else _decoded_size(resource.blob)
            return _describe(block.type, mime_type=resource.mime_type, size=size)
        case ResourceLink():
            return _describe(block.type, mime_type=block.mime_type, size=block.size)
        case _ as never:
            assert_never(never)


def _describe(what: str, *, mime_type: str | None, size: int | None) -> str:
    known_size = "unknown size" if size is None else f"{size} bytes"
    return f"[{what}, {(mime_type or 'unknown type')[:_MAX_MIME_TYPE]}, {known_size}]"


def _decoded_size(base64_text: str) -> int:
    return len(base64_text.rstrip("=")) * 3 // 4


def _limit(text: str) -> str:
    if len(text) <= MAX_CHARACTERS:
        return text
    return f"{text[:MAX_CHARACTERS]}\n[cut here: the answer is longer]"
