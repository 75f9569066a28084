"""Who may ask: a browser must not become the hand of a page it happens to show."""

from pathlib import Path

import pytest

from tests.api.edge import Edge, open_edge

ALERTS = "/api/v1/alerts"
SECURITY_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}

UNKNOWN_HOSTS = [
    "evil.example",
    "evil.example:8080",
    "localhost.evil.example",
    "evil@localhost",
    "localhost/evil",
    "localhost:evil",
    "localhost:80:80",
    "127.0.0.2",
    "[::2]:80",
    "",
]


@pytest.mark.parametrize("host", UNKNOWN_HOSTS)
async def test_a_name_that_is_not_ours_is_not_answered_to(edge: Edge, host: str) -> None:
    before = await edge.count_sessions()
    read = await edge.http.get("/health", headers={"Host": host})
    written = await edge.http.post(ALERTS, json={"data": "Fog."}, headers={"Host": host})
    for answer in (read, written):
        assert answer.status_code == 421
        assert answer.json()["code"] == "unknown_host"
        assert "--allow-host" in answer.json()["message"]
    assert await edge.count_sessions() == before


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]", "[::1]:8080"])
async def test_loopback_is_known_by_all_its_names(edge: Edge, host: str) -> None:
    assert (await edge.http.get("/health", headers={"Host": host})).status_code == 200


async def test_a_request_without_a_host_is_refused(edge: Edge) -> None:
    assert b" 421 " in await edge.send_raw(b"GET /health HTTP/1.0\r\n\r\n")
    assert b" 400 " in await edge.send_raw(b"GET /health HTTP/1.1\r\n\r\n")


async def test_names_beyond_loopback_are_allowed_one_by_one(dsn: str, config_folder: Path) -> None:
    async with open_edge(config_folder, dsn, hosts=["Watch.example:8443", "[fd00::5]", "10.0.0.5"]) as edge:
        for host in ("watch.example", "WATCH.EXAMPLE:80", "[FD00::5]:8080", "10.0.0.5:1", "localhost"):
            assert (await edge.http.get("/health", headers={"Host": host})).status_code == 200
        assert (await edge.http.get("/health", headers={"Host": "other.example"})).status_code == 421
        proxied = {"Origin": "https://watch.example", "Host": "localhost:8080"}
        assert (await edge.http.get("/health", headers=proxied)).status_code == 200


FOREIGN = [
    {"Origin": "https://evil.example"},
    {"Origin": "http://localhost.evil.example"},
    {"Origin": "http://evil.example:8080"},
    {"Origin": "null"},
    {"Origin": ""},
    {"Origin": "http://localhost:3000"},
    {"Origin": "http://127.0.0.1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "http://localhost:8080"},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=str)
async def test_a_page_of_another_origin_may_neither_read_nor_write(edge: Edge, headers: dict[str, str]) -> None:
    before = await edge.count_sessions()
    ours = {"Host": "localhost:8080", **headers}
    read = await edge.http.get("/health", headers=ours)
    written = await edge.http.post(ALERTS, json={"data": "Fog."}, headers=ours)
    asked = await edge.http.options(ALERTS, headers={**ours, "Access-Control-Request-Method": "POST"})
    for answer in (read, written, asked):
        assert answer.status_code == 403
        assert answer.json() == {
            "message": "a page of another origin may not use this service",
            "code": "foreign_origin",
        }
        assert "access-control-allow-origin" not in answer.headers
    assert await edge.count_sessions() == before


@pytest.mark.parametrize("site", ["same-origin", "none"])
async def test_our_own_pages_may_ask(edge: Edge, site: str) -> None:
    headers = {"Host": "localhost:8080", "Origin": "http://localhost:8080", "Sec-Fetch-Site": site}
    assert (await edge.http.get("/health", headers=headers)).status_code == 200
    assert (await edge.http.post(ALERTS, json={"data": "Fog."}, headers=headers)).status_code == 202


async def test_a_form_that_a_page_sends_without_asking_reaches_nothing(edge: Edge) -> None:
    """Browsers send such a request across origins without a preflight; old ones without Origin."""
    session_id = await edge.submit()
    before = await edge.count_sessions()
    form = {"Content-Type": "text/plain", "Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
    body = b'{"data": "Fog.", "x=": ""}'
    assert (await edge.http.post(ALERTS, content=body, headers=form)).status_code == 403
    assert (await edge.http.post(ALERTS, content=body, headers={"Content-Type": "text/plain"})).status_code == 415
    assert (await edge.http.post(f"/api/v1/sessions/{session_id}/cancel", headers=form)).status_code == 403
    assert await edge.count_sessions() == before
    assert (await edge.show(session_id))["status"] == "pending"


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/health", {}, 200),
        ("/openapi.json", {}, 200),
        ("/nowhere", {}, 404),
        ("/api/v1/alerts", {}, 405),
        ("/api/v1/sessions/x", {}, 400),
        ("/health", {"Host": "evil.example"}, 421),
        ("/health", {"Origin": "null"}, 403),
    ],
)
async def test_every_answer_tells_browsers_to_be_careful(
    edge: Edge, path: str, headers: dict[str, str], status: int
) -> None:
    answer = await edge.http.get(path, headers=headers)
    assert answer.status_code == status
    assert SECURITY_HEADERS.items() <= answer.headers.items()


@pytest.mark.parametrize("path", ["/docs", "/redoc"])
async def test_no_page_is_served_that_loads_scripts_from_elsewhere(edge: Edge, path: str) -> None:
    assert (await edge.http.get(path)).status_code == 404
