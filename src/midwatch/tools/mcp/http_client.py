"""HTTP to one tool server: its token goes nowhere else, and does not come back in an answer."""

import base64
import os
import re
import socket
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from http.cookies import CookieError, SimpleCookie
from types import MappingProxyType
from typing import Self, final
from urllib.parse import SplitResult, unquote, urljoin, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from midwatch import __version__
from midwatch.config.mcp import RemoteTransport
from midwatch.tools.mcp.losses import AnswerRefused, ConnectionLost
from midwatch.tools.mcp.network import AsyncioNetwork, asking_first

_NOTHING: Mapping[str, str] = MappingProxyType({})
_SESSION_ID = re.compile(r"\{\{\s*\.SESSION_ID\s*\}\}")
_SECRET_HEADER = re.compile(r"auth|token|key|secret|cookie|password", re.IGNORECASE)
_SHORTEST_SECRET = 8
_HIDDEN = b"[MASKED_CREDENTIAL]"
_IDLE_SECONDS = 4.0
"""Less than servers keep idle connections for: a call must not leave on one that is being closed."""
_BROKEN = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError, OSError)
_DEFAULT_PORTS = {"http": 80, "https": 443}


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    response: httpcore.Response

    @property
    def kind(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    async def chunks(self) -> AsyncGenerator[bytes]:
        """Raises ConnectionLost, and AnswerRefused when they are packed: nobody knows how much would come out."""
        if self.headers.get("content-encoding", "identity") != "identity":
            raise AnswerRefused("it compressed its answer, although it was asked not to")
        try:
            async for chunk in self.response.aiter_stream():
                yield chunk
        except _BROKEN as error:
            raise ConnectionLost(_describe(error)) from error

    async def read(self, limit: int) -> bytes | None:
        """None when there are more bytes than `limit`. Raises as `chunks` does."""
        body = bytearray()
        async for chunk in self.chunks():
            body += chunk
            if len(body) > limit:
                return None
        return bytes(body)


@final
class HttpClient:
    """Open within `async with`. `client_id` stands wherever the configuration says `{{.SESSION_ID}}`."""

    def __init__(self, transport: RemoteTransport, *, client_id: str) -> None:
        self._client_id = client_id
        self.url = transport.url
        self._headers = self._build_headers(transport)
        self._secrets = _find_secrets(transport, self._headers)
        self._cookies: dict[str, str] = {}
        self._pool = _open_pool(urlsplit(transport.url), verify=transport.verify_ssl)

    async def __aenter__(self) -> Self:
        await self._pool.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._pool.aclose()

    @asynccontextmanager
    async def request(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str] = _NOTHING,
        body: bytes | None = None,
        check: Callable[[], None] | None = None,
    ) -> AsyncGenerator[Answer]:
        """Raises ConnectionLost, and whatever `check` raises right before the first byte leaves."""
        departure = _Departure(check)
        try:
            async with AsyncExitStack() as stack:
                sent = {**self._headers, **self._send_cookies(), **headers}
                with nullcontext() if check is None else asking_first(departure.ask):
                    response = await stack.enter_async_context(
                        self._pool.stream(method, url, headers=list(sent.items()), content=body)
                    )
                yield self._receive(response)
        except _BROKEN as error:
            raise ConnectionLost(_describe(error), sent=departure.has_left) from error

    def hide_secrets(self, data: bytes) -> bytes:
        """Some servers repeat the credentials they were shown."""
        for secret in self._secrets:
            if secret in data:
                data = data.replace(secret, _HIDDEN)
        return data

    def resolve(self, reference: str) -> str | None:
        """The address that `reference` means, or None when it lies at another origin than the server's."""
        url = urljoin(self.url, reference)
        return url if _origin(url) == _origin(self.url) else None

    def _build_headers(self, transport: RemoteTransport) -> dict[str, str]:
        headers = {"user-agent": f"midwatch/{__version__}", "accept-encoding": "identity"}
        parts = urlsplit(transport.url)
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            headers["authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        if transport.bearer_token is not None and (token := transport.bearer_token.strip()):
            headers["authorization"] = f"Bearer {token}"
        return headers | {
            name.lower(): fill_session_id(value, self._client_id).strip()
            for name, value in transport.custom_headers.items()
        }

    def _receive(self, response: httpcore.Response) -> Answer:
        headers: dict[str, str] = {}
        for raw_name, raw_value in response.headers:
            name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
            if name == "set-cookie":
                self._keep_cookie(value)
            headers[name] = value
        return Answer(status=response.status, headers=headers, response=response)

    def _keep_cookie(self, text: str) -> None:
        # A balancer's way to lead the next request to the same process.
        try:
            self._cookies |= {name: morsel.coded_value for name, morsel in SimpleCookie(text).items()}
        except CookieError:
            return

    def _send_cookies(self) -> dict[str, str]:
        return (
            {"cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())} if self._cookies else {}
        )


def fill_session_id(text: str, client_id: str) -> str:
    return _SESSION_ID.sub(lambda _: client_id, text)


@final
class _Departure:
    def __init__(self, check: Callable[[], None] | None) -> None:
        self._check = check
        self.has_left = check is None

    def ask(self) -> None:
        if self._check is not None:
            self._check()
        self.has_left = True


def _find_secrets(transport: RemoteTransport, headers: Mapping[str, str]) -> tuple[bytes, ...]:
    values = [value for name, value in headers.items() if _SECRET_HEADER.search(name)]
    values += [transport.bearer_token or "", urlsplit(transport.url).password or ""]
    words = {word for value in values for word in (value, value.rpartition(" ")[2])}
    found = {word.strip().encode() for word in words if len(word.strip()) >= _SHORTEST_SECRET}
    return tuple(sorted(found, key=len, reverse=True))


def _open_pool(url: SplitResult, *, verify: bool) -> httpcore.AsyncConnectionPool:
    return httpcore.AsyncConnectionPool(
        ssl_context=_tls(verify=verify) if url.scheme == "https" else None,
        proxy=_find_proxy(url),
        max_connections=None,
        max_keepalive_connections=8,
        keepalive_expiry=_IDLE_SECONDS,
        network_backend=AsyncioNetwork(),
    )


@cache
def _tls(*, verify: bool) -> ssl.SSLContext:
    return httpx.create_ssl_context(verify=verify)


def _find_proxy(url: SplitResult) -> httpcore.Proxy | None:
    address = getproxies().get(url.scheme)
    if address is None or not address.startswith("http") or proxy_bypass(url.netloc.rpartition("@")[2]):
        return None
    parts = urlsplit(address)
    auth = None if parts.username is None else (unquote(parts.username), unquote(parts.password or ""))
    return httpcore.Proxy(address, auth=auth)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme)


def _describe(error: Exception) -> str:
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate is not accepted: {error.verify_message}"
        case ssl.SSLError():
            return "no TLS connection could be made"
        case socket.gaierror():
            return "its host name is not known"
        case OSError(errno=int() as number):
            return f"it cannot be reached: {os.strerror(number)}"
        case OSError() | httpcore.ProxyError():
            return "it cannot be reached"
        case _:
            return "it broke off the connection"
