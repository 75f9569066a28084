"""Which addresses a page may be fetched from."""

import ipaddress

import pytest

from midwatch.knowledge.addresses import may_reach, parse_address, resolve_name

PUBLIC = ["93.184.216.34", "140.82.121.4", "2606:4700::1111", "::ffff:93.184.216.34", "64:ff9b::5db8:d822"]
PRIVATE = [
    *("10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "127.0.0.1", "127.9.9.9", "198.18.0.1"),
    *("::1", "fc00::1", "fd12:3456::1", "fec0::1"),
    *("::ffff:10.0.0.1", "::ffff:127.0.0.1", "64:ff9b::a00:1", "2002:a00:1::", "2002:7f00:1::1"),
]
NEVER = [
    *("169.254.169.254", "169.254.170.2", "169.254.1.1", "168.63.129.16", "100.100.100.200", "192.0.0.192"),
    *("0.0.0.0", "255.255.255.255", "240.0.0.1", "224.0.0.1"),
    *("::", "fe80::1", "ff02::1", "fd00:ec2::254", "fd20:ce::254", "::7f00:1", "64:ff9b:1::7f00:1"),
    *("::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::", "2001::1"),
]


@pytest.mark.parametrize("allows_private", [False, True])
@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_may_be_reached(address: str, *, allows_private: bool) -> None:
    assert may_reach(ipaddress.ip_address(address), allows_private=allows_private)


@pytest.mark.parametrize("address", PRIVATE)
def test_private_ones_only_where_the_operator_allows_them(address: str) -> None:
    assert not may_reach(ipaddress.ip_address(address), allows_private=False)
    assert may_reach(ipaddress.ip_address(address), allows_private=True)


@pytest.mark.parametrize("allows_private", [False, True])
@pytest.mark.parametrize("address", NEVER)
def test_those_of_a_link_or_of_a_cloud_never(address: str, *, allows_private: bool) -> None:
    assert not may_reach(ipaddress.ip_address(address), allows_private=allows_private)


def test_an_address_is_told_from_a_name() -> None:
    assert parse_address("127.0.0.1") == ipaddress.ip_address("127.0.0.1")
    assert parse_address("[::1]") == ipaddress.ip_address("::1")
    assert parse_address("127.0.0.1.nip.io") is None
    assert parse_address("2130706433") is None


async def test_a_name_is_looked_up() -> None:
    assert ipaddress.ip_address("127.0.0.1") in await resolve_name("localhost", 80)
