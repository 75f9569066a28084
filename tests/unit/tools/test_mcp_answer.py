"""What a model reads of an MCP server's answer."""

from typing import Any

import pytest
from mcp_types import CallToolResult, Tool

from midwatch.tools.mcp.answer import MAX_CHARACTERS, read_answer, read_tool


def read_blocks(*blocks: dict[str, Any], **fields: Any) -> str:
    return read_answer(CallToolResult.model_validate({"content": blocks, **fields})).content


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def test_text_blocks_are_joined_by_a_newline() -> None:
    assert read_blocks(text("one"), text("two")) == "one\ntwo"


@pytest.mark.parametrize(
    ("block", "line"),
    [
        ({"type": "image", "data": "MTIzNDU=", "mimeType": "image/png"}, "[image, image/png, 5 bytes]"),
        ({"type": "audio", "data": "MTIzNDU2", "mimeType": "audio/wav"}, "[audio, audio/wav, 6 bytes]"),
        ({"type": "resource", "resource": {"uri": "a:b", "text": "é"}}, "[resource, unknown type, 2 bytes]"),
        (
            {"type": "resource", "resource": {"uri": "a:b", "blob": "MTI=", "mimeType": "application/zip"}},
            "[resource, application/zip, 2 bytes]",
        ),
        ({"type": "resource_link", "uri": "a:b", "name": "n", "size": 9}, "[resource_link, unknown type, 9 bytes]"),
        ({"type": "resource_link", "uri": "a:b", "name": "n"}, "[resource_link, unknown type, unknown size]"),
    ],
)
def test_what_is_not_text_is_named_and_measured(block: dict[str, Any], line: str) -> None:
    assert read_blocks(text("see:"), block) == f"see:\n{line}"


def test_structured_content_is_used_when_there_is_no_text() -> None:
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    assert read_blocks(structuredContent={"pods": [1, 2]}) == '{"pods":[1,2]}'
    assert read_blocks(image, structuredContent={"n": 1}) == '{"n":1}\n[image, image/png, 0 bytes]'
    assert read_blocks(text("one pod"), structuredContent={"n": 1}) == "one pod"


def test_a_text_over_the_limit_is_cut() -> None:
    content = read_blocks(text("x" * MAX_CHARACTERS + "y"))
    assert len(content) < MAX_CHARACTERS + 100
    assert "y" not in content[: MAX_CHARACTERS + 1]


def test_characters_that_cannot_be_stored_are_replaced() -> None:
    assert read_blocks(text("a\x00b")) == "a�b"


@pytest.mark.parametrize(
    ("annotations", "hint"),
    [
        (None, None),
        ({}, None),
        ({"readOnlyHint": True}, True),
        ({"readOnlyHint": False}, False),
        ({"readOnlyHint": True, "destructiveHint": False}, True),
        ({"readOnlyHint": True, "destructiveHint": True}, False),
        ({"destructiveHint": True}, False),
    ],
)
def test_a_tool_reads_only_if_it_says_so_and_does_not_say_it_destroys(
    annotations: dict[str, bool] | None, hint: object
) -> None:
    tool = Tool.model_validate({"name": "t", "inputSchema": {"type": "object"}, "annotations": annotations})
    assert read_tool(tool, server="s").read_only_hint is hint
