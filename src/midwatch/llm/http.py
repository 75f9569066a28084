"""The HTTP client that the provider adapters share: one per process."""

import httpx

_TIMEOUT = httpx.Timeout(connect=10.0, read=300.0, write=60.0, pool=None)
_LIMITS = httpx.Limits(max_connections=256, max_keepalive_connections=64, keepalive_expiry=30.0)


def new_http_client() -> httpx.AsyncClient:
    """The caller closes it. Redirects are not followed: a key must not travel to another host."""
    return httpx.AsyncClient(timeout=_TIMEOUT, limits=_LIMITS, follow_redirects=False)
