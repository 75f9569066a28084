"""What an answer of Gemini was made of, kept so that it can be sent back part by part, signatures included.

A signature belongs to its own part: parts that carry one are never joined with their neighbours.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from midwatch.llm.provider_state import Part, pack_state

_SIGNATURE = "thoughtSignature"
_HEAVY = frozenset({"inlineData", "fileData"})
_PLAIN = frozenset({"text", "thought"})


class KeptParts:
    """The parts of one answer as they come; pieces of one text become one part again."""

    def __init__(self) -> None:
        self._parts: list[Part] = []
        self._pieces: list[str] = []
        """Of the last part, if that is a text that may still grow."""

    def add(self, part: Part) -> None:
        if not (_HEAVY.isdisjoint(part) and isinstance(part.get("text", ""), str)):
            return
        if not _is_plain_text(part):
            self._close()
            self._parts.append(part)
        elif not part["text"]:
            return
        elif self._pieces and self._parts[-1].get("thought") == part.get("thought"):
            self._pieces.append(part["text"])
        else:
            self._close()
            self._parts.append(dict(part))
            self._pieces = [part["text"]]

    def pack(self, label: str) -> bytes | None:
        """None when the text alone says it all."""
        self._close()
        if all(part.keys() == {"text"} for part in self._parts):
            return None
        return pack_state(label, self._parts)

    def _close(self) -> None:
        if self._pieces:
            self._parts[-1]["text"] = "".join(self._pieces)
            self._pieces = []


def list_calls(parts: Sequence[Part]) -> list[Part]:
    return [part for part in parts if "functionCall" in part]


def is_signed(part: Mapping[str, Any]) -> bool:
    return bool(part.get(_SIGNATURE))


def sign(part: Part, signature: str) -> Part:
    return {**part, _SIGNATURE: signature}


def _is_plain_text(part: Part) -> bool:
    return "text" in part and _PLAIN.issuperset(part)
