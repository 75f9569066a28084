"""Access tokens for Google Cloud: fetched in a thread, once for all who ask, kept until they are about to run out."""

import asyncio
import threading
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol, final

import httpx

from midwatch.domain.errors import ModelUnavailable
from midwatch.llm.failures import quote_provider
from midwatch.llm.providers.vertexai.transport import TokenTransport
from midwatch.llm.wire import Credentials

_TIMEOUT = 10.0


class GoogleCredentials(Protocol):
    """What we use of google-auth's own classes."""

    token: str | None

    @property
    def valid(self) -> bool:
        """There is a token, and it will not run out within the next minutes."""
        ...

    @property
    def quota_project_id(self) -> str | None: ...

    def refresh(self, request: TokenTransport) -> None: ...


Load = Callable[[TokenTransport], GoogleCredentials]


@final
class TokenSource:
    """One account. Shared by all conversations that use it."""

    def __init__(self, load: Load) -> None:
        self._load = load
        self._credentials: GoogleCredentials | None = None
        self._queue = asyncio.Lock()
        self._fetching = threading.Lock()
        """For the fetch of a caller who was cancelled: it goes on in its thread, and the next one waits for it."""

    async def authorise(self) -> Credentials:
        """Raises ModelUnavailable."""
        if not self._is_fresh():
            async with self._queue:
                if not self._is_fresh():
                    await asyncio.to_thread(self._fetch)
        return self._read()

    def _is_fresh(self) -> bool:
        return self._credentials is not None and self._credentials.valid

    def _read(self) -> Credentials:
        credentials = self._credentials
        token = credentials.token if credentials else None
        if credentials is None or not token:
            raise ModelUnavailable("Google gave no access token", code="credentials", retryable=False)
        project = credentials.quota_project_id
        extra = {"x-goog-user-project": project} if project else {}
        return Credentials(headers={"Authorization": f"Bearer {token}", **extra}, secret=token)

    def _fetch(self) -> None:
        exceptions: Any = import_module("google.auth.exceptions")
        with self._fetching, httpx.Client(timeout=_TIMEOUT) as http:
            if self._is_fresh():
                return
            request = TokenTransport(http)
            try:
                self._credentials = self._credentials or self._load(request)
                if not self._credentials.valid:
                    self._credentials.refresh(request)
            except exceptions.TransportError as error:
                raise _failed(error, code="provider_error", retryable=True) from error
            except exceptions.GoogleAuthError as error:
                # Loaded anew the next time: a key file may have been replaced.
                self._credentials = None
                code = "provider_error" if error.retryable else "credentials"
                raise _failed(error, code=code, retryable=error.retryable) from error


@final
class TokenSources:
    """The accounts in use, by what they were loaded from."""

    def __init__(self) -> None:
        self._sources: dict[str | None, TokenSource] = {}

    def find(self, key: str | None, *, load: Load) -> TokenSource:
        return self._sources.setdefault(key, TokenSource(load))


def _failed(error: Exception, *, code: str, retryable: bool) -> ModelUnavailable:
    # What follows the first argument is the whole answer of the token server.
    reason = quote_provider(str(error.args[0] if error.args else type(error).__name__), api_key=None)
    return ModelUnavailable(f"no access token from Google: {reason}", code=code, retryable=retryable)
