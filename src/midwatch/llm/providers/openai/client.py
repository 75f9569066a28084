"""A model behind OpenAI's protocols: chat completions for all who speak them, Responses where reasoning needs it."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import final

import httpx

from midwatch.llm.breaker import Breaker
from midwatch.llm.model import Model, ModelRequest
from midwatch.llm.providers.openai.request import RequestEncoder
from midwatch.llm.providers.openai.response import StreamDecoder
from midwatch.llm.providers.openai.responses_client import needs_responses, open_responses
from midwatch.llm.retry import BACKOFF, Sleep
from midwatch.llm.wire import Exchange, HttpModel, bearer, extend_path


def open_openai(
    *,
    provider: str,
    name: str,
    base_url: str,
    api_key: str | None,
    http: httpx.AsyncClient,
    backoff: Sequence[float] = BACKOFF,
    breaker: Breaker | None = None,
) -> Model:
    open_model = open_responses if needs_responses(name, base_url=base_url) else open_chat_completions
    return open_model(
        provider=provider,
        name=name,
        base_url=base_url,
        api_key=api_key,
        http=http,
        backoff=backoff,
        breaker=breaker,
    )


def open_chat_completions(
    *,
    provider: str,
    name: str,
    base_url: str,
    api_key: str | None,
    http: httpx.AsyncClient,
    backoff: Sequence[float] = BACKOFF,
    sleep: Sleep = asyncio.sleep,
    breaker: Breaker | None = None,
) -> HttpModel:
    return HttpModel(
        provider=provider,
        name=name,
        protocol=ChatCompletions(model=name, base_url=base_url),
        authorise=bearer(api_key),
        http=http,
        backoff=backoff,
        sleep=sleep,
        breaker=breaker,
    )


@final
class ChatCompletions:
    def __init__(self, *, model: str, base_url: str) -> None:
        self._url = extend_path(base_url, "chat/completions")
        self._encoder = RequestEncoder(model)

    def prepare(self, request: ModelRequest) -> Exchange:
        body = self._encoder.encode(request)
        return Exchange(url=self._url, body=body, new_decoder=partial(StreamDecoder, self._encoder.names))
