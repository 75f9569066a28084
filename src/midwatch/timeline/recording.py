"""A session's model traffic as a script: played by a scripted model, it says the same again, without any provider."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

import yaml

from midwatch.domain.errors import Conflict
from midwatch.kit import json
from midwatch.masking.mask import mask_shown
from midwatch.store.engine import Store
from midwatch.store.recordings import RecordedConversation, RecordedTurn, read_recording

_LINE_ENDS = frozenset("\r\x85\u2028\u2029\ufeff")
"""What YAML would read as the end of a line, or not at all, unless it is spelt out."""


class _Dumper(yaml.SafeDumper):
    pass


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    node = dumper.represent_str(text)
    if not _LINE_ENDS.isdisjoint(text):
        node.style = '"'
    return node


_Dumper.add_representer(str, _represent_text)


async def record_session(store: Store, session_id: UUID) -> str:
    """A script in YAML. Raises Conflict when there is nothing to play."""
    async with store.connect() as tx:
        conversations = await read_recording(tx, session_id)
    return render_script(conversations)


def render_script(conversations: Sequence[RecordedConversation]) -> str:
    """An agent that was at work more than once has a list for each time."""
    if not any(conversation.turns for conversation in conversations):
        raise Conflict("no model has said anything in this session: there is nothing to record")
    parts: dict[str, list[list[dict[str, Any]]]] = {}
    for conversation in conversations:
        parts.setdefault(conversation.agent, []).append([_render_turn(turn) for turn in conversation.turns])
    agents = {agent: times if len(times) > 1 else times[0] for agent, times in parts.items()}
    return yaml.dump({"agents": agents}, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=120)


def _render_turn(turn: RecordedTurn) -> dict[str, Any]:
    parts: dict[str, Any] = {
        "thinking": turn.thinking,
        "text": turn.text,
        "calls": [
            {"name": name, "arguments": _render_arguments(mask_shown(arguments))} for name, arguments in turn.calls
        ],
        "usage": {name: count for name, count in asdict(turn.usage).items() if count},
    }
    return {name: part for name, part in parts.items() if part}


def _render_arguments(arguments: str) -> Any:
    """As an object where that is written in the very same way again."""
    try:
        read: object = json.decode(arguments)
    except ValueError:
        return arguments
    is_same = arguments.startswith("{") and json.encode_text(read) == arguments
    return read if is_same else arguments
