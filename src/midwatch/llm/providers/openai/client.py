"""A model behind the OpenAI chat-completions protocol: OpenAI itself, vLLM, Ollama, llama.cpp and their like."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import suppress
from typing import final

import httpx

from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.failures import ProviderFailure, broken_transport, refused_by_status
from midwatch.llm.model import Chunk, ModelRequest
from midwatch.llm.providers.openai.request import RequestEncoder
from midwatch.llm.providers.openai.response import StreamDecoder
from midwatch.llm.retry import BACKOFF, Sleep, stream_with_retries
from midwatch.llm.toolnames import ToolNames

_ERROR_BODY_LIMIT = 65_536
_DRAIN_SECONDS = 0.25


@final
class OpenAIModel:
    """Built for one conversation, whose encoded messages it keeps."""

    def __init__(
        self,
        *,
        provider: str,
        name: str,
        base_url: str,
        api_key: str | None,
        http: httpx.AsyncClient,
        backoff: Sequence[float] = BACKOFF,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self.provider = provider
        self.name = name
        self._url = _locate_completions(base_url)
        self._api_key = (api_key or "").strip() or None
        self._http = http
        self._backoff = backoff
        self._sleep = sleep
        self._encoder = RequestEncoder(name)

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        body = self._encoder.encode(request)
        names = self._encoder.names
        return stream_with_retries(
            lambda: self._attempt(body, names), provider=self.provider, backoff=self._backoff, sleep=self._sleep
        )

    async def _attempt(self, body: bytes, names: ToolNames) -> AsyncGenerator[Chunk]:
        decoder = StreamDecoder(names, api_key=self._api_key)
        is_answering = False
        try:
            async with self._http.stream("POST", self._url, content=body, headers=self._headers()) as response:
                if not response.is_success:
                    raise await self._refused(response)
                is_answering = True
                stream = response.aiter_bytes()
                async for data in stream:
                    for chunk in decoder.feed(data):
                        yield chunk
                    if decoder.is_done:
                        await _drain(stream)
                        return
        except httpx.HTTPError as error:
            if not decoder.is_whole:
                raise broken_transport(error, is_answering=is_answering, api_key=self._api_key) from error
        for chunk in decoder.finish():
            yield chunk

    def _headers(self) -> dict[str, str]:
        # Compression would hold tokens back on their way.
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream", "Accept-Encoding": "identity"}
        if self._api_key is not None:
            if not (self._api_key.isascii() and self._api_key.isprintable()):
                message = "the API key holds characters that no header can carry"
                raise ModelUnavailable(message, code="credentials", retryable=False)
            headers["Authorization"] = f"Bearer {self._api_key}"
        return headers

    async def _refused(self, response: httpx.Response) -> ProviderFailure:
        body = b""
        # The status alone says enough if the rest does not come.
        with suppress(httpx.HTTPError):
            async for data in response.aiter_bytes():
                body += data
                if len(body) > _ERROR_BODY_LIMIT:
                    break
        retry_after = response.headers.get("retry-after")
        return refused_by_status(response.status_code, body, api_key=self._api_key, retry_after=retry_after)


def _locate_completions(base_url: str) -> httpx.URL:
    url = httpx.URL(base_url)
    return url.copy_with(path=f"{url.path.rstrip('/')}/chat/completions")


async def _drain(stream: AsyncIterator[bytes]) -> None:
    """Reads the end of the response, without which the connection could not be used again."""
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in stream:
                pass
