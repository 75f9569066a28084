"""The content blocks of one answer, put together from their pieces in the order they came."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.loose_json import Fields, read_fields, read_object, read_text
from midwatch.llm.model import Chunk, TextChunk, ThinkingChunk
from midwatch.llm.provider_state import pack_state
from midwatch.llm.providers.anthropic.blocks import LABEL
from midwatch.llm.voices import Voice


@dataclass(slots=True, kw_only=True)
class AnswerBlock:
    kind: str
    text: str = ""
    """Words, thoughts or the JSON of arguments."""
    signature: str = ""
    data: str = ""
    provider_id: str = ""
    name: str = ""

    def pack(self) -> Fields | None:
        """As it must be sent back. Thinking that was cut before its signature cannot be."""
        match self.kind:
            case "thinking" if self.signature:
                return {"type": self.kind, "thinking": self.text, "signature": self.signature}
            case "redacted_thinking":
                return {"type": self.kind, "data": self.data}
            case "text" if self.text:
                return {"type": self.kind, "text": self.text}
            case "tool_use":
                return {"type": self.kind, "id": self.provider_id}
            case _:
                return None


class Assembly:
    def __init__(self) -> None:
        self._blocks: dict[Any, AnswerBlock] = {}
        self._voices = {"text": Voice(TextChunk), "thinking": Voice(ThinkingChunk)}

    @property
    def has_text(self) -> bool:
        return any(block.kind == "text" and block.text.strip() for block in self._blocks.values())

    @property
    def ends_in_half_a_call(self) -> bool:
        last = next(reversed(self._blocks.values()), None)
        return last is not None and last.kind == "tool_use" and read_object(last.text) is None

    def start(self, index: Any, content: Fields) -> Iterator[Chunk]:
        block = AnswerBlock(
            kind=read_text(content.get("type")),
            signature=read_text(content.get("signature")),
            data=read_text(content.get("data")),
            provider_id=self._choose_id(content),
            name=read_text(content.get("name")),
        )
        self._blocks[index] = block
        if block.kind == "tool_use" and (whole := read_fields(content.get("input"))):
            block.text = json.encode_text(whole)
        yield from self._speak(index, read_text(content.get(block.kind)))

    def extend(self, index: Any, delta: Fields) -> Iterator[Chunk]:
        block = self._blocks.get(index)
        match delta.get("type") if block else None:
            case "text_delta":
                yield from self._speak(index, read_text(delta.get("text")))
            case "thinking_delta":
                yield from self._speak(index, read_text(delta.get("thinking")))
            case "signature_delta":
                self._blocks[index].signature = read_text(delta.get("signature"))
            case "input_json_delta":
                self._blocks[index].text += read_text(delta.get("partial_json"))
            case _:
                pass

    def list_calls(self) -> list[AnswerBlock]:
        return [block for block in self._blocks.values() if block.kind == "tool_use"]

    def pack(self) -> bytes | None:
        """None for words alone: those need no bytes of their own to be said again."""
        parts = [part for block in self._blocks.values() if (part := block.pack())]
        return pack_state(LABEL, parts) if any(part["type"] != "text" for part in parts) else None

    def _speak(self, index: Any, piece: str) -> Iterator[Chunk]:
        block = self._blocks[index]
        if voice := self._voices.get(block.kind):
            block.text += piece
            yield from voice.say(piece, block=index)

    def _choose_id(self, content: Fields) -> str:
        provider_id = read_text(content.get("id"))
        is_taken = any(block.provider_id == provider_id for block in self._blocks.values())
        return f"toolu_{new_id().hex}" if is_taken or not provider_id else provider_id
