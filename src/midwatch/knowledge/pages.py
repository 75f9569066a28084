"""Text fetched over HTTP: bounded in size and time, and every step of a redirect asked about anew."""

import asyncio
import codecs
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import final
from urllib.parse import SplitResult, urljoin, urlsplit

import httpcore
import httpx

from midwatch import __version__
from midwatch.domain.errors import Unavailable
from midwatch.domain.runbook import DEFAULT_PORTS
from midwatch.kit.json import clean_text
from midwatch.knowledge.github import is_github

LARGEST_PAGE = 1024 * 1024
_SECONDS = 15.0
"""For all of it, redirects included."""
_MOST_REDIRECTS = 5
_OK = 200
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_TEXT_TYPES = frozenset(
    {
        *("application/json", "application/yaml", "application/x-yaml", "application/toml", "application/xml"),
        *("application/markdown", "application/octet-stream", ""),
    }
)
_ODD = frozenset({"idna", "punycode", "raw-unicode-escape", "raw_unicode_escape", "unicode-escape", "unicode_escape"})
"""Codecs of Python's that are no character sets."""
_WHO = {"user-agent": f"midwatch/{__version__}", "accept-encoding": "identity"}
_BROKEN = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError)


class PageUnavailable(Unavailable):
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    url: str
    may_visit: Callable[[str], bool]
    """Asked before each redirect is followed."""
    accept: str = "text/markdown, text/plain, text/*;q=0.8, */*;q=0.1"
    limit: int = LARGEST_PAGE
    """Bytes."""


@cache
def _trust_the_usual() -> ssl.SSLContext:
    return httpx.create_ssl_context()


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PageReader:
    network: httpcore.AsyncNetworkBackend
    token: str | None = field(default=None, repr=False)
    """For GitHub, and nobody else."""
    tls: Callable[[], ssl.SSLContext] = _trust_the_usual
    seconds: float = _SECONDS

    async def read(self, order: Order) -> str:
        """Raises Unavailable, which says why in words that may be shown."""
        try:
            async with asyncio.timeout(self.seconds):
                return await self._follow(order)
        except TimeoutError:
            raise PageUnavailable(f"it did not come within {self.seconds:g} seconds") from None
        except _BROKEN as error:
            raise PageUnavailable(_describe(error)) from error

    async def _follow(self, order: Order) -> str:
        url = order.url
        for _ in range(_MOST_REDIRECTS + 1):
            async with self._get(url, accept=order.accept) as response:
                headers = _read_headers(response)
                if response.status not in _REDIRECTS:
                    return await _read_text(response, headers, limit=order.limit)
            url = _next_url(url, headers, may_visit=order.may_visit)
        raise PageUnavailable("it redirects too often")

    @asynccontextmanager
    async def _get(self, url: str, *, accept: str) -> AsyncGenerator[httpcore.Response]:
        """A connection of its own: none is kept, so none can be lost or be of use to anybody else."""
        parts = urlsplit(url)
        async with httpcore.AsyncConnectionPool(
            ssl_context=self.tls() if parts.scheme == "https" else None,
            max_keepalive_connections=0,
            network_backend=self.network,
        ) as pool:
            headers = {"host": parts.netloc, "accept": accept, **_WHO, **self._authorize(parts)}
            async with pool.stream("GET", _target(parts), headers=list(headers.items())) as response:
                yield response

    def _authorize(self, parts: SplitResult) -> dict[str, str]:
        is_sendable = self.token is not None and self.token.isascii() and self.token.isprintable()
        return {"authorization": f"Bearer {self.token}"} if is_sendable and is_github(parts) else {}


def _target(parts: SplitResult) -> httpcore.URL:
    """Made of the parts that were checked, so that nobody reads another host out of the same text."""
    path = parts._replace(scheme="", netloc="", fragment="").geturl() or "/"
    return httpcore.URL(
        scheme=parts.scheme,
        host=parts.hostname or "",
        port=parts.port or DEFAULT_PORTS[parts.scheme],
        target=path,
    )


def _next_url(url: str, headers: Mapping[str, str], *, may_visit: Callable[[str], bool]) -> str:
    try:
        following = urljoin(url, headers.get("location", ""))
        parts = urlsplit(following)._replace(fragment="")
    except ValueError:
        raise PageUnavailable("it redirects to no address at all") from None
    if not may_visit(following):
        raise PageUnavailable("it redirects to a place that is not allowed")
    if urlsplit(url).scheme == "https" and parts.scheme != "https":
        raise PageUnavailable("it redirects from https to http")
    return parts.geturl()


def _read_headers(response: httpcore.Response) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}


async def _read_text(response: httpcore.Response, headers: Mapping[str, str], *, limit: int) -> str:
    if response.status != _OK:
        raise PageUnavailable(f"the server answered {response.status}")
    kind, _, options = headers.get("content-type", "").partition(";")
    if not (kind.strip().lower().startswith("text/") or kind.strip().lower() in _TEXT_TYPES):
        raise PageUnavailable("it is not text")
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise PageUnavailable("it came compressed, although that was not asked for")
    body = bytearray()
    async for chunk in response.aiter_stream():
        body += chunk
        if len(body) > limit:
            raise PageUnavailable(f"it has more than {limit} bytes")
    return _decode(bytes(body), options)


def _decode(body: bytes, options: str) -> str:
    """What cannot be read is shown as such; a page of other bytes than text is none."""
    if b"\0" in body and not body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise PageUnavailable("it is not text")
    return clean_text(body.decode(_find_charset(body, options), "replace")).removeprefix("\ufeff")


def _find_charset(body: bytes, options: str) -> str:
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    for option in options.split(";"):
        name, _, value = option.partition("=")
        if name.strip().lower() == "charset":
            return _known_charset(value.strip().strip("\"'"))
    return "utf-8"


def _known_charset(name: str) -> str:
    """Only what turns bytes into text: some of Python's codecs do other things, and one unpacks archives."""
    try:
        found = codecs.lookup(name)
    except (LookupError, ValueError):
        return "utf-8"
    return found.name if getattr(found, "_is_text_encoding", False) and found.name not in _ODD else "utf-8"


def _find_cause(error: BaseException) -> BaseException:
    """The library does not always say what an error of its own comes from."""
    inner = error.__cause__ or error.__context__
    return error if inner is None else _find_cause(inner)


def _describe(error: Exception) -> str:
    match _find_cause(error) if isinstance(error, httpcore.ConnectError) else error:
        case ssl.SSLCertVerificationError() as refused:
            return f"its certificate is not accepted: {refused.verify_message}"
        case ssl.SSLError():
            return "no TLS connection could be made"
        case socket.gaierror():
            return "its host name is not known"
        case httpcore.ConnectError() | httpcore.TimeoutException() | OSError():
            return "it cannot be reached"
        case _:
            return "the connection broke off"
