"""What a provider wants to see again with one of its answers, labelled so that no other provider is sent it."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from midwatch.kit import json

Part = dict[str, Any]


def pack_state(label: str, parts: Sequence[Mapping[str, Any]]) -> bytes:
    return json.encode({label: [dict(part) for part in parts]})


def unpack_state(label: str, state: bytes | None) -> list[Part]:
    """Nothing when the answer came from another provider, or the bytes make no sense."""
    try:
        content = json.decode(state or b"null")
    except ValueError:
        return []
    parts: Any = cast("Part", content).get(label) if isinstance(content, dict) else None
    if not isinstance(parts, list):
        return []
    return [cast("Part", part) for part in cast("list[Any]", parts) if isinstance(part, dict)]
