"""A dashboard that is served from elsewhere: its pages may ask when the operator named it, and nobody else's may."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from midwatch.kit import json
from tests.api.edge import Edge, open_edge, write_config

DASHBOARD = "https://dash.example"
ALERTS = "/api/v1/alerts"
SYSTEM: dict[str, Any] = {
    "dashboard_url": "https://Dash.Example:443/watch",
    "allowed_ws_origins": ["*.deck.example", "localhost:*", "http://engine.example:9000"],
}
FOREIGN = [
    *("https://evil.example", "http://dash.example", "https://dash.example:8443", "https://dash.example.evil.example"),
    *("https://a.deck.example", "null"),
]


@pytest.fixture
async def edge(dsn: str, tmp_path: Path) -> AsyncGenerator[Edge]:
    write_config(tmp_path)
    main = json.decode((tmp_path / "midwatch.yaml").read_text())
    (tmp_path / "midwatch.yaml").write_text(json.encode_text({**main, "system": SYSTEM}))
    async with open_edge(tmp_path, dsn) as edge:
        yield edge


def page_of(origin: str) -> dict[str, str]:
    return {"Origin": origin, "Sec-Fetch-Site": "cross-site"}


async def test_the_dashboard_may_ask_and_read_the_answer(edge: Edge) -> None:
    read = await edge.http.get("/api/v1/sessions", headers=page_of(DASHBOARD))
    written = await edge.http.post(ALERTS, json={"data": "Fog."}, headers=page_of(DASHBOARD))
    missed = await edge.http.get("/api/v1/nowhere", headers=page_of(DASHBOARD))
    assert [answer.status_code for answer in (read, written, missed)] == [200, 202, 404]
    for answer in (read, written, missed):
        assert answer.headers["access-control-allow-origin"] == DASHBOARD
        assert answer.headers["access-control-allow-credentials"] == "true"
        assert answer.headers["vary"] == "Origin"
        assert answer.headers["x-frame-options"] == "DENY"


async def test_the_dashboard_is_told_beforehand_what_it_may_send(edge: Edge) -> None:
    asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    answer = await edge.http.options(ALERTS, headers=page_of(DASHBOARD) | asked)
    assert (answer.status_code, answer.content) == (204, b"")
    assert answer.headers["access-control-allow-origin"] == DASHBOARD
    assert "POST" in answer.headers["access-control-allow-methods"].split(", ")
    assert "Content-Type" in answer.headers["access-control-allow-headers"].split(", ")
    assert answer.headers["access-control-max-age"] == "3600"
    assert (await edge.http.options(ALERTS, headers=page_of(DASHBOARD))).status_code == 405


@pytest.mark.parametrize("origin", FOREIGN)
async def test_a_page_that_nobody_named_may_not_ask(edge: Edge, origin: str) -> None:
    before = await edge.count_sessions()
    asked = page_of(origin) | {"Access-Control-Request-Method": "POST"}
    answers = [
        await edge.http.get("/api/v1/sessions", headers=page_of(origin)),
        await edge.http.post(ALERTS, json={"data": "Fog."}, headers=page_of(origin)),
        await edge.http.options(ALERTS, headers=asked),
    ]
    for answer in answers:
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    assert await edge.count_sessions() == before


async def test_an_answer_to_a_program_is_not_taken_for_one_to_a_page(edge: Edge) -> None:
    answer = await edge.http.get("/health")
    assert answer.headers["vary"] == "Origin"
    assert "access-control-allow-origin" not in answer.headers


LISTENING = {
    DASHBOARD: True,
    "https://a.deck.example": True,
    "http://localhost:5173": True,
    "http://engine.example:9000": True,
    "https://engine.example:9000": False,
    "https://deck.example.evil.example": False,
    "https://evil.example": False,
}


@pytest.mark.parametrize(("origin", "welcome"), LISTENING.items())
async def test_pages_of_named_origins_may_listen(edge: Edge, origin: str, *, welcome: bool) -> None:
    url = f"ws://127.0.0.1:{edge.port}/api/v1/ws"
    if welcome:
        async with connect(url, proxy=None, additional_headers=page_of(origin)) as socket:
            assert "connection.established" in str(await socket.recv())
    else:
        with pytest.raises(InvalidStatus):
            await connect(url, proxy=None, additional_headers=page_of(origin))
