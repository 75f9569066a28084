"""Calls of models and tools as spans, in OpenTelemetry's words for them. What was said only when asked for."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, assert_never

from midwatch.agent.draft import Question
from midwatch.agent.journal import Reply
from midwatch.agent.recovery import Failure
from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from midwatch.domain.tools import ToolCall, ToolResult, Waiting
from midwatch.kit.json import encode_text
from midwatch.llm.ladder import Ladder
from midwatch.masking.mask import mask_shown
from midwatch.telemetry.tracing import Span, open_span, takes_content

_LONGEST = 32_000
_WELL_KNOWN = {"google": "gcp.gemini", "vertexai": "gcp.vertex_ai", "xai": "x_ai"}
_MADE_UP = "TOOL_NOT_FOUND"


def open_model_span(ladder: Ladder, question: Question) -> AbstractContextManager[Span]:
    model = ladder.current
    return open_span(
        f"chat {model.name}",
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _WELL_KNOWN.get(ladder.kind, ladder.kind) or model.provider,
            "gen_ai.request.model": model.name,
            "midwatch.provider": model.provider,
            "midwatch.iteration": question.iteration,
        },
    )


def note_reply(span: Span, question: Question, reply: Reply, *, failure: Failure | None) -> None:
    span.note(
        {
            "gen_ai.usage.input_tokens": reply.usage.input_tokens,
            "gen_ai.usage.output_tokens": reply.usage.output_tokens,
            "midwatch.tool_calls": len(reply.calls),
        }
    )
    if failure is not None:
        span.fail(failure.code)
    if takes_content():
        answer = AssistantMessage(text=reply.text, thinking=reply.thinking, calls=reply.calls)
        span.note(
            {
                "gen_ai.input.messages": _write(question.messages),
                "gen_ai.output.messages": _write([answer]),
            }
        )


def open_tool_span(call: ToolCall) -> AbstractContextManager[Span]:
    call_id = str(call.call_id)
    return open_span("execute_tool", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.id": call_id})


def note_result(span: Span, call: ToolCall, result: ToolResult | Waiting) -> None:
    if isinstance(result, Waiting):
        span.note({"midwatch.approval.id": str(result.approval_id)})
        return
    # Only now is it sure that the name is a tool's, and not something that the model wrote in its place.
    if result.error != _MADE_UP:
        span.rename(f"execute_tool {call.name}")
        span.note({"gen_ai.tool.name": call.name, "gen_ai.tool.type": "extension"})
    if result.error is not None:
        span.fail(result.error)
    if takes_content():
        span.note(
            {
                "gen_ai.tool.call.arguments": _show(call.arguments)[:_LONGEST],
                "gen_ai.tool.call.result": result.content[:_LONGEST],
            }
        )


def _write(messages: Sequence[Message]) -> str:
    return encode_text([_describe(message) for message in messages])[:_LONGEST]


def _describe(message: Message) -> dict[str, Any]:
    match message:
        case SystemMessage(text=text):
            return {"role": "system", "parts": [_text(text)]}
        case UserMessage(text=text):
            return {"role": "user", "parts": [_text(text)]}
        case ToolMessage(provider_id=call_id, content=content):
            return {"role": "tool", "parts": [{"type": "tool_call_response", "id": call_id, "response": content}]}
        case AssistantMessage(text=text, calls=calls):
            asked = [
                {
                    "type": "tool_call",
                    "id": call.provider_id,
                    "name": call.name,
                    "arguments": _show(call.arguments),
                }
                for call in calls
            ]
            return {"role": "assistant", "parts": [*([_text(_show(text))] if text else []), *asked]}
        case _ as never:
            assert_never(never)


def _show(written: str) -> str:
    """What a model wrote is kept as it is, and masked wherever it is shown."""
    return mask_shown(written)


def _text(content: str) -> dict[str, str]:
    return {"type": "text", "content": content}
