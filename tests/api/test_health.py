"""What a probe is told, and what callers are told when the database is away or we have a bug."""

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

import pytest
import structlog

from midwatch import __version__
from midwatch.masking.mask import MaskedAlert
from midwatch.store.engine import Store
from tests.api.edge import Edge, open_edge, running, serve_state
from tests.fakes.cable import open_cable
from tests.waiting import eventually

ALERTS = "/api/v1/alerts"
UNAVAILABLE = {"message": "the database does not answer; try again in a moment", "code": "store_unavailable"}


async def is_healthy(edge: Edge) -> bool:
    return (await edge.http.get("/health")).json()["status"] == "healthy"


async def test_a_replica_with_all_its_slots_is_healthy(dsn: str, config_folder: Path) -> None:
    async with open_edge(config_folder, dsn) as edge, running(edge):
        await eventually(lambda: is_healthy(edge), within=60)
        answer = await edge.http.get("/health")
        assert answer.status_code == 200
        assert answer.json() == {
            "status": "healthy",
            "version": __version__,
            "checks": {
                "database": {"status": "healthy", "message": None},
                "worker_pool": {"status": "healthy", "total_slots": 2, "live_slots": 2, "busy_slots": 0},
                "chat_pool": {"status": "healthy", "total_slots": 5, "live_slots": 5, "busy_slots": 0},
            },
        }


async def test_a_replica_without_slots_is_degraded_and_still_takes_alerts(edge: Edge) -> None:
    answer = await edge.http.get("/health")
    assert answer.status_code == 200
    assert answer.json()["status"] == "degraded"
    assert answer.json()["checks"]["worker_pool"] == {
        "status": "degraded",
        "total_slots": 2,
        "live_slots": 0,
        "busy_slots": 0,
    }
    await edge.submit()


async def test_a_replica_that_drains_says_so(dsn: str, config_folder: Path) -> None:
    async with open_edge(config_folder, dsn) as edge:
        edge.service.worker.drain()
        health = (await edge.http.get("/health")).json()
        assert (health["status"], health["checks"]["worker_pool"]["status"]) == ("degraded", "stopping")


async def test_without_a_database_nothing_is_accepted_and_everybody_is_told(
    dsn: str, store: Store, config_folder: Path
) -> None:
    async with open_cable(dsn) as cable, open_edge(config_folder, cable.dsn) as edge:
        session_id = await edge.submit()
        cable.cut()
        health = await edge.http.get("/health")
        assert health.status_code == 503
        assert health.json()["status"] == "unhealthy"
        database = health.json()["checks"]["database"]
        assert database["status"] == "unhealthy"
        assert "did not answer" in database["message"]
        asked = [
            await edge.http.post(ALERTS, json={"data": "Fog."}),
            await edge.http.get(f"/api/v1/sessions/{session_id}"),
            await edge.http.get(f"/api/v1/sessions/{session_id}/timeline"),
            await edge.http.post(f"/api/v1/sessions/{session_id}/cancel"),
        ]
        assert [(answer.status_code, answer.json()) for answer in asked] == [(503, UNAVAILABLE)] * 4
    async with store.connect() as tx:
        stored = await tx.fetch("SELECT session_id::text, status FROM alert_sessions")
    assert [tuple(row) for row in stored] == [(session_id, "pending")]


async def test_a_database_that_hangs_does_not_hang_the_probe(dsn: str, config_folder: Path) -> None:
    async with open_cable(dsn) as cable, open_edge(config_folder, cable.dsn) as edge:
        await edge.submit()
        cable.hold_still()
        async with asyncio.timeout(60):
            health = await edge.http.get("/health")
        assert health.status_code == 503
        assert health.json()["checks"]["database"]["message"] == "the database did not answer in time"


async def test_a_bug_of_ours_is_logged_once_and_told_to_nobody(edge: Edge, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: str) -> MaskedAlert:
        raise RuntimeError("hunter2-of-the-night-watch")

    state = edge.service.state
    state["intake"] = replace(state["intake"], mask=fail)
    async with serve_state(state) as (http, _):
        with structlog.testing.capture_logs() as logs, caplog.at_level(logging.WARNING):
            answer = await http.post(ALERTS, json={"data": "Fog."})
        again = await http.get("/health")
    assert answer.status_code == 500
    assert answer.json() == {
        "message": "something is wrong with Midwatch itself; its log says more",
        "code": "internal",
    }
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert [(entry["event"], entry["path"]) for entry in logs] == [("request_crashed", ALERTS)]
    assert not caplog.records
    assert again.status_code == 200


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("POST", "/api/v1/nowhere", 404, "not_found"),
        ("GET", "/api/v1/alerts", 405, "method_not_allowed"),
        ("DELETE", "/health", 405, "method_not_allowed"),
    ],
)
async def test_a_path_or_method_that_is_not_there_is_answered_in_the_same_shape(
    edge: Edge, method: str, path: str, status: int, code: str
) -> None:
    answer = await edge.http.request(method, path)
    assert answer.status_code == status
    problem = answer.json()
    assert problem == {"message": problem["message"], "code": code}
    assert problem["message"][0].islower()
    assert (answer.headers.get("allow") is not None) == (status == 405)
