"""What a person may select: the id of exactly one thing. Only what an authenticated person sent is read with this."""

from collections.abc import Sequence
from typing import Final

from midwatch.safety.context import SERVER_PREFIX
from midwatch.safety.resources import build_id, find_flaw, split_id

MOST_SELECTED: Final = 20
LONGEST_ID: Final = 300
ID_FORM: Final = "{kind}:{host}:{uid} or {kind}:{uid}"


def find_id_flaw(text: str) -> str | None:
    """Why a text is the id of nothing that can be selected."""
    if len(text) > LONGEST_ID:
        return f"is longer than {LONGEST_ID} characters"
    parts = split_id(text)
    if parts is None:
        return "is no id"
    if _settle(text).startswith(SERVER_PREFIX):
        return "stands for a tool server"
    return next((f"has a part that {flaw}" for part in parts if part is not None and (flaw := find_flaw(part))), None)


def settle_selection(ids: Sequence[str]) -> tuple[str, ...]:
    """As resources write their own ids, each once, in order."""
    return tuple(dict.fromkeys(map(_settle, ids)))


def _settle(text: str) -> str:
    parts = split_id(text)
    return text if parts is None else build_id(parts.kind, parts.uid, host=parts.host)
