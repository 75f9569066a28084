"""Tool calls put together from their pieces, in all the ways servers are known to cut them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.model import CallChunk
from midwatch.llm.toolnames import ToolNames


@dataclass(slots=True, kw_only=True)
class _Call:
    index: int | None
    provider_id: str
    name: str
    arguments: str

    def is_whole(self) -> bool:
        """Cheap for the usual answer, no: it is asked only when a piece carries a name again."""
        if not self.arguments.rstrip().endswith("}"):
            return False
        try:
            json.decode(self.arguments)
        except ValueError:
            return False
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    index: int | None
    provider_id: str
    name: str
    arguments: str

    def begins_after(self, call: _Call) -> bool:
        """Servers that give every call the index 0, or none, tell calls apart only by a new name or id."""
        if not self.name or (self.provider_id and self.provider_id == call.provider_id):
            return False
        has_other_id = bool(self.provider_id and call.provider_id)
        has_other_name = self.name != call.name
        if not call.arguments:
            return has_other_id or (has_other_name and self.index is None)
        return (has_other_id or has_other_name or bool(self.arguments.strip())) and call.is_whole()


class CallAssembly:
    """The calls of one answer, handed out when the answer is whole."""

    def __init__(self) -> None:
        self._calls: list[_Call] = []

    @property
    def ends_in_half_a_call(self) -> bool:
        return bool(self._calls) and not self._calls[-1].is_whole()

    def add(self, deltas: Any) -> None:
        if not isinstance(deltas, list):
            return
        for delta in cast("list[Any]", deltas):
            if isinstance(delta, dict):
                self._add_piece(_read_piece(cast("dict[str, Any]", delta)))

    def finish(self, names: ToolNames) -> Iterator[CallChunk]:
        used: set[str] = set()
        for call in self._calls:
            provider_id = call.provider_id
            if not provider_id or provider_id in used:
                provider_id = f"call_{new_id().hex}"
            used.add(provider_id)
            name = names.decode(call.name)
            yield CallChunk(
                provider_id=provider_id, name=name, arguments=call.arguments if call.arguments.strip() else "{}"
            )

    def _add_piece(self, piece: _Piece) -> None:
        call = self._find(piece)
        if call is None or piece.begins_after(call):
            self._calls.append(
                _Call(index=piece.index, provider_id=piece.provider_id, name=piece.name, arguments=piece.arguments)
            )
            return
        call.provider_id = call.provider_id or piece.provider_id
        call.name = call.name or piece.name
        call.arguments += piece.arguments

    def _find(self, piece: _Piece) -> _Call | None:
        """The call the piece belongs to: the latest with its index or id, else the latest of all."""
        if piece.index is not None:
            found = [call for call in self._calls if call.index == piece.index]
        else:
            found = [call for call in self._calls if piece.provider_id and call.provider_id == piece.provider_id]
        if not found and not (piece.name and (piece.provider_id or piece.index is not None)):
            found = self._calls
        return found[-1] if found else None


def _read_piece(delta: dict[str, Any]) -> _Piece:
    index = delta.get("index")
    function = delta.get("function")
    fields = cast("dict[str, Any]", function) if isinstance(function, dict) else {}
    arguments: Any = fields.get("arguments")
    return _Piece(
        index=index if isinstance(index, int) else None,
        provider_id=_text(delta.get("id")),
        name=_text(fields.get("name")),
        arguments=_text(arguments if isinstance(arguments, str | None) else json.encode_text(arguments)),
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
