"""The HTTP requests that google-auth makes for a token, made with httpx."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, final

import httpx


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenResponse:
    status: int
    headers: Mapping[str, str]
    data: bytes


@final
class TokenTransport:
    """Called by google-auth with arguments of its own choice."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    def __call__(
        self,
        url: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **_others: Any,
    ) -> TokenResponse:
        limit = httpx.USE_CLIENT_DEFAULT if timeout is None else timeout
        try:
            response = self._http.request(method, url, content=body, headers=headers, timeout=limit)
        except httpx.HTTPError as error:
            exceptions: Any = import_module("google.auth.exceptions")
            raise exceptions.TransportError(f"{type(error).__name__}: {error}") from error
        return TokenResponse(status=response.status_code, headers=response.headers, data=response.content)
