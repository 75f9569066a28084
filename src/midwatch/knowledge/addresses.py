"""Which machines a page may be fetched from: nothing of our own network, unless the operator says so."""

import asyncio
import ipaddress
import socket
from collections.abc import Awaitable, Callable, Sequence

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolve = Callable[[str, int], Awaitable[Sequence[Address]]]

_METADATA = frozenset(
    ipaddress.ip_address(written)
    for written in (
        "100.100.100.200",
        "168.63.129.16",
        "169.254.169.254",
        "192.0.0.192",
        "fd00:ec2::254",
        "fd20:ce::254",
    )
)
"""Where clouds hand out a machine's own credentials. Some of them look public."""
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_TEREDO = ipaddress.IPv6Network("2001::/32")
_SITE_LOCAL = ipaddress.IPv6Network("fec0::/10")
_IPV4_BITS = 0xFFFF_FFFF


def parse_address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None


def may_reach(address: Address, *, allows_private: bool) -> bool:
    """Addresses of one link and of a cloud's metadata are never right, whatever the operator allows."""
    plain = _unwrap(address)
    if plain in _METADATA or plain.is_link_local or plain.is_multicast or plain.is_unspecified:
        return False
    if plain.is_loopback:
        return allows_private
    if plain.is_reserved or plain in _TEREDO:
        return False
    return allows_private or (plain.is_global and plain not in _SITE_LOCAL)


def _unwrap(address: Address) -> Address:
    """The IPv4 address that is reached by way of an IPv6 one."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & _IPV4_BITS)
    return address.ipv4_mapped or address.sixtofour or address


async def resolve_name(host: str, port: int) -> Sequence[Address]:
    """Raises OSError."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    named = (str(sockaddr[0]).partition("%")[0] for *_, sockaddr in found)
    return [ipaddress.ip_address(name) for name in dict.fromkeys(named)]
