"""The messages of `llm.proto` and the name of its one method. The only door to what was generated from it."""

from midwatch.llm.grpc.llm_pb2 import (
    CodeExecutionDelta,
    ConversationMessage,
    ErrorInfo,
    GenerateRequest,
    GenerateResponse,
    GroundingChunkInfo,
    GroundingDelta,
    GroundingSupport,
    LLMConfig,
    NoticeInfo,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolCallDelta,
    ToolDefinition,
    UsageInfo,
)

__all__ = [
    "GENERATE",
    "MESSAGE_LIMIT",
    "SERVICE",
    "CodeExecutionDelta",
    "ConversationMessage",
    "ErrorInfo",
    "GenerateRequest",
    "GenerateResponse",
    "GroundingChunkInfo",
    "GroundingDelta",
    "GroundingSupport",
    "LLMConfig",
    "NoticeInfo",
    "TextDelta",
    "ThinkingDelta",
    "ToolCall",
    "ToolCallDelta",
    "ToolDefinition",
    "UsageInfo",
]

SERVICE = "llm.v1.LLMService"
GENERATE = "Generate"
MESSAGE_LIMIT = 64 * 1024 * 1024
"""Bytes. A conversation that is longer fits into no model."""
