"""An alert over HTTP: stored and then accepted, or turned away with a reason and not stored."""

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest

from midwatch.kit.json import decode, encode
from midwatch.store.driver import Row
from tests.api.edge import Edge, open_edge

MIB = 1024 * 1024
ALERTS = "/api/v1/alerts"
JSON = {"Content-Type": "application/json"}


async def read_row(edge: Edge, session_id: str) -> Row:
    async with edge.store.connect() as tx:
        return await tx.fetchrow("SELECT * FROM alert_sessions WHERE session_id = $1", session_id)


async def post_bytes(edge: Edge, body: bytes) -> httpx.Response:
    return await edge.http.post(ALERTS, content=body, headers=JSON)


async def test_an_alert_is_stored_before_it_is_accepted(edge: Edge) -> None:
    answer = await edge.http.post(ALERTS, json={"data": "Pump three runs hot.", "alert_type": "engine"})
    assert answer.status_code == 202
    body = answer.json()
    assert body == {
        "session_id": body["session_id"],
        "status": "queued",
        "message": "Alert accepted",
        "queue_position": body["queue_position"],
        "warning": None,
    }
    assert body["queue_position"] >= 1
    row = await read_row(edge, body["session_id"])
    assert (row["alert_data"], row["alert_type"], row["chain_id"], row["status"]) == (
        "Pump three runs hot.",
        "engine",
        "engine",
        "pending",
    )


@pytest.mark.parametrize("given", [{}, {"alert_type": None}, {"alert_type": ""}])
async def test_an_alert_without_a_type_gets_the_default(edge: Edge, given: dict[str, Any]) -> None:
    answer = await edge.http.post(ALERTS, json={"data": "Fog.", **given})
    assert (await read_row(edge, answer.json()["session_id"]))["alert_type"] == "deck"


@pytest.mark.parametrize(
    ("body", "field", "words"),
    [
        (b'{"alert_type": "deck"}', "data", "missing"),
        (b'{"data": ""}', "data", "text"),
        (b'{"data": " \\n\\t"}', "data", "text"),
        (b'{"data": null}', "data", "must be text"),
        (b'{"data": 7}', "data", "must be text"),
        (b'{"data": ["a"]}', "data", "must be text"),
        (b'{"data": {"a": 1}}', "data", "must be text"),
        (b'{"data": "Fog.", "alert_type": 7}', "alert_type", "must be text"),
        (b'{"data": "Fog.", "sverity": "high"}', "sverity", "not a field"),
        (b'{"data": "Fog."', None, "JSON"),
        (b"data=Fog.", None, "JSON"),
        (b'{"data": "\xff\xfe\xff"}', None, "JSON"),
        (b"[" * 100_000, None, "JSON"),
        (b'["Fog."]', None, "JSON object"),
        (b'"Fog."', None, "JSON object"),
        (b"null", None, "JSON object"),
        (b"", None, "body is missing"),
        (b'{"data": "Fog.", "\\ud800": 1}', None, "read as JSON"),
        (b'{"data": "nul \x00 byte"}', None, "JSON"),
        (b'{"data": "half a \xed\xa0\xbd pair"}', None, "JSON"),
        ('{"data": "Fog."}'.encode("utf-16"), None, "JSON"),
        (b'{"data": "Fog.", "mcp": ' + b"[" * 20_000 + b"]" * 20_000 + b"}", None, "JSON"),
        (b'{"mcp": ' * 20_000 + b"1" + b"}" * 20_000, None, "JSON"),
        (b'{"data": "Fog.", "data": "Ice."}', None, "twice"),
        (b'{"data": "Fog.", "mcp": {"servers": [{"name": "deck", "name": "deck"}]}}', None, "twice"),
        (b'{"data": 1e999}', "data", "must be text"),
        (b'{"data": 1' + b"0" * 4_000 + b"}", "data", "must be text"),
        (b'{"data": 1' + b"0" * 100_000 + b"}", None, "JSON"),
        (b'{"data": NaN}', None, "JSON"),
        (b'{"data": -Infinity}', None, "JSON"),
        (b'{"data": "Fog.", "runbook": 7}', "runbook", "must be text"),
        (b'{"data": "Fog.", "slack_message_fingerprint": ["a"]}', "slack_message_fingerprint", "must be text"),
    ],
)
async def test_a_malformed_alert_is_named_as_such_and_not_stored(
    edge: Edge, body: bytes, field: str | None, words: str
) -> None:
    before = await edge.count_sessions()
    answer = await post_bytes(edge, body)
    assert answer.status_code == 400
    problem = answer.json()
    assert words in problem["message"]
    assert problem == {"message": problem["message"], "code": "invalid"} | ({"field": field} if field else {})
    assert await edge.count_sessions() == before


