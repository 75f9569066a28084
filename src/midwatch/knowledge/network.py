"""Connections to checked addresses: a name is looked up once, and what was checked is what is connected to."""

from collections.abc import Callable, Iterable
from typing import cast, final

import httpcore

from midwatch.domain.errors import Unavailable
from midwatch.knowledge.addresses import Address, Resolve, parse_address, resolve_name


class AddressRefused(Unavailable):
    def __init__(self) -> None:
        super().__init__("its address lies in a network that is not allowed")


@final
class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """A host that the operator wrote as an address is taken by that word; every other name is looked up and checked."""

    def __init__(
        self,
        *,
        may_reach: Callable[[Address], bool],
        resolve: Resolve = resolve_name,
        sockets: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._may_reach = may_reach
        self._resolve = resolve
        self._sockets = sockets or cast("httpcore.AsyncNetworkBackend", httpcore.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - handed on
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        failure: Exception = AddressRefused()
        for address in await self._find(host, port):
            try:
                return await self._sockets.connect_tcp(
                    str(address), port, timeout=timeout, local_address=local_address, socket_options=socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout, OSError) as error:
                failure = error
        raise failure

    async def _find(self, host: str, port: int) -> list[Address]:
        if literal := parse_address(host):
            return [literal]
        return [address for address in await self._resolve(host, port) if self._may_reach(address)]

    async def sleep(self, seconds: float) -> None:
        await self._sockets.sleep(seconds)
