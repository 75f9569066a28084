"""Asking a model in a test: every chunk that came, how it failed, and how long it would have waited."""

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import httpx

from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.breaker import Breaker
from midwatch.llm.model import Chunk, Model, ModelRequest, NoticeChunk
from midwatch.llm.retry import RETRYING

_ROOM = 0.26
"""How far a wait may be off, since waits are varied."""


@dataclass
class FakeSleep:
    """Time passes only here, so it is the clock too."""

    waits: list[float] = field(default_factory=list[float])
    now: float = 1_000.0

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def new_breaker(self, provider: str = "main") -> Breaker:
        return Breaker(provider=provider, clock=lambda: self.now)


@dataclass
class Asking:
    """What a call of the model led to."""

    chunks: list[Chunk]
    """Without the notices of another attempt."""
    failure: ModelUnavailable | None
    waits: list[float]
    retries: list[str]
    """What was said of each attempt to come."""

    @property
    def outcome(self) -> tuple[str, bool] | None:
        return (self.failure.code, self.failure.retryable) if self.failure else None

    def has_waited(self, *expected: float) -> bool:
        return len(self.waits) == len(expected) and all(
            abs(wait - meant) <= meant * _ROOM for wait, meant in zip(self.waits, expected, strict=True)
        )


async def collect(model: Model, request: ModelRequest, chunks: list[Chunk]) -> ModelUnavailable | None:
    try:
        async with asyncio.timeout(60), aclosing(model.stream(request)) as stream:
            async for chunk in stream:
                chunks.append(chunk)  # noqa: PERF401 - what came before a failure counts
    except ModelUnavailable as failure:
        return failure
    return None


async def ask_once(model: Model, request: ModelRequest, *, sleep: FakeSleep | None = None) -> Asking:
    came: list[Chunk] = []
    failure = await collect(model, request, came)
    retries = [chunk.message for chunk in came if isinstance(chunk, NoticeChunk) and chunk.code == RETRYING]
    chunks = [chunk for chunk in came if not (isinstance(chunk, NoticeChunk) and chunk.code == RETRYING)]
    return Asking(chunks, failure, sleep.waits if sleep else [], retries)


async def stop_early(model: Model, request: ModelRequest) -> Chunk:
    async with aclosing(model.stream(request)) as stream:
        return await anext(stream)


AT_REST = "Requests: 0 active, 0 queued | Connections: 0 active"


def describe_pool(http: httpx.AsyncClient) -> str:
    """How busy the client's connections are, which it shows to nobody: the busiest of its pools."""
    pools: list[Any] = getattr(http, "_pools", [])
    transports = [getattr(pool.client, "_transport", None) for pool in pools]
    told = [repr(getattr(transport, "_pool", None)) for transport in transports]
    return next((each for each in told if AT_REST not in each), AT_REST)
