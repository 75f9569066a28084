"""`/metrics` of a running service: what it counts of alerts, agents, tools, refusals and requests."""

from math import isnan
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect

from midwatch.kit import json
from tests.api.edge import CONCLUSION, Edge, Turn, call, open_edge, running, write_config
from tests.fakes.cable import open_cable
from tests.scraping import Samples, scrape
from tests.waiting import eventually


def write_deck(folder: Path, *turns: Turn) -> None:
    """`echo` reads, and nobody has said so of anything else."""
    write_config(folder, turns=turns)
    path = folder / "midwatch.yaml"
    config: dict[str, Any] = json.decode(path.read_bytes())
    config["mcp_servers"]["deck"]["kinds"] = {"read": ["echo", "fail", "slow_read"]}
    path.write_text(json.encode_text(config), encoding="utf-8")


async def end(edge: Edge, session_id: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        session = await edge.show(session_id)
        return session if session["status"] not in ("pending", "in_progress") else None

    return await eventually(look)


async def investigate(folder: Path, dsn: str, *turns: Turn) -> Samples:
    """What is scraped after one alert has come to its end."""
    write_deck(folder, *turns)
    async with open_edge(folder, dsn) as edge, running(edge):
        await end(edge, await edge.submit())
        return await scrape(edge.http)


async def test_an_investigation_is_counted_from_the_alert_to_its_end(tmp_path: Path, dsn: str) -> None:
    samples = await investigate(tmp_path, dsn, call("echo", text="hi"), CONCLUSION)
    assert samples.of("midwatch_sessions_submitted_total") == {("deck",): 1}
    assert samples.of("midwatch_sessions_terminal_total") == {("deck", "completed"): 1}
    assert samples.of("midwatch_session_duration_seconds_count") == {("deck", "completed"): 1}
    assert samples.of("midwatch_session_wait_seconds_count") == {("deck",): 1}
    assert samples.value("midwatch_sessions_queued") == 0
    assert samples.value("midwatch_workers") == 2
    assert samples.value("midwatch_orphans_recovered_total") == 0
    assert samples.of("midwatch_mcp_health_status") == {("deck",): 1}
    assert samples.value("midwatch_database_up") == 1


async def test_what_models_and_tools_did_is_counted(tmp_path: Path, dsn: str) -> None:
    samples = await investigate(tmp_path, dsn, call("echo", text="hi"), call("fail", message="broken"), CONCLUSION)
    model = {"provider": "script", "model": "scripted"}
    assert samples.value("midwatch_llm_calls_total", **model) == 4
    assert samples.value("midwatch_ai_agentic_iterations_total", **model) == 4
    assert samples.value("midwatch_llm_tokens_total", **model, type="input") == 50
    assert samples.value("midwatch_llm_tokens_total", **model, type="output") == 8
    assert samples.value("midwatch_llm_duration_seconds_count", **model) == 4
    assert samples.of("midwatch_mcp_calls_total") == {("deck", "echo"): 1, ("deck", "fail"): 1}
    assert samples.of("midwatch_mcp_errors_total") == {("TOOL_ERROR", "deck", "fail"): 1}
    assert samples.of("midwatch_mcp_duration_seconds_count") == {("deck", "echo"): 1, ("deck", "fail"): 1}


async def test_every_refusal_is_counted_once_and_an_invented_tool_is_nobodys(tmp_path: Path, dsn: str) -> None:
    samples = await investigate(
        tmp_path,
        dsn,
        call("restart", name="web"),
        call("restart", name="web"),
        call("slow_read", seconds="soon"),
        call("made_up_by_the_model"),
        CONCLUSION,
    )
    assert samples.of("midwatch_ai_refusals_total") == {
        ("READ_ONLY_VIOLATION", "deck.restart"): 2,
        ("INVALID_INPUT", "deck.slow_read"): 1,
        ("TOOL_NOT_FOUND", "other"): 1,
    }
    assert samples.total("midwatch_mcp_calls_total") == 0


async def test_requests_are_counted_by_route_and_never_by_the_path_that_was_asked_for(tmp_path: Path, dsn: str) -> None:
    write_deck(tmp_path, CONCLUSION)
    async with open_edge(tmp_path, dsn) as edge:
        session_id = await edge.submit()
        await edge.show(session_id)
        await edge.http.get("/no/such/path")
        await edge.http.get("/health", headers={"Host": "evil.test"})
        await edge.send_raw(b"BREW /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        samples = await scrape(edge.http)
    requests = samples.of("midwatch_http_requests_total")
    assert requests["POST", "/api/v1/alerts", "2xx"] == 1
    assert requests["GET", "/api/v1/sessions/{session_id}", "2xx"] == 1
    assert requests["GET", "other", "4xx"] == 2
    assert requests["other", "/health", "4xx"] == 1
    assert not [labels for labels in requests if session_id in labels[1]]
    assert samples.value("midwatch_http_duration_seconds_count", method="POST", path="/api/v1/alerts") == 1


async def test_watchers_are_counted_while_they_watch(tmp_path: Path, dsn: str) -> None:
    write_deck(tmp_path, CONCLUSION)
    async with open_edge(tmp_path, dsn) as edge:
        async with connect(f"ws://127.0.0.1:{edge.port}/api/v1/ws", proxy=None) as socket:
            await socket.recv()
            watched = await scrape(edge.http)

        async def is_gone() -> bool:
            return (await scrape(edge.http)).value("midwatch_ws_connections_active") == 0

        await eventually(is_gone)
    assert watched.value("midwatch_ws_connections_active") == 1


async def test_a_session_that_is_cancelled_while_it_waits_has_come_to_its_end(tmp_path: Path, dsn: str) -> None:
    write_deck(tmp_path, CONCLUSION)
    async with open_edge(tmp_path, dsn) as edge:
        session_id = await edge.submit()
        waiting = await scrape(edge.http)
        for _ in range(2):
            await edge.http.post(f"/api/v1/sessions/{session_id}/cancel")
        samples = await scrape(edge.http)
    assert waiting.value("midwatch_sessions_queued") == 1
    assert samples.of("midwatch_sessions_terminal_total") == {("deck", "cancelled"): 1}
    assert samples.value("midwatch_sessions_queued") == 0


async def test_an_alert_that_is_sent_again_is_counted_once(tmp_path: Path, dsn: str) -> None:
    write_deck(tmp_path, CONCLUSION)
    async with open_edge(tmp_path, dsn) as edge:
        for _ in range(2):
            await edge.http.post("/api/v1/alerts", json={"data": "The pump is hot."}, headers={"Idempotency-Key": "k1"})
        samples = await scrape(edge.http)
    assert samples.total("midwatch_sessions_submitted_total") == 1


async def test_without_a_database_the_counters_are_still_there_and_the_queue_is_no_number(
    tmp_path: Path, dsn: str
) -> None:
    write_deck(tmp_path, CONCLUSION)
    async with open_cable(dsn) as cable, open_edge(tmp_path, cable.dsn) as edge:
        await edge.submit()
        cable.cut()
        samples = await scrape(edge.http)
    assert samples.value("midwatch_database_up") == 0
    assert isnan(samples.value("midwatch_sessions_queued"))
    assert samples.total("midwatch_sessions_submitted_total") == 1


async def test_where_nothing_is_counted_there_is_no_such_page_and_all_else_works(tmp_path: Path, dsn: str) -> None:
    write_deck(tmp_path, call("restart", name="web"), CONCLUSION)
    path = tmp_path / "midwatch.yaml"
    config: dict[str, Any] = json.decode(path.read_bytes())
    path.write_text(json.encode_text({**config, "telemetry": {"metrics": False}}), encoding="utf-8")
    async with open_edge(tmp_path, dsn) as edge, running(edge):
        session = await end(edge, await edge.submit())
        answer = await edge.http.get("/metrics")
    assert session["status"] == "completed"
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
