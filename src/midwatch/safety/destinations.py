"""Where a call may connect to: host names and networks the operator has allowed."""

import ipaddress
from collections.abc import Sequence

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def is_allowed(destination: str, allowed: Sequence[str]) -> bool:
    """What cannot be told for sure is not allowed."""
    host = _strip_port(destination).rstrip(".").casefold()
    address = _read_address(host)
    if address is not None:
        return any(_is_within(address, network) for network in allowed)
    return bool(host) and any(_is_named(host, name.casefold()) for name in allowed)


def _strip_port(destination: str) -> str:
    if destination.startswith("["):
        return destination[1:].partition("]")[0]
    host, colon, port = destination.rpartition(":")
    return host if colon and port.isdecimal() and ":" not in host else destination


def _read_address(text: str) -> _Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _is_within(address: _Address, network: str) -> bool:
    try:
        return address in ipaddress.ip_network(network)
    except ValueError:
        return False


def _is_named(host: str, allowed: str) -> bool:
    if allowed.startswith("*."):
        return host.endswith(allowed[1:]) and len(host) > len(allowed) - 1
    return host == allowed
