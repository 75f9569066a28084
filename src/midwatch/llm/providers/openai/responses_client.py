"""A model behind OpenAI's Responses API, which lets reasoning models keep their reasoning from call to call."""

import asyncio
import re
from collections.abc import Sequence
from functools import partial
from typing import final

import httpx

from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.breaker import Breaker
from midwatch.llm.concession import ConcedingModel
from midwatch.llm.model import Model, ModelRequest, NoticeChunk
from midwatch.llm.providers.openai.responses_request import ResponsesEncoder
from midwatch.llm.providers.openai.responses_response import ResponsesDecoder
from midwatch.llm.retry import BACKOFF, Sleep
from midwatch.llm.wire import Exchange, HttpModel, bearer, extend_path

_HOST = "api.openai.com"
_REASONING_MODELS = ("o1", "o3", "o4", "gpt-5")
_ABOUT_SUMMARIES = re.compile(r"reasoning[. ]summar", re.IGNORECASE)
_ABOUT_REASONING = re.compile(r"reasoning|encrypted[ _]content|'rs_", re.IGNORECASE)


def needs_responses(name: str, *, base_url: str) -> bool:
    """Only at OpenAI itself: whoever else speaks its protocol is sure to know chat completions, and no more."""
    host = httpx.URL(base_url).host
    return name.startswith(_REASONING_MODELS) and (host == _HOST or host.endswith(f".{_HOST}"))


def open_responses(
    *,
    provider: str,
    name: str,
    base_url: str,
    api_key: str | None,
    http: httpx.AsyncClient,
    backoff: Sequence[float] = BACKOFF,
    sleep: Sleep = asyncio.sleep,
    breaker: Breaker | None = None,
) -> Model:
    protocol = Responses(model=name, base_url=base_url)
    model = HttpModel(
        provider=provider,
        name=name,
        protocol=protocol,
        authorise=bearer(api_key),
        http=http,
        backoff=backoff,
        sleep=sleep,
        breaker=breaker,
    )
    return ConcedingModel(model, protocol=protocol)


@final
class Responses:
    def __init__(self, *, model: str, base_url: str) -> None:
        self._url = extend_path(base_url, "responses")
        self._encoder = ResponsesEncoder(model)

    def prepare(self, request: ModelRequest) -> Exchange:
        body = self._encoder.encode(request)
        return Exchange(url=self._url, body=body, new_decoder=partial(ResponsesDecoder, self._encoder.names))

    def concede(self, failure: ModelUnavailable) -> NoticeChunk | None:
        """Summaries are for verified organisations only, and reasoning may have been encrypted for another."""
        text, encoder = str(failure), self._encoder
        if failure.code != "invalid_request" or not encoder.has_reasoning:
            return None
        if _ABOUT_SUMMARIES.search(text) and encoder.has_summaries:
            encoder.has_summaries = False
            return NoticeChunk(code="no_summaries", message="the provider shows no summaries of this model's thinking")
        if not _ABOUT_REASONING.search(text):
            return None
        if encoder.forget_reasoning():
            message = "the provider did not take the model's earlier thinking back; it was left out"
            return NoticeChunk(code="thinking_left_out", message=message)
        encoder.has_reasoning = False
        return NoticeChunk(
            code="thinking_off", message="the provider refused to let this model think; it goes on without"
        )
