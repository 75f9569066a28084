"""Pages fetched over real sockets: what is followed, what is refused, and who is shown the token."""

import asyncio
import gzip
import ipaddress
import socket
from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from midwatch.domain.errors import Unavailable
from midwatch.domain.runbook import is_allowed
from midwatch.knowledge.addresses import may_reach
from midwatch.knowledge.network import CheckedNetwork
from midwatch.knowledge.pages import LARGEST_PAGE, Order, PageReader
from tests.fakes.page_server import PUBLIC, Answer, LoopbackSockets, Web, open_web, page, redirect
from tests.safety.requirements import requirement

HOSTS = ("books.example", "other.example", "raw.githubusercontent.com", "api.github.com", "evil.example")
DOMAINS = ("books.example", "other.example", "raw.githubusercontent.com")
DISK = "https://books.example/disk.md"
TOKEN = "ghp_" + "t" * 36


@pytest.fixture
async def web(tmp_path: Path) -> AsyncGenerator[Web]:
    async with open_web(tmp_path, *HOSTS) as opened:
        yield opened


def reader(web: Web, *, allows_private: bool = False, seconds: float = 15.0) -> PageReader:
    network = CheckedNetwork(
        may_reach=partial(may_reach, allows_private=allows_private), resolve=web.resolve, sockets=LoopbackSockets(web)
    )
    return PageReader(network=network, token=TOKEN, tls=web.trust, seconds=seconds)


async def read(web: Web, url: str = DISK, *, allows_private: bool = False) -> str:
    order = Order(url=url, may_visit=partial(is_allowed, domains=DOMAINS))
    async with asyncio.timeout(60):
        return await reader(web, allows_private=allows_private).read(order)


async def refuse(web: Web, url: str = DISK, *, allows_private: bool = False) -> str:
    with pytest.raises(Unavailable) as caught:
        await read(web, url, allows_private=allows_private)
    assert TOKEN not in str(caught.value)
    return str(caught.value)


async def test_a_page_is_read(web: Web) -> None:
    web.answers[DISK] = page("# Disk\nfull")
    assert await read(web) == "# Disk\nfull"
    assert web.connections == [PUBLIC]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_to_an_allowed_place_is_followed(web: Web, status: int) -> None:
    web.answers[DISK] = redirect("https://other.example/a?b=1#c", status)
    web.answers["https://other.example/a?b=1"] = page("here")
    assert await read(web) == "here"
    assert web.lookups == ["books.example", "other.example"]


async def test_a_redirect_may_leave_out_the_host(web: Web) -> None:
    web.answers[DISK] = redirect("../new/disk.md")
    web.answers["https://books.example/new/disk.md"] = page("here")
    assert await read(web) == "here"


@requirement("runbook:allowed-places", "runbook:every-step")
@pytest.mark.parametrize(
    "location",
    [
        "https://evil.example/disk.md",
        "//evil.example/disk.md",
        "https://books.example@evil.example/disk.md",
        "https://books.example:8443/disk.md",
        "https://127.0.0.1/disk.md",
        "https://[::1]/disk.md",
        "http://169.254.169.254/latest/meta-data/",
        "file:///etc/passwd",
        "ftp://books.example/disk.md",
        "https://evil.example\\@books.example/",
        "https://books.example\t.evil.example/",
        "https://[books.example/",
    ],
)
async def test_a_redirect_to_anywhere_else_is_not(web: Web, location: str) -> None:
    web.answers[DISK] = redirect(location)
    assert await refuse(web) in {"it redirects to a place that is not allowed", "it redirects to no address at all"}
    assert web.urls() == [DISK]


async def test_a_redirect_never_leaves_https(web: Web) -> None:
    web.answers[DISK] = redirect("http://other.example/disk.md")
    web.answers["http://other.example/disk.md"] = page("here")
    assert await refuse(web) == "it redirects from https to http"


@requirement("runbook:every-step")
async def test_a_redirect_into_a_private_network_is_refused_by_its_address(web: Web) -> None:
    web.answers[DISK] = redirect("https://other.example/disk.md")
    web.answers["https://other.example/disk.md"] = page("inside")
    web.names["other.example"] = ["10.1.2.3"]
    assert await refuse(web) == "its address lies in a network that is not allowed"
    assert web.connections == [PUBLIC]


