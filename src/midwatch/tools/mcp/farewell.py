"""What a remote server is told at the end. Nobody waits long for it, and nothing depends on its answer."""

import asyncio
from collections.abc import Mapping

import structlog

from midwatch.config.mcp import RemoteTransport
from midwatch.tools.mcp.http_client import HttpClient, fill_session_id
from midwatch.tools.mcp.losses import ConnectionLost

log = structlog.get_logger()

_GOODBYE_SECONDS = 5.0
_CLEANUP_SECONDS = 15.0
_BAD_STATUS = 400


async def end_session(client: HttpClient, url: str, *, headers: Mapping[str, str]) -> None:
    await _delete(client, url, headers=headers, seconds=_GOODBYE_SECONDS)


async def clean_up(transport: RemoteTransport, *, client_id: str, server_id: str) -> None:
    """Asks for what the server kept under `client_id` to be removed, where the operator has said how."""
    if transport.session_cleanup_url is None:
        return
    url = fill_session_id(transport.session_cleanup_url, client_id)
    bare = RemoteTransport(type=transport.type, url=url, verify_ssl=transport.verify_ssl)
    async with HttpClient(transport, client_id=client_id) as own:
        # The token belongs to the server; what lies elsewhere is asked without.
        at_home = own.resolve(url) is not None
    asked = transport.model_copy(update={"url": url}) if at_home else bare
    async with HttpClient(asked, client_id=client_id) as client:
        status = await _delete(client, url, headers={}, seconds=_CLEANUP_SECONDS)
    if status is None or status >= _BAD_STATUS:
        log.warning("tool_server_cleanup_failed", server=server_id, status=status)


async def _delete(client: HttpClient, url: str, *, headers: Mapping[str, str], seconds: float) -> int | None:
    try:
        async with asyncio.timeout(seconds), client.request("DELETE", url, headers=headers) as answer:
            return answer.status
    except (ConnectionLost, TimeoutError):
        return None
