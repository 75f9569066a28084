"""A model behind the OpenAI chat-completions protocol: OpenAI itself, vLLM, Ollama, llama.cpp and their like."""

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import final

import httpx

from midwatch.llm.model import ModelRequest
from midwatch.llm.providers.openai.request import RequestEncoder
from midwatch.llm.providers.openai.response import StreamDecoder
from midwatch.llm.retry import BACKOFF, Sleep
from midwatch.llm.wire import Exchange, HttpModel, bearer, extend_path


def open_chat_completions(
    *,
    provider: str,
    name: str,
    base_url: str,
    api_key: str | None,
    http: httpx.AsyncClient,
    backoff: Sequence[float] = BACKOFF,
    sleep: Sleep = asyncio.sleep,
) -> HttpModel:
    return HttpModel(
        provider=provider,
        name=name,
        protocol=ChatCompletions(model=name, base_url=base_url),
        authorise=bearer(api_key),
        http=http,
        backoff=backoff,
        sleep=sleep,
    )


@final
class ChatCompletions:
    def __init__(self, *, model: str, base_url: str) -> None:
        self._url = extend_path(base_url, "chat/completions")
        self._encoder = RequestEncoder(model)

    def prepare(self, request: ModelRequest) -> Exchange:
        body = self._encoder.encode(request)
        return Exchange(url=self._url, body=body, new_decoder=partial(StreamDecoder, self._encoder.names))
