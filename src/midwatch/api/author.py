"""Who sends a request: whom a proxy names that we trust to know, else nobody in particular."""

import ipaddress
from dataclasses import dataclass

from fastapi import Request

from midwatch.config.env import Network

NOBODY = "api-client"
_HEADERS = ("x-forwarded-user", "x-forwarded-email", "x-remote-user")
_NAMES = frozenset(name.encode() for name in _HEADERS)
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Proxies:
    """Peers whose word about the sender is taken: programs on this machine, and these networks."""

    networks: tuple[Network, ...] = ()

    def trusts(self, peer: str) -> bool:
        try:
            address = ipaddress.ip_address(peer)
        except ValueError:
            return False
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return address.is_loopback or any(address in network for network in self.networks)


def read_author(request: Request) -> str:
    if not any(name in _NAMES for name, _ in request.scope["headers"]):
        return NOBODY
    proxies: Proxies = request.state.proxies
    if request.client is None or not proxies.trusts(request.client.host):
        return NOBODY
    return next((author for name in _HEADERS if (author := _read(request, name))), NOBODY)


def _read(request: Request, name: str) -> str:
    """Proxies write names in UTF-8, though headers are read as Latin-1; the nearest proxy wrote the last."""
    given = request.headers.getlist(name)[-1:]
    text = "".join(given).encode("latin-1").decode("utf-8", "replace")
    return "".join(filter(str.isprintable, text)).strip()[:_LONGEST]
