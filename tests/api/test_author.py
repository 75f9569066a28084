"""Whose alert it is: whom a proxy names, when it is one that we believe."""

from ipaddress import ip_network
from typing import Any

import httpx
import pytest

from midwatch.api.app import create_app
from midwatch.api.author import Proxies
from tests.api.edge import Edge

ALERTS = "/api/v1/alerts"
NAMED = {"X-Forwarded-User": "mate", "X-Forwarded-Email": "mate@ship", "X-Remote-User": "remote"}


async def send_as(edge: Edge, headers: Any, *, http: httpx.AsyncClient | None = None) -> str:
    """The author that was stored."""
    answer = await (http or edge.http).post(ALERTS, json={"data": "Fog."}, headers=headers)
    assert answer.status_code == 202, answer.text
    return (await edge.show(answer.json()["session_id"]))["author"]


@pytest.mark.parametrize(
    ("headers", "author"),
    [
        ({}, "api-client"),
        ({"X-Remote-User": "remote"}, "remote"),
        ({"X-Remote-User": "remote", "X-Forwarded-Email": "mail@ship"}, "mail@ship"),
        (NAMED, "mate"),
        ({"X-Remote-User": "remote", "X-Forwarded-User": ""}, "remote"),
        ({"X-Remote-User": "remote", "X-Forwarded-User": "\u202e".encode()}, "remote"),
        ({"X-Forwarded-User": "Jörg".encode()}, "Jörg"),
        ({"X-Forwarded-User": b"J\xf6rg"}, "J�rg"),
        ({"X-Forwarded-User": "ma\tte\u202e \u0085x\u2028".encode()}, "mate x"),
        ({"X-Forwarded-User": "é".encode() * 500}, "é" * 200),
        ([("X-Forwarded-User", "sneaked in"), ("X-Forwarded-User", "mate")], "mate"),
        (NAMED | {"X-Forwarded-For": "203.0.113.9", "Forwarded": "for=203.0.113.9"}, "mate"),
    ],
)
async def test_the_author_is_whom_a_proxy_on_this_machine_names(edge: Edge, headers: Any, author: str) -> None:
    assert await send_as(edge, headers) == author


@pytest.mark.parametrize(
    ("peer", "author"),
    [
        ("10.1.2.3", "mate"),
        ("::ffff:10.1.2.3", "mate"),
        ("fd00::7", "mate"),
        ("127.0.0.9", "mate"),
        ("::1", "mate"),
        ("10.2.0.1", "api-client"),
        ("203.0.113.9", "api-client"),
        ("fd01::7", "api-client"),
        ("a pipe", "api-client"),
    ],
)
async def test_a_peer_is_believed_only_if_it_was_named(edge: Edge, peer: str, author: str) -> None:
    """The app itself, told of a peer that no test can be."""
    app = create_app(edge.service.state, proxies=[ip_network("10.1.0.0/16"), ip_network("fd00::/64")])
    transport = httpx.ASGITransport(app, client=(peer, 4711))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        assert await send_as(edge, NAMED | {"X-Forwarded-For": "127.0.0.1"}, http=http) == author


def test_nobody_beyond_this_machine_is_believed_unasked() -> None:
    assert Proxies().trusts("127.0.0.1")
    assert not Proxies().trusts("10.0.0.1")
    assert not Proxies().trusts("")