async def test_redirects_in_a_circle_come_to_an_end(web: Web) -> None:
    web.answers[DISK] = redirect(DISK)
    assert await refuse(web) == "it redirects too often"
    assert len(web.visits) == 6


@requirement("runbook:allowed-places")
@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "::ffff:127.0.0.1", "fe80::1"])
async def test_a_name_that_leads_inside_is_refused(web: Web, address: str) -> None:
    web.answers[DISK] = page("inside")
    web.names["books.example"] = [address]
    assert await refuse(web) == "its address lies in a network that is not allowed"
    assert web.connections == []


async def test_of_mixed_addresses_only_the_allowed_ones_are_tried(web: Web) -> None:
    web.answers[DISK] = page("outside")
    web.names["books.example"] = ["10.0.0.1", PUBLIC, "127.0.0.1"]
    assert await read(web) == "outside"
    assert web.connections == [PUBLIC]


@requirement("runbook:every-step")
async def test_what_is_connected_to_is_the_address_that_was_checked(web: Web) -> None:
    """A name that would lead elsewhere the second time is not asked a second time."""
    web.answers[DISK] = page("outside")
    assert await read(web) == "outside"
    assert web.lookups == ["books.example"]
    assert web.connections == [PUBLIC]


@requirement("runbook:allowed-places")
async def test_private_networks_can_be_allowed_but_never_a_clouds_own_address(web: Web) -> None:
    web.answers[DISK] = page("inside")
    web.names["books.example"] = ["10.0.0.1"]
    assert await read(web, allows_private=True) == "inside"
    web.names["books.example"] = ["169.254.169.254"]
    assert await refuse(web, allows_private=True) == "its address lies in a network that is not allowed"


async def test_a_host_whose_certificate_is_of_another_name_is_refused(web: Web) -> None:
    web.answers["https://stranger.example/disk.md"] = page("here")
    assert (await refuse(web, "https://stranger.example/disk.md")).startswith("its certificate is not accepted: ")
    assert web.visits == []


@requirement("runbook:token-to-github")
async def test_the_token_is_shown_to_github_alone(web: Web) -> None:
    raw = "https://raw.githubusercontent.com/ship/books/main/disk.md"
    web.answers[raw] = redirect("https://other.example/disk.md")
    web.answers["https://other.example/disk.md"] = page("here")
    web.answers[DISK] = page("there")
    await read(web, raw)
    await read(web, DISK)
    shown = {visit.url: visit.headers.get("authorization") for visit in web.visits}
    assert shown == {raw: f"Bearer {TOKEN}", "https://other.example/disk.md": None, DISK: None}
    assert not any(TOKEN in str(visit) for visit in web.visits if visit.url != raw)


@requirement("runbook:token-to-github")
async def test_the_token_is_not_shown_where_anybody_could_listen(web: Web) -> None:
    web.answers["http://raw.githubusercontent.com/x"] = page("here")
    await read(web, "http://raw.githubusercontent.com/x")
    assert "authorization" not in web.visits[0].headers


@pytest.mark.parametrize("token", ["", "a\nhost: evil", "t\u00f6ken"])
async def test_a_token_that_cannot_be_one_is_kept_back(web: Web, token: str) -> None:
    web.answers["https://raw.githubusercontent.com/x"] = page("here")
    order = Order(url="https://raw.githubusercontent.com/x", may_visit=lambda _: True)
    assert await replace(reader(web), token=token or None).read(order) == "here"
    assert "authorization" not in web.visits[0].headers


async def test_a_host_may_be_written_as_an_address(web: Web) -> None:
    web.answers["http://[2606:4700::1]/x"] = page("here")
    order = Order(url="http://[2606:4700::1]/x", may_visit=partial(is_allowed, domains=("[2606:4700::1]",)))
    assert await reader(web).read(order) == "here"
    assert (web.lookups, web.connections) == ([], ["2606:4700::1"])


@pytest.mark.parametrize("status", [204, 304, 400, 401, 403, 404, 429, 500, 503])
async def test_anything_but_a_page_is_a_reason(web: Web, status: int) -> None:
    web.answers[DISK] = Answer(status=status, headers={"content-length": "0"})
    assert await refuse(web) == f"the server answered {status}"


