"""Words and thoughts that come in several blocks, told apart by an empty line."""

from collections.abc import Iterator

from midwatch.llm.model import TextChunk, ThinkingChunk

_BETWEEN_BLOCKS = "\n\n"


class Voice:
    """One stream of text of an answer; a block is whatever the provider tells them apart by."""

    def __init__(self, chunk: type[TextChunk | ThinkingChunk]) -> None:
        self._chunk = chunk
        self._block: object = None

    def say(self, piece: object, *, block: object) -> Iterator[TextChunk | ThinkingChunk]:
        if not isinstance(piece, str) or not piece:
            return
        if self._block not in (None, block):
            yield self._chunk(text=_BETWEEN_BLOCKS)
        self._block = block
        yield self._chunk(text=piece)
