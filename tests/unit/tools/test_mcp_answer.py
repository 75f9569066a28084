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
        ({"type": "image", "data": "MTIzNDU=", "mimeType": "image/png"}, "[image image/png, 5 bytes, not shown]"),
        ({"type": "image", "data": "MTIz" * 4000, "mimeType": "image/png"}, "[image image/png, 12 kB, not shown]"),
        ({"type": "image", "data": "MTIz" * 800_000, "mimeType": ""}, "[image of unknown type, 2.4 MB, not shown]"),
        ({"type": "audio", "data": "MTIzNDU2", "mimeType": "audio/wav"}, "[audio audio/wav, 6 bytes, not shown]"),
        ({"type": "resource", "resource": {"uri": "a:b", "text": "é\n!"}}, "[resource a:b, text]\né\n!"),
        (
            {"type": "resource", "resource": {"uri": "a:b", "blob": "MTI=", "mimeType": "application/zip"}},
            "[resource a:b application/zip, 2 bytes, not shown]",
        ),
        (
            {"type": "resource_link", "uri": "a:b", "name": "n", "size": 9, "mimeType": "text/x", "description": "d"},
            "[link n, a:b, text/x, 9 bytes, not followed] d",
        ),
        ({"type": "resource_link", "uri": "a:b", "name": "n\nm"}, "[link n m, a:b, not followed]"),
    ],
)
@pytest.mark.parametrize("is_error", [False, True])
def test_what_is_not_text_is_named_and_stands_where_it_stood(
    block: dict[str, Any], line: str, *, is_error: bool
) -> None:
    assert read_blocks(text("see:"), block, text("there"), isError=is_error) == f"see:\n{line}\nthere"


def test_structured_content_is_told_unless_the_text_tells_the_same() -> None:
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    assert read_blocks(structuredContent={"pods": [1, 2]}) == '{"pods":[1,2]}'
    assert read_blocks(image, structuredContent={"n": 1}) == '{"n":1}\n[image image/png, 0 bytes, not shown]'
    assert read_blocks(text("one pod"), structuredContent={"n": 1}) == 'one pod\n{"n":1}'
    assert read_blocks(text('{ "n": 1 }'), structuredContent={"n": 1}) == '{ "n": 1 }'
    assert read_blocks(text("aye"), structuredContent={"result": "aye"}) == "aye"
    assert read_blocks(text("aye"), structuredContent={"content": "aye"}) == "aye"
    assert read_blocks(text("a"), text("2"), structuredContent={"result": ["a", 2]}) == "a\n2"
    assert read_blocks(text("a"), structuredContent={"result": ["a", 2]}) == 'a\n{"result":["a",2]}'


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