async def test_a_page_may_be_so_long_and_no_longer(web: Web) -> None:
    web.answers[DISK] = page("a" * LARGEST_PAGE)
    assert len(await read(web)) == LARGEST_PAGE
    web.answers[DISK] = page("a" * (LARGEST_PAGE + 1))
    assert await refuse(web) == "it has more than 1048576 bytes"


@requirement("runbook:bounded")
async def test_a_page_without_end_is_not_read_to_its_end(web: Web) -> None:
    web.answers[DISK] = Answer(body=b"a" * 65536, endless=True, headers={"content-type": "text/plain"})
    assert await refuse(web) == "it has more than 1048576 bytes"


@requirement("runbook:bounded")
async def test_what_was_packed_unasked_is_not_unpacked(web: Web) -> None:
    headers = {"content-type": "text/plain", "content-encoding": "gzip"}
    web.answers[DISK] = Answer(body=gzip.compress(b"\0" * 50_000_000), headers=headers)
    assert await refuse(web) == "it came compressed, although that was not asked for"
    assert web.visits[0].headers["accept-encoding"] == "identity"


@requirement("runbook:bounded")
async def test_a_page_that_does_not_come_is_given_up(web: Web) -> None:
    never = asyncio.Event()
    web.answers[DISK] = Answer(wait=never, headers={"content-type": "text/plain"})
    order = Order(url=DISK, may_visit=lambda _: True)
    with pytest.raises(Unavailable, match=r"it did not come within 0\.2 seconds"):
        await reader(web, seconds=0.2).read(order)
    never.set()


async def test_a_host_that_nobody_knows_is_a_reason(web: Web) -> None:
    async def find_nothing(host: str, port: int) -> list[ipaddress.IPv4Address]:
        raise socket.gaierror(socket.EAI_NONAME, f"{host}:{port}")

    network = CheckedNetwork(may_reach=lambda _: True, resolve=find_nothing, sockets=LoopbackSockets(web))
    with pytest.raises(Unavailable, match="its host name is not known"):
        await PageReader(network=network, tls=web.trust).read(Order(url=DISK, may_visit=lambda _: True))


@pytest.mark.parametrize("kind", ["image/png", "application/zip", "application/pdf", "video/mp4", "multipart/mixed"])
async def test_what_is_not_text_is_refused(web: Web, kind: str) -> None:
    web.answers[DISK] = page("abc", kind)
    assert await refuse(web) == "it is not text"


async def test_bytes_that_are_no_text_are_refused_whatever_they_are_called(web: Web) -> None:
    web.answers[DISK] = page(b"\x7fELF\0\0\0", "text/plain")
    assert await refuse(web) == "it is not text"


@pytest.mark.parametrize(
    ("body", "kind", "text"),
    [
        ("Brücke".encode(), "text/plain", "Brücke"),
        ("Brücke".encode("latin-1"), "text/plain; charset=ISO-8859-1", "Brücke"),
        ("Brücke".encode("latin-1"), "text/plain; charset=utf-8", "Br\ufffdcke"),
        ("Brücke".encode("utf-16"), "text/plain", "Brücke"),
        ("Brücke".encode("utf-8-sig"), 'text/markdown; charset="utf-8"', "Brücke"),
        (b"abc", "text/plain; charset=klingon", "abc"),
        (b"abc", "text/plain; charset=zlib", "abc"),
        (b"abc", "text/plain; charset=rot13", "abc"),
        (b"xn--a", "text/plain; charset=punycode", "xn--a"),
        (rb"\u0041", "text/plain; charset=unicode_escape", r"\u0041"),
        (b"abc", "text/plain; charset=", "abc"),
        (b"abc", "text/plain; charset", "abc"),
        (b"{}", "application/json", "{}"),
        (b"abc", "", "abc"),
        (b"", "text/plain", ""),
    ],
)
async def test_bytes_become_text_as_well_as_may_be(web: Web, body: bytes, kind: str, text: str) -> None:
    web.answers[DISK] = page(body, kind)
    assert await read(web) == text
