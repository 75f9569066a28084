"""The numbers on the wire, which others have compiled into their programs: a field may be added, and none may move."""

import pytest
from google.protobuf.descriptor import FieldDescriptor

from midwatch.llm.grpc import llm_pb2 as pb
from midwatch.llm.grpc import messages as wire

TARSY: dict[str, list[str]] = {
    "GenerateRequest": [
        "1 session_id",
        "2 messages*",
        "3 llm_config",
        "4 tools*",
        "5 execution_id",
        "6 clear_cache",
    ],
    "ConversationMessage": ["1 role", "2 content", "3 tool_calls*", "4 tool_call_id", "5 tool_name"],
    "ToolDefinition": ["1 name", "2 description", "3 parameters_schema"],
    "ToolCall": ["1 id", "2 name", "3 arguments"],
    "LLMConfig": [
        "1 provider",
        "2 model",
        "3 api_key_env",
        "4 credentials_env",
        "5 base_url",
        "6 max_tool_result_tokens",
        "7 native_tools*",
        "8 project",
        "9 location",
        "10 backend",
    ],
    "GenerateResponse": [
        "1 text",
        "2 thinking",
        "3 tool_call",
        "4 usage",
        "5 error",
        "6 code_execution",
        "7 grounding",
        "10 is_final",
    ],
    "TextDelta": ["1 content"],
    "ThinkingDelta": ["1 content"],
    "ToolCallDelta": ["1 call_id", "2 name", "3 arguments"],
    "UsageInfo": [
        "1 input_tokens",
        "2 output_tokens",
        "3 total_tokens",
        "4 thinking_tokens",
        "5 cache_read_tokens",
        "6 cache_creation_tokens",
    ],
    "ErrorInfo": ["1 message", "2 code", "3 retryable"],
    "CodeExecutionDelta": ["1 code", "2 result"],
    "GroundingDelta": [
        "1 web_search_queries*",
        "2 grounding_chunks*",
        "3 grounding_supports*",
        "4 search_entry_point_html",
    ],
    "GroundingChunkInfo": ["1 uri", "2 title"],
    "GroundingSupport": ["1 start_index", "2 end_index", "3 text", "4 grounding_chunk_indices*"],
}
OURS = {
    "GenerateRequest": ["100 extended", "101 agent"],
    "ConversationMessage": ["100 provider_state", "101 thinking", "102 is_error"],
    "ToolCall": ["100 call_id"],
    "LLMConfig": ["100 entry", "101 project_env", "102 location_env"],
    "GenerateResponse": ["100 provider_state", "101 notice", "102 bundle*"],
    "ThinkingDelta": ["100 source"],
    "ErrorInfo": ["100 feedback", "101 retry_after"],
    "CodeExecutionDelta": ["100 language", "101 is_error"],
    "NoticeInfo": ["1 code", "2 message"],
}


def list_fields(message: str) -> list[str]:
    fields: list[FieldDescriptor] = sorted(
        pb.DESCRIPTOR.message_types_by_name[message].fields, key=lambda each: each.number
    )
    return [f"{field.number} {field.name}{'*' if field.is_repeated else ''}" for field in fields]


@pytest.mark.parametrize("message", sorted({*TARSY, *OURS}))
def test_no_field_has_moved(message: str) -> None:
    assert list_fields(message) == [*TARSY.get(message, []), *OURS.get(message, [])]


def test_every_message_is_pinned() -> None:
    assert {*TARSY, *OURS} == set(pb.DESCRIPTOR.message_types_by_name)
    assert (pb.DESCRIPTOR.package, wire.SERVICE, wire.GENERATE) == ("llm.v1", "llm.v1.LLMService", "Generate")


def test_a_request_written_byte_by_byte_is_read() -> None:
    """As any other program's protobuf writes it."""
    message = b"\x0a\x04user\x12\x02go"
    config = b"\x0a\x06openai\x12\x01m\x1a\x03KEY\x3a\x06\x0a\x02gs\x10\x01"
    request = wire.GenerateRequest.FromString(b"\x0a\x03s-1\x12\x0a" + message + b"\x1a\x18" + config + b"\x2a\x03e-1")
    assert (request.session_id, request.execution_id, request.messages[0].content) == ("s-1", "e-1", "go")
    assert (request.llm_config.provider, request.llm_config.model, request.llm_config.api_key_env) == (
        "openai",
        "m",
        "KEY",
    )
    assert dict(request.llm_config.native_tools) == {"gs": True}
