"""A conversation told again in few words, for whoever has to know what an agent is after. Pure."""

from collections.abc import Sequence

from midwatch.domain.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage

_TASK_SHARE = 2
"""One part of so many is for what the agent was asked to do."""
_LONGEST_ANSWER = 400
_GAP = "[…]"


def retell(messages: Sequence[Message], *, most: int) -> str:
    """The task, and of what followed the newest that fits. At most so many characters."""
    told = [line for message in messages if (line := _tell(message))]
    if not told:
        return ""
    task = _shorten(told[0], most // _TASK_SHARE)
    room = most - len(task) - len(_GAP) - 2
    kept: list[str] = []
    for line in reversed(told[1:]):
        room -= len(line) + 2
        if room < 0:
            break
        kept.append(line)
    gap = [_GAP] if len(kept) < len(told) - 1 else []
    return "\n\n".join([task, *gap, *reversed(kept)])[:most]


def _tell(message: Message) -> str:
    match message:
        case SystemMessage():
            return ""
        case UserMessage(text=text):
            return f"user: {text}"
        case AssistantMessage():
            calls = [f"[calls {call.name} {call.arguments}]" for call in message.calls]
            return f"assistant: {' '.join(part for part in (message.text, *calls) if part)}"
        case ToolMessage():
            return f"{message.name}: {_shorten(message.content, _LONGEST_ANSWER)}"


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