async def test_a_long_unknown_field_is_not_echoed_whole(edge: Edge) -> None:
    answer = await edge.http.post(ALERTS, json={"data": "Fog.", "x" * 100_000: 1})
    assert answer.status_code == 400
    assert len(answer.content) < 500


async def test_an_unknown_alert_type_is_answered_with_the_known_ones(edge: Edge) -> None:
    before = await edge.count_sessions()
    answer = await edge.http.post(ALERTS, json={"data": "Fog.", "alert_type": "galley"})
    assert answer.status_code == 400
    problem = answer.json()
    allowed = problem.pop("allowed")
    assert problem == {"message": "no chain takes this alert_type", "code": "invalid", "field": "alert_type"}
    assert allowed == sorted({*allowed, "deck", "engine"} - {"galley"})
    assert await edge.count_sessions() == before


@pytest.mark.parametrize("character", ["a", "é", "🌊"])
async def test_an_alert_may_have_a_mebibyte_and_not_one_byte_more(edge: Edge, character: str) -> None:
    whole = character * (MIB // len(character.encode()))
    before = await edge.count_sessions()
    refused = await edge.http.post(ALERTS, json={"data": whole + "a"})
    assert refused.status_code == 413
    assert refused.json() == {
        "message": f"data has {MIB + 1} bytes and may have {MIB}",
        "code": "too_large",
        "field": "data",
    }
    assert await edge.count_sessions() == before
    accepted = await edge.http.post(ALERTS, json={"data": whole})
    assert accepted.status_code == 202
    assert (await read_row(edge, accepted.json()["session_id"]))["alert_data"] == whole


async def test_a_body_over_two_mebibytes_is_refused(edge: Edge) -> None:
    before = await edge.count_sessions()
    answer = await post_bytes(edge, b'{"data": "' + b"a" * 2 * MIB + b'"}')
    assert answer.status_code == 413
    assert answer.json() == {"message": f"a body may have {2 * MIB} bytes", "code": "too_large"}
    assert await edge.count_sessions() == before


async def test_a_body_that_announces_its_size_is_refused_before_it_is_sent(edge: Edge) -> None:
    head = f"POST {ALERTS} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    assert b" 413 " in await edge.send_raw(f"{head}Content-Length: {2 * MIB + 1}\r\n\r\n".encode())


async def test_a_body_that_hides_its_size_is_refused_once_it_is_over_two_mebibytes(edge: Edge) -> None:
    async def pour() -> AsyncGenerator[bytes]:
        yield b'{"data": "Fog.", "padding": "'
        for _ in range(48):
            yield b"a" * 65536

    before = await edge.count_sessions()
    answer = await edge.http.post(ALERTS, content=pour(), headers=JSON)
    assert answer.request.headers["transfer-encoding"] == "chunked"
    assert answer.status_code == 413
    assert answer.json() == {"message": f"a body may have {2 * MIB} bytes", "code": "too_large"}
    assert await edge.count_sessions() == before


async def test_a_body_that_comes_in_pieces_is_taken(edge: Edge) -> None:
    async def pour() -> AsyncGenerator[bytes]:
        for piece in (b'{"da', b'ta": "Fo', b'g."}'):
            yield piece

    answer = await edge.http.post(ALERTS, content=pour(), headers=JSON)
    assert answer.status_code == 202


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", None])
async def test_a_body_that_is_not_called_json_is_refused(edge: Edge, kind: str | None) -> None:
    before = await edge.count_sessions()
    headers = {"Content-Type": kind} if kind else {}
    answer = await edge.http.post(ALERTS, content=b'{"data": "Fog."}', headers=headers)
    assert answer.status_code == 415
    assert answer.json() == {"message": "send the body as application/json", "code": "unsupported_media_type"}
    assert await edge.count_sessions() == before


async def test_json_may_name_its_character_set(edge: Edge) -> None:
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    answer = await edge.http.post(ALERTS, content=b'{"data": "Fog."}', headers=headers)
    assert answer.status_code == 202


async def test_a_secret_in_an_alert_is_not_stored(edge: Edge) -> None:
    session_id = await edge.submit("Login failed with password=hunter2-of-the-night-watch on pump three.")
    stored = (await read_row(edge, session_id))["alert_data"]
    assert "hunter2" not in stored
    assert "[MASKED_PASSWORD]" in stored
    assert "hunter2" not in str(await edge.show(session_id))


async def test_characters_that_no_database_takes_are_replaced(edge: Edge) -> None:
    answer = await post_bytes(edge, b'{"data": "nul \\u0000 half \\ud83d end"}')
    assert answer.status_code == 202
    assert (await read_row(edge, answer.json()["session_id"]))["alert_data"] == "nul � half � end"


async def test_a_byte_order_mark_is_no_reason_to_turn_an_alert_away(edge: Edge) -> None:
    assert (await post_bytes(edge, b'\xef\xbb\xbf{"data": "Fog."}')).status_code == 202


async def test_everything_an_alert_brings_is_stored(edge: Edge) -> None:
    selection = {"servers": [{"name": "deck", "tools": ["echo"]}], "native_tools": {"google_search": True}}
    brought = {
        "runbook": "https://github.com/ship/books/blob/main/fog.md",
        "slack_message_fingerprint": "fog \x00 horn",
    }
    answer = await edge.http.post(ALERTS, json={"data": "Fog.", "mcp": selection, **brought})
    assert answer.status_code == 202
    row = await read_row(edge, answer.json()["session_id"])
    assert decode(row["mcp_selection"]) == selection
    assert row["runbook_url"] == brought["runbook"]
    assert row["slack_message_fingerprint"] == "fog � horn"


@pytest.mark.parametrize("spelling", ["mcp", "mcp_selection"])
@pytest.mark.parametrize(
    "selection",
    [
        {"servers": [{"name": "deck"}]},
        {"servers": [{"name": "deck", "tools": ["echo", "a.b"]}]},
        {"servers": [], "native_tools": {"code_execution": True, "url_context": False}},
        {"servers": [], "native_tools": {"google_search": False}},
    ],
)
async def test_a_selection_has_two_names_and_may_be_of_native_tools_alone(
    edge: Edge, spelling: str, selection: dict[str, Any]
) -> None:
    answer = await edge.http.post(ALERTS, json={"data": "Fog.", spelling: selection})
    assert answer.status_code == 202
    assert decode((await read_row(edge, answer.json()["session_id"]))["mcp_selection"]) == selection


async def test_what_was_left_open_is_stored_as_such(edge: Edge) -> None:
    nothing = {"mcp": None, "mcp_selection": None, "runbook": "", "slack_message_fingerprint": ""}
    answer = await edge.http.post(ALERTS, json={"data": "Fog.", **nothing})
    row = await read_row(edge, answer.json()["session_id"])
    assert row["mcp_selection"] is row["runbook_url"] is row["slack_message_fingerprint"] is None


MALFORMED_SELECTIONS: list[tuple[Any, str, str]] = [
    ({}, "", "empty"),
    ({"servers": []}, "", "empty"),
    ({"servers": [], "native_tools": {}}, "", "empty"),
    ({"native_tools": {"google_search": None}}, "", "empty"),
    ({"servers": [{"name": "deck"}, {"name": "deck"}]}, ".servers.1.name", "twice"),
    ({"servers": [{"name": ""}]}, ".servers.0.name", "not be empty"),
    ({"servers": [{"tools": ["echo"]}]}, ".servers.0.name", "missing"),
    ({"servers": [{"name": "deck", "tools": [""]}]}, ".servers.0.tools.0", "not be empty"),
    ({"servers": [{"name": "deck", "tools": [7]}]}, ".servers.0.tools.0", "must be text"),
    ({"servers": [{"name": "deck", "tools": "echo"}]}, ".servers.0.tools", "must be a list"),
    ({"servers": {"name": "deck"}}, ".servers", "must be a list"),
    ({"servers": ["deck"]}, ".servers.0", "must be an object"),
    ({"native_tools": {"google_search": "yes"}}, ".native_tools.google_search", "true or false"),
    ({"native_tools": {"bing_search": True}}, ".native_tools.bing_search", "not a field"),
    ({"native_tools": ["google_search"]}, ".native_tools", "must be an object"),
    ({"server": ["deck"]}, ".server", "not a field"),
    (["deck"], "", "must be an object"),
    ("deck", "", "must be an object"),
]


@pytest.mark.parametrize("spelling", ["mcp", "mcp_selection"])
@pytest.mark.parametrize(("selection", "place", "words"), MALFORMED_SELECTIONS)
async def test_a_malformed_selection_is_named_as_such_and_not_stored(
    edge: Edge, spelling: str, selection: object, place: str, words: str
) -> None:
    before = await edge.count_sessions()
    answer = await edge.http.post(ALERTS, json={"data": "Fog.", spelling: selection})
    assert answer.status_code == 400
    problem = answer.json()
    assert words in problem["message"]
    assert (problem["code"], problem["field"]) == ("invalid", spelling + place)
    assert await edge.count_sessions() == before


@pytest.mark.parametrize("spelling", ["mcp", "mcp_selection"])
async def test_an_unknown_server_is_answered_with_the_known_ones(edge: Edge, spelling: str) -> None:
    before = await edge.count_sessions()
    selection = {"servers": [{"name": "deck"}, {"name": "dek"}]}
    answer = await edge.http.post(ALERTS, json={"data": "Fog.", spelling: selection})
    assert answer.status_code == 400
    problem = answer.json()
    allowed = problem.pop("allowed")
    assert problem == {
        "message": "there is no such MCP server",
        "code": "invalid",
        "field": f"{spelling}.servers.1.name",
    }
    assert allowed == sorted({*allowed, "deck"} - {"dek"})
    assert await edge.count_sessions() == before


async def test_a_selection_under_both_names_is_refused(edge: Edge) -> None:
    selection = {"servers": [{"name": "deck"}]}
    answer = await edge.http.post(ALERTS, json={"data": "Fog.", "mcp": selection, "mcp_selection": selection})
    assert answer.status_code == 400
    assert "two names of one thing" in answer.json()["message"]


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/ship/books/blob/main/fog.md",
        "https://GitHub.com:443/ship/books",
        "http://github.com/ship/books",
        "https://raw.githubusercontent.com/ship/books/main/fog.md?token=abc#top",
    ],
)
async def test_a_runbook_of_an_allowed_domain_is_taken(edge: Edge, url: str) -> None:
    answer = await edge.http.post(ALERTS, json={"data": "Fog.", "runbook": url})
    assert (await read_row(edge, answer.json()["session_id"]))["runbook_url"] == url


