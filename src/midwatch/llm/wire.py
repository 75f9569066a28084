"""A model behind a streaming HTTP protocol. What is sent and how the answer is read is each provider's own business."""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol, final

import httpx

from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.breaker import Breaker
from midwatch.llm.failures import ProviderFailure, broken_transport, no_stream, refused_by_status
from midwatch.llm.model import Chunk, ModelRequest, NoteSent, Sent
from midwatch.llm.retry import BACKOFF, Sleep, stream_with_retries

_ERROR_BODY_LIMIT = 65_536
_DRAIN_SECONDS = 0.25
# A record that cannot be decrypted in the middle of a stream is passed on as it is.
_BROKEN = (httpx.HTTPError, ssl.SSLError)
_PAGE = "text/html"


class Decoder(Protocol):
    """Reads one answer. However the bytes are cut, the chunks are the same."""

    @property
    def is_done(self) -> bool:
        """The stream said that it has ended."""
        ...

    @property
    def is_whole(self) -> bool:
        """Nothing of the answer itself is missing, even if the stream breaks now."""
        ...

    def feed(self, data: bytes) -> Iterator[Chunk]:
        """Raises ModelUnavailable for an error that came inside the stream."""
        ...

    def finish(self) -> Iterator[Chunk]:
        """What is left when no more bytes come. Raises ModelUnavailable if the answer broke off."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request, ready to be sent as often as need be, and a fresh reader for each answer."""

    url: httpx.URL
    body: bytes
    new_decoder: Callable[[str | None], Decoder]
    """Takes the secret that errors inside the stream must not repeat."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    secret: str | None = field(default=None, repr=False)
    """Hidden wherever a provider repeats it."""


class WireProtocol(Protocol):
    """One conversation in one provider's words."""

    def prepare(self, request: ModelRequest) -> Exchange: ...


Authorise = Callable[[], Awaitable[Credentials]]
"""Asked before every attempt, since tokens run out. Raises ModelUnavailable with the code credentials."""


@final
class HttpModel:
    """Built for one conversation, whose encoded messages its protocol keeps."""

    def __init__(
        self,
        *,
        provider: str,
        name: str,
        protocol: WireProtocol,
        authorise: Authorise,
        http: httpx.AsyncClient,
        backoff: Sequence[float] = BACKOFF,
        sleep: Sleep = asyncio.sleep,
        breaker: Breaker | None = None,
    ) -> None:
        self.provider = provider
        self.name = name
        self._protocol = protocol
        self._authorise = authorise
        self._http = http
        self._backoff = backoff
        self._sleep = sleep
        self._breaker = breaker or Breaker(provider=provider)
        """Shared by all conversations with this provider, unless there is only this one."""

    def stream(self, request: ModelRequest) -> AsyncGenerator[Chunk]:
        exchange = self._protocol.prepare(request)
        return stream_with_retries(
            lambda: self._attempt(exchange, request.note_sent),
            breaker=self._breaker,
            backoff=self._backoff,
            sleep=self._sleep,
        )

    async def _attempt(self, exchange: Exchange, note: NoteSent) -> AsyncGenerator[Chunk]:
        credentials = await self._authorise()
        decoder = exchange.new_decoder(credentials.secret)
        is_answering = has_come = False
        try:
            async with self._http.stream(
                "POST", exchange.url, content=self._send(exchange, note), headers=_headers(credentials, exchange)
            ) as response:
                if not response.is_success:
                    raise await _refused(response, credentials)
                _check_kind(response)
                is_answering = True
                stream = _read(response)
                async for data in stream:
                    has_come = True
                    for chunk in decoder.feed(data):
                        yield chunk
                    if decoder.is_done:
                        await _drain(stream)
                        return
        except _BROKEN as error:
            if not decoder.is_whole:
                raise broken_transport(error, is_answering=is_answering, api_key=credentials.secret) from error
        if not has_come:
            raise no_stream("empty")
        for chunk in decoder.finish():
            yield chunk

    async def _send(self, exchange: Exchange, note: NoteSent) -> AsyncGenerator[bytes]:
        """Asked for only when there is a connection, and then in one piece."""
        url = exchange.url
        note(
            Sent(
                provider=self.provider,
                model=self.name,
                host=url.netloc.decode("ascii"),
                path=url.path,
                body=exchange.body,
            )
        )
        yield exchange.body


def bearer(api_key: str | None) -> Authorise:
    return by_header("Authorization", api_key, prefix="Bearer ")


def by_header(name: str, api_key: str | None, *, prefix: str = "", extra: Mapping[str, str] | None = None) -> Authorise:
    """A key that never changes, in a header of the provider's choice; no key, no header."""
    key = (api_key or "").strip() or None
    others = dict(extra or {})

    async def authorise() -> Credentials:
        if key is None:
            return Credentials(headers=others)
        if not (key.isascii() and key.isprintable()):
            message = "the API key holds characters that no header can carry"
            raise ModelUnavailable(message, code="credentials", retryable=False)
        return Credentials(headers={**others, name: f"{prefix}{key}"}, secret=key)

    return authorise


def extend_path(base_url: str, path: str) -> httpx.URL:
    """An address below the one that was configured, whether or not that ends in a slash."""
    url = httpx.URL(base_url)
    return url.copy_with(path=f"{url.path.rstrip('/')}/{path}")


def _headers(credentials: Credentials, exchange: Exchange) -> dict[str, str]:
    # Compression would hold tokens back on their way. A body of known length is not sent in chunks.
    return {
        "Content-Length": str(len(exchange.body)),
        "Content-Type": "application/json",
        "Accept": "text/event-stream",
        "Accept-Encoding": "identity",
        **credentials.headers,
    }


def _check_kind(response: httpx.Response) -> None:
    # Not all who stream events call them so, but nobody calls them a page.
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == _PAGE:
        raise no_stream(kind)


def _read(response: httpx.Response) -> AsyncIterator[bytes]:
    """Straight from the connection, unless somebody on the way has compressed it nevertheless."""
    if "content-encoding" in response.headers or not isinstance(response.stream, httpx.AsyncByteStream):
        return response.aiter_bytes()
    return aiter(response.stream)


async def _refused(response: httpx.Response, credentials: Credentials) -> ProviderFailure:
    body = b""
    # The status alone says enough if the rest does not come.
    with suppress(*_BROKEN):
        async for data in response.aiter_bytes():
            body += data
            if len(body) > _ERROR_BODY_LIMIT:
                break
    return refused_by_status(response.status_code, body, api_key=credentials.secret, headers=response.headers)


async def _drain(stream: AsyncIterator[bytes]) -> None:
    """Reads the end of the response, without which the connection could not be used again."""
    with suppress(TimeoutError, *_BROKEN):
        async with asyncio.timeout(_DRAIN_SECONDS):
            async for _ in stream:
                pass
