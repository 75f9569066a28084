"""The machine that an address names, and whether it hands out a cloud instance's credentials."""

import ipaddress
import re

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_METADATA_NAMES = frozenset(
    {"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "metadata.azure.com"}
)
_METADATA_ADDRESSES = frozenset(
    {"169.254.169.254", "169.254.170.2", "169.254.169.253", "100.100.100.200", "fd00:ec2::254"}
)
_NUMBERS = re.compile(r"(?:0[xX][0-9a-fA-F]+|[0-9]+)(?:\.(?:0[xX][0-9a-fA-F]+|[0-9]+)){0,3}")


def host_of(address: str) -> str:
    """`https://user@web:8443/x` and `user@web:/x` are both `web`."""
    rest = _SCHEME.sub("", address, count=1)
    host = re.split(r"[/?#\\]", rest, maxsplit=1)[0].rpartition("@")[2]
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return (host if host.count(":") > 1 else host.partition(":")[0]).lower()


def is_metadata(host: str) -> bool:
    """However the address is written: decimal, octal, hexadecimal, short, or mapped into IPv6."""
    name = host.rstrip(".").lower()
    return name in _METADATA_NAMES or _canonical(name) in _METADATA_ADDRESSES or name.startswith("169.254.169.254.")


def _canonical(host: str) -> str:
    if _NUMBERS.fullmatch(host):
        return _from_numbers(host)
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def _from_numbers(host: str) -> str:
    """As inet_aton reads it: the last number fills what is left."""
    *leading, last = (_number(part) for part in host.split("."))
    value = last
    for position, number in enumerate(leading):
        value += number << (8 * (3 - position))
    return str(ipaddress.IPv4Address(value)) if 0 <= value < 1 << 32 else host


def _number(text: str) -> int:
    if text[:2].lower() == "0x":
        return int(text, 16)
    if text.startswith("0") and len(text) > 1 and all(digit in "01234567" for digit in text):
        return int(text, 8)
    return int(text)
