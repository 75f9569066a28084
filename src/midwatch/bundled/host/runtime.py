"""The container runtime behind its Unix socket. Asked with GET and nothing else."""

import json
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import httpx

from midwatch.bundled.host.runtime_socket import NotThere, RuntimeSilent

_MAX_BYTES = 8 * 1024 * 1024
_SECONDS = 8.0
_NO_QUERY: Mapping[str, str] = {}


class Runtime:
    """One conversation with a runtime, within one time limit."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client
        self._deadline = time.monotonic() + _SECONDS

    @property
    def has_time(self) -> bool:
        return time.monotonic() < self._deadline

    def get_json(self, path: str, query: Mapping[str, str] = _NO_QUERY) -> Any:
        """Raises RuntimeSilent and NotThere."""
        body, complete = self.get_bytes(path, query)
        try:
            return json.loads(body)
        except ValueError as error:
            reason = "an answer that is no JSON" if complete else "a longer answer than is read here"
            raise RuntimeSilent(f"it gave {reason}") from error

    def get_bytes(self, path: str, query: Mapping[str, str] = _NO_QUERY) -> tuple[bytes, bool]:
        """The answer's body, and whether it is whole. Raises RuntimeSilent and NotThere."""
        body = bytearray()
        try:
            with self._client.stream("GET", path, params=dict(query)) as response:
                if response.status_code == HTTPStatus.NOT_FOUND:
                    raise NotThere
                if response.status_code != HTTPStatus.OK:
                    raise RuntimeSilent(f"it answered with status {response.status_code}")
                for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > _MAX_BYTES or not self.has_time:
                        return bytes(body), False
        except (httpx.HTTPError, OSError) as error:
            raise RuntimeSilent(f"it does not answer ({type(error).__name__})") from error
        return bytes(body), True


@contextmanager
def open_runtime(socket_path: str) -> Generator[Runtime]:
    transport = httpx.HTTPTransport(uds=socket_path)
    with httpx.Client(transport=transport, base_url="http://runtime", timeout=3.0, trust_env=False) as client:
        yield Runtime(client)
