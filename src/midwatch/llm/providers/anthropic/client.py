"""A model behind Anthropic's Messages API."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import final

import httpx

from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.breaker import Breaker
from midwatch.llm.concession import ConcedingModel
from midwatch.llm.model import Model, ModelRequest, NoticeChunk
from midwatch.llm.providers.anthropic.abilities import find_ability
from midwatch.llm.providers.anthropic.request import RequestEncoder
from midwatch.llm.providers.anthropic.response import StreamDecoder
from midwatch.llm.retry import BACKOFF, Sleep
from midwatch.llm.wire import Exchange, HttpModel, by_header, extend_path

_ADDRESS = "https://api.anthropic.com"
_VERSION = "2023-06-01"


def open_messages(
    *,
    provider: str,
    name: str,
    base_url: str | None,
    api_key: str | None,
    http: httpx.AsyncClient,
    backoff: Sequence[float] = BACKOFF,
    sleep: Sleep = asyncio.sleep,
    breaker: Breaker | None = None,
) -> Model:
    protocol = Messages(model=name, url=extend_base(base_url or _ADDRESS))
    beta = {"anthropic-beta": protocol.beta} if protocol.beta else {}
    model = HttpModel(
        provider=provider,
        name=name,
        protocol=protocol,
        authorise=by_header("x-api-key", api_key, extra={"anthropic-version": _VERSION, **beta}),
        http=http,
        backoff=backoff,
        sleep=sleep,
        breaker=breaker,
    )
    return ConcedingModel(model, protocol=protocol)


@final
class Messages:
    """Others that host Claude have the model in the address, and their version of the protocol in the body."""

    def __init__(self, *, model: str, url: httpx.URL, hosted_version: str | None = None) -> None:
        ability = find_ability(model)
        opening = {"anthropic_version": hosted_version} if hosted_version else {"model": model}
        self._url = url
        self._encoder = RequestEncoder(opening, ability=ability)
        self.beta = ability.beta

    def prepare(self, request: ModelRequest) -> Exchange:
        body = self._encoder.encode(request)
        return Exchange(url=self._url, body=body, new_decoder=partial(StreamDecoder, self._encoder.names))

    def concede(self, failure: ModelUnavailable) -> NoticeChunk | None:
        """Thinking is bound to all that was said before it, such as the tools at that time; those may have changed."""
        text = str(failure)
        if failure.code != "invalid_request" or "thinking" not in text or not self._encoder.thinks:
            return None
        if "signature" in text and self._encoder.forget_thinking():
            message = "the provider did not take the model's earlier thinking back; it was left out"
            return NoticeChunk(code="thinking_left_out", message=message)
        self._encoder.stop_thinking()
        return NoticeChunk(
            code="thinking_off", message="the provider refused to let this model think; it goes on without"
        )


def extend_base(base_url: str) -> httpx.URL:
    is_versioned = httpx.URL(base_url).path.rstrip("/").endswith("/v1")
    return extend_path(base_url, "messages" if is_versioned else "v1/messages")
