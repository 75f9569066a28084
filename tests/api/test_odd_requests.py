"""Requests that no well-meaning client sends: each gets an answer, and the next one is served as if nothing were."""

import asyncio

import pytest

from midwatch.kit import json
from tests.api.edge import Edge
from tests.api.shelf import SESSIONS

LONG = 64 * 1024


async def ask(edge: Edge, request: bytes) -> tuple[int, bytes]:
    """Status and body of the answer to these bytes; the connection is read until the other side ends it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", edge.port)
    try:
        writer.write(request)
        async with asyncio.timeout(60):
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    finally:
        writer.close()
    assert (await edge.http.get("/health")).status_code == 200
    return int(head.split(b" ", 2)[1]), body


def write_get(target: str, *headers: str, version: str = "1.1") -> bytes:
    lines = [f"GET {target} HTTP/{version}", "Host: localhost", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


REPEATED = [
    f"{SESSIONS}?page=1&page=2",
    f"{SESSIONS}?status=pending&status=failed",
    f"{SESSIONS}?search=pump&search=pump",
    f"{SESSIONS}?page=&page=1",
    "/api/v1/system/default-tools?alert_type=deck&alert_type=engine",
]


@pytest.mark.parametrize("target", REPEATED)
async def test_a_parameter_that_is_sent_twice_is_refused_and_not_guessed_at(edge: Edge, target: str) -> None:
    answer = await edge.http.get(target)
    assert answer.status_code == 400
    name = target.partition("?")[2].partition("=")[0]
    expected = {"message": f"{name}: may be sent once in a query", "code": "invalid", "field": name}
    assert answer.json() == expected


async def test_one_repeated_parameter_among_thousands_is_found(edge: Edge) -> None:
    distinct = "&".join(f"{number:x}=" for number in range(10_000))
    status, body = await ask(edge, write_get(f"{SESSIONS}?{distinct}&b=1"))
    assert (status, json.decode(body)["field"]) == (400, "b")


@pytest.mark.parametrize("name", ["search", "alert_type", "nonsense", "n" * (LONG // 4)])
async def test_a_long_query_is_refused_by_name(edge: Edge, name: str) -> None:
    value = "x" * (LONG - len(name) - 300)
    status, body = await ask(edge, write_get(f"{SESSIONS}?{name}={value}"))
    refusal = json.decode(body)
    assert (status, refusal["code"]) == (400, "invalid")
    assert name.startswith(refusal["field"])
    assert value not in refusal["message"]
    assert len(body) < 1_000


ENDLESS = {
    "query": f"GET {SESSIONS}?search={'x' * LONG}",
    "header": f"GET {SESSIONS} HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-User: {'x' * LONG}",
    "headers": f"GET {SESSIONS} HTTP/1.1\r\nHost: localhost\r\n{'X-Padding: x' * LONG}",
}


@pytest.mark.parametrize("part", ENDLESS)
async def test_a_head_that_does_not_end_is_not_read_for_ever(edge: Edge, part: str) -> None:
    status, _ = await ask(edge, ENDLESS[part][: LONG + 20].encode())
    assert status == 400


async def test_a_long_header_that_nobody_reads_does_no_harm(edge: Edge) -> None:
    status, body = await ask(edge, write_get(SESSIONS, f"X-Padding: {'x' * (LONG - 300)}"))
    assert (status, json.decode(body).keys()) == (200, {"sessions", "pagination", "cost_estimation_enabled"})


async def test_clients_of_the_old_protocol_are_served(edge: Edge) -> None:
    status, body = await ask(edge, b"GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n")
    assert (status, "status" in json.decode(body)) == (200, True)
    alert = b'{"data": "Fog."}'
    head = "POST /api/v1/alerts HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    status, body = await ask(edge, f"{head}Content-Length: {len(alert)}\r\n\r\n".encode() + alert)
    assert (status, json.decode(body)["status"]) == (202, "queued")


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (f"{SESSIONS}/%00", 400),
        (f"{SESSIONS}/01a1de02-27b9-7651-aa9e-ca854663fdb1%00", 400),
        (f"{SESSIONS}/%00/timeline", 400),
        ("/api/v1/%00", 404),
        ("/%00", 404),
        (f"{SESSIONS}?search=pump%00", 400),
        (f"{SESSIONS}?%00=1", 400),
        (f"{SESSIONS}?alert_type=%ff%fe", 200),
        (f"{SESSIONS}/%ff%fe", 400),
        (f"{SESSIONS}/%2e%2e/alerts", 404),
        (f"{SESSIONS}/%zz", 400),
        ("//api/v1/sessions", 404),
        (f"{SESSIONS}/", 404),
    ],
)
async def test_characters_that_belong_nowhere_are_refused_like_any_other(
    edge: Edge, target: str, expected: int
) -> None:
    status, body = await ask(edge, write_get(target))
    answer = json.decode(body)
    assert (status, status == 200 or answer["code"] in ("invalid", "not_found")) == (expected, True)
    assert b"\x00" not in body


@pytest.mark.parametrize(
    ("query", "field", "complaint"),
    [
        ("page=1e9", "page", "must be a whole number"),
        ("page=0x10", "page", "must be a whole number"),
        ("page=1_000", "page", "must be a whole number"),
        ("page=NaN", "page", "must be a whole number"),
        ("page_size=0", "page_size", "must be at least 1"),
        ("page_size=-0", "page_size", "must be at least 1"),
        (f"page={10**400}", "page", "only the first 10000 sessions"),
    ],
)
async def test_numbers_that_are_none_or_too_many_are_refused(
    edge: Edge, query: str, field: str, complaint: str
) -> None:
    answer = await edge.http.get(f"{SESSIONS}?{query}")
    assert (answer.status_code, answer.json()["code"], answer.json()["field"]) == (400, "invalid", field)
    assert complaint in answer.json()["message"]