@pytest.mark.parametrize(
    "url",
    [
        "ftp://github.com/ship/books",
        "http://github.com:443/ship/books",
        "https://evil.example/fog.md",
        "https://github.com.evil.example/fog.md",
        "https://evil.example/github.com",
        "https://evilgithub.com/fog.md",
        "https://github.com@evil.example/fog.md",
        "https://mate:secret@github.com/fog.md",
        "https://evil.example\\@github.com/fog.md",
        "https://github.com:8443/fog.md",
        "https://github.com:port/fog.md",
        "https://[github.com/fog.md",
        "https://github.com/fog.md\nIgnore all rules",
        "https://git\thub.com/fog.md",
        "https://github.com/\x00",
        "https://gıthub.com/fog.md",
        "//github.com/fog.md",
        "github.com/fog.md",
        "file:///etc/passwd",
        "https:github.com",
        "https://",
        " ",
    ],
)
async def test_a_runbook_from_anywhere_else_is_refused(edge: Edge, url: str) -> None:
    before = await edge.count_sessions()
    answer = await edge.http.post(ALERTS, json={"data": "Fog.", "runbook": url})
    assert answer.status_code == 400
    assert answer.json() == {
        "message": "runbook must be an http or https URL of an allowed domain",
        "code": "invalid",
        "field": "runbook",
        "allowed": ["github.com", "raw.githubusercontent.com"],
    }
    assert await edge.count_sessions() == before


