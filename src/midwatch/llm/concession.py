"""Asking once more without something that the provider refuses, where the question can do without it."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Protocol, final

import structlog

from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.model import Chunk, Model, ModelRequest, NoticeChunk

log = structlog.get_logger()


class Yielding(Protocol):
    def concede(self, failure: ModelUnavailable) -> NoticeChunk | None:
        """Changes how the next question is put, and says so. None when there is nothing left to give up."""
        ...


@final
class ConcedingModel:
    """Each concession is made once and holds for the rest of the conversation."""

    def __init__(self, inner: Model, *, protocol: Yielding) -> None:
        self.provider = inner.provider
        self.name = inner.name
        self._inner = inner
        self._protocol = protocol

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        """Notices come with the first word, not before: whoever waits for the model still waits for its first word."""
        notices: list[NoticeChunk] = []
        while True:
            is_answering = False
            try:
                async with aclosing(self._inner.stream(request)) as chunks:
                    async for chunk in chunks:
                        while notices:
                            yield notices.pop(0)
                        is_answering = is_answering or not isinstance(chunk, NoticeChunk)
                        yield chunk
            except ModelUnavailable as failure:
                notice = None if is_answering else self._protocol.concede(failure)
                if notice is None:
                    raise
                notices.append(notice)
                log.warning("model_request_simplified", provider=self.provider, code=notice.code)
            else:
                return
