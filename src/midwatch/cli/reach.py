"""Who could connect to an address that we listen on."""

import ipaddress


def is_reachable_only_here(host: str) -> bool:
    """Programs on this machine alone can connect to it."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
