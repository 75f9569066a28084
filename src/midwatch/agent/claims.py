"""A reply's words before they become a conclusion: what of a conversation they are compared with."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from midwatch.agent.prompts.fences import read_fenced
from midwatch.domain.messages import Message, ToolMessage, UserMessage
from midwatch.safety.claims.findings import Inspection

Check = Callable[[str, Sequence[Message]], Awaitable[Inspection]]
"""Of a reply, and the conversation it ends."""

_BORNE_OUT: Final = frozenset(
    {
        "ALERT_DATA",
        "ANALYSIS",
        "ANSWER",
        "EARLIER_QUESTION",
        "EXECUTIVE_SUMMARY",
        "FINAL_ANALYSIS",
        "QUESTION",
        "RUNBOOK",
        "STAGE_ANALYSIS",
        "SYNTHESIS",
        "TOOL_RESULT",
    }
)
"""What a prompt holds of others' words that bear something out. What a model thought or drafted does not."""


async def find_nothing(text: str, _messages: Sequence[Message]) -> Inspection:
    return Inspection(findings=(), safe_text=text)


def gather_evidence(messages: Sequence[Message]) -> list[str]:
    """What was read in a conversation: tools' answers, and what was handed over at its beginning."""
    evidence: list[str] = []
    for message in messages:
        match message:
            case ToolMessage(content=content):
                evidence.append(content)
            case UserMessage(text=text):
                evidence += read_fenced(text, _BORNE_OUT)
            case _:
                pass
    return evidence