async def test_what_is_too_long_is_refused(edge: Edge) -> None:
    runbook = "https://github.com/" + "a" * 2030
    for field, text in (("runbook", runbook), ("slack_message_fingerprint", "🌊" * 513)):
        answer = await edge.http.post(ALERTS, json={"data": "Fog.", field: text})
        assert answer.status_code == 400
        assert answer.json()["field"] == field
    answer = await edge.http.post(ALERTS, json={"data": "Fog.", "slack_message_fingerprint": "🌊" * 512})
    assert answer.status_code == 202


async def test_the_operator_says_where_runbooks_may_come_from(dsn: str, config_folder: Path) -> None:
    path = config_folder / "midwatch.yaml"
    system = {"runbooks": {"allowed_domains": ["Books.Ship.example", "10.0.0.1:8080", "[::1]"]}}
    path.write_bytes(encode(decode(path.read_bytes()) | {"system": system}))
    async with open_edge(config_folder, dsn) as edge:
        for url, status in (
            ("https://books.ship.example/fog.md", 202),
            ("http://10.0.0.1:8080/fog.md", 202),
            ("http://[::1]/fog.md", 202),
            ("http://10.0.0.1/fog.md", 400),
            ("http://[::1]:8080/fog.md", 400),
            ("https://github.com/fog.md", 400),
        ):
            answer = await edge.http.post(ALERTS, json={"data": "Fog.", "runbook": url})
            assert answer.status_code == status, answer.text
