"""What the service says of itself: its configuration, its tool servers, its warnings, and whether it is ready."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

from midwatch.kit import json
from midwatch.timeline.warnings import Warnings
from tests.api.edge import CONCLUSION, Edge, call, open_edge, running, write_config
from tests.api.shelf import wait_for_end
from tests.fakes.cable import open_cable
from tests.fakes.mcp_process import FAKE_SERVER
from tests.waiting import eventually

SYSTEM = "/api/v1/system"
NO_NATIVE_TOOLS = {"google_search": False, "code_execution": False, "url_context": False}
SERVER_KEYS = {"id", "healthy", "last_check", "tool_count", "tools", "error"}


async def read(edge: Edge, path: str) -> Any:
    answer = await edge.http.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_alert_types_lead_to_their_chains(edge: Edge) -> None:
    body = await read(edge, "/api/v1/alert-types")
    assert body.keys() == {"alert_types", "default_chain_id", "default_alert_type"}
    assert {"type": "deck", "chain_id": "deck", "description": ""} in body["alert_types"]
    assert {"type": "engine", "chain_id": "engine", "description": ""} in body["alert_types"]
    assert (body["default_alert_type"], body["default_chain_id"]) == ("deck", "deck")


async def test_without_a_repository_there_are_no_runbooks(edge: Edge) -> None:
    assert await read(edge, "/api/v1/runbooks") == []


@pytest.mark.parametrize(
    ("query", "alert_type"), [("", "deck"), ("?alert_type=", "deck"), ("?alert_type=engine", "engine")]
)
async def test_an_alert_that_asks_for_nothing_gets_the_servers_of_its_chain(
    edge: Edge, query: str, alert_type: str
) -> None:
    assert await read(edge, f"{SYSTEM}/default-tools{query}") == {
        "alert_type": alert_type,
        "mcp_servers": ["deck"],
        "native_tools": NO_NATIVE_TOOLS,
    }


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({}, {"google_search": True, "code_execution": False, "url_context": True}),
        (
            {"native_tools": {"google_search": False, "code_execution": True}},
            {"google_search": False, "code_execution": True, "url_context": True},
        ),
    ],
)
async def test_a_google_model_searches_and_reads_pages_unless_it_is_told_otherwise(
    dsn: str, config_folder: Path, entry: dict[str, Any], expected: dict[str, bool]
) -> None:
    main = json.decode((config_folder / "midwatch.yaml").read_text())
    main["agent_chains"]["engine"]["llm_provider"] = "gem"
    (config_folder / "midwatch.yaml").write_text(json.encode_text(main))
    providers = json.decode((config_folder / "llm-providers.yaml").read_text())
    providers["llm_providers"]["gem"] = {"type": "google", "model": "gemini-2.5-pro", **entry}
    (config_folder / "llm-providers.yaml").write_text(json.encode_text(providers))
    async with open_edge(config_folder, dsn) as edge:
        engine = await read(edge, f"{SYSTEM}/default-tools?alert_type=engine")
        deck = await read(edge, f"{SYSTEM}/default-tools")
    assert (engine["native_tools"], deck["native_tools"]) == (expected, NO_NATIVE_TOOLS)


@pytest.mark.parametrize("alert_type", ["galley", "%00", "x" * 1000])
async def test_tools_of_an_unknown_alert_type_are_refused(edge: Edge, alert_type: str) -> None:
    answer = await edge.http.get(f"{SYSTEM}/default-tools?alert_type={alert_type}")
    assert (answer.status_code, answer.json()["field"]) == (400, "alert_type")
    assert alert_type != "galley" or {"deck", "engine"} <= set(answer.json()["allowed"])


async def test_a_server_that_nobody_used_yet_is_neither_well_nor_ill(edge: Edge) -> None:
    unseen: dict[str, Any] = {"healthy": None, "last_check": None, "tool_count": 0, "tools": [], "error": None}
    assert await read_server(edge, "deck") == {"id": "deck"} | unseen
    assert await read(edge, f"{SYSTEM}/warnings") == {"warnings": []}


async def read_server(edge: Edge, server_id: str) -> dict[str, Any]:
    (server,) = [one for one in (await read(edge, f"{SYSTEM}/mcp-servers"))["servers"] if one["id"] == server_id]
    return server


async def investigate(edge: Edge) -> dict[str, Any]:
    """One session, and what is known of the server afterwards."""
    await wait_for_end(edge, await edge.submit())
    server = await read_server(edge, "deck")
    assert server.keys() == SERVER_KEYS
    return server


ENDED = ("it ended", "it ended before it was ready")


async def test_a_server_that_was_away_is_warned_of_until_it_is_back(dsn: str, tmp_path: Path) -> None:
    program = tmp_path / "server.py"
    write_config(tmp_path)
    main = json.decode((tmp_path / "midwatch.yaml").read_text())
    main["mcp_servers"]["deck"]["transport"] = {"type": "stdio", "command": sys.executable, "args": [str(program)]}
    (tmp_path / "midwatch.yaml").write_text(json.encode_text(main))
    async with open_edge(tmp_path, dsn) as edge, running(edge):
        away = await investigate(edge)
        (warning,) = (await read(edge, f"{SYSTEM}/warnings"))["warnings"]
        await investigate(edge)
        (again,) = (await read(edge, f"{SYSTEM}/warnings"))["warnings"]
        assert (again["id"], again["created_at"]) == (warning["id"], warning["created_at"])
        program.write_text(FAKE_SERVER.read_text())
        back = await investigate(edge)
        assert await read(edge, f"{SYSTEM}/warnings") == {"warnings": []}
    assert (away["healthy"], away["tool_count"]) == (False, 0)
    # A program that ends at once is missed while it is asked or before that.
    assert {away["error"], warning["details"]} <= {f"tool server deck: {how}" for how in ENDED}
    assert away["last_check"] is not None
    assert warning.keys() == {"id", "category", "message", "details", "server_id", "created_at"}
    assert (warning["category"], warning["server_id"]) == ("mcp_server_unavailable", "deck")
    assert (back["healthy"], back["error"]) == (True, None)
    assert back["tool_count"] == len(back["tools"]) > 0
    assert "echo" in {tool["name"] for tool in back["tools"]}
    assert all(tool.keys() == {"name", "description"} for tool in back["tools"])


def test_a_warning_said_again_stays_one_and_others_stay_apart() -> None:
    warnings = Warnings()
    warnings.put_up("server", "away", server_id="deck")
    warnings.put_up("server", "away", server_id="engine")
    warnings.put_up("server", "still away", server_id="deck", details="refused")
    first, second = warnings.show()
    assert (first.server_id, first.message, first.details) == ("deck", "still away", "refused")
    warnings.take_down("server", server_id="deck")
    warnings.take_down("other", server_id="engine")
    assert warnings.show() == [second]


async def test_what_the_configuration_warned_of_is_a_warning(dsn: str, config_folder: Path) -> None:
    main = json.decode((config_folder / "midwatch.yaml").read_text())
    main["queue"]["orphan_threshold"] = "5m"
    (config_folder / "midwatch.yaml").write_text(json.encode_text(main))
    async with open_edge(config_folder, dsn) as edge:
        (warning,) = (await read(edge, f"{SYSTEM}/warnings"))["warnings"]
    assert (warning["category"], warning["server_id"]) == ("configuration", None)
    assert "orphan_threshold" in warning["details"]


async def test_the_configuration_is_shown_without_what_may_be_secret(dsn: str, config_folder: Path) -> None:
    main = json.decode((config_folder / "midwatch.yaml").read_text())
    server = main["mcp_servers"]["deck"]
    server["transport"]["env"] = {"TOKEN": "hunter2-of-the-night-watch"}
    server["transport"]["args"].append("--password=hunter2-of-the-night-watch")
    server["data_masking"] = {
        "custom_patterns": [{"pattern": "hunter2-of-the-night-watch", "replacement": "x", "description": "y"}]
    }
    (config_folder / "midwatch.yaml").write_text(json.encode_text(main))
    providers = json.decode((config_folder / "llm-providers.yaml").read_text())
    providers["llm_providers"]["far"] = {
        "type": "openai",
        "model": "big",
        "base_url": "http://mate:hunter2-of-the-night-watch@far/v1",
    }
    (config_folder / "llm-providers.yaml").write_text(json.encode_text(providers))
    async with open_edge(config_folder, dsn) as edge:
        body = await read(edge, f"{SYSTEM}/config")
    assert body.keys() == {
        *("defaults", "queue", "system", "agents", "chains", "mcp_servers", "llm_providers", "skills"),
    }
    assert "hunter2" not in str(body)
    assert (body["defaults"]["alert_type"], body["queue"]["worker_count"]) == ("deck", 2)
    assert body["agents"]["Mate"]["mcp_servers"] == ["deck"]
    assert body["chains"]["engine"]["stages"][0]["agents"][0]["name"] == "Mate"
    assert body["llm_providers"]["far"]["model"] == "big"


async def is_ready(edge: Edge) -> bool:
    return (await edge.http.get("/ready")).status_code == 200


async def test_a_replica_is_ready_once_somebody_works_and_until_it_drains(dsn: str, tmp_path: Path) -> None:
    write_config(tmp_path, turns=[call("slow_read", seconds=60), CONCLUSION])
    async with open_edge(tmp_path, dsn) as edge:
        idle = await edge.http.get("/ready")
        assert (idle.status_code, idle.json()["ready"]) == (503, False)
        async with running(edge):
            await eventually(lambda: is_ready(edge))
            body = await read(edge, "/ready")
            assert (body.keys(), body["ready"]) == ({"ready", "checks"}, True)
            await edge.submit()
            await eventually(lambda: edge.service.worker.busy_slots)
            edge.service.worker.drain()
            draining = await edge.http.get("/ready")
            assert (draining.status_code, draining.json()["ready"]) == (503, False)
            assert draining.json()["checks"]["worker_pool"]["live_slots"] > 0
            assert (await edge.http.get("/health")).status_code == 200


async def test_a_replica_without_its_database_is_not_ready(dsn: str, config_folder: Path) -> None:
    async with open_cable(dsn) as cable, open_edge(config_folder, cable.dsn) as edge, running(edge):
        await eventually(lambda: is_ready(edge))
        cable.cut()
        answer = await edge.http.get("/ready")
        assert (answer.status_code, answer.json()["ready"]) == (503, False)
        assert answer.json()["checks"]["database"]["status"] == "unhealthy"


async def test_the_page_of_the_api_names_every_path_and_loads_nothing(edge: Edge) -> None:
    answer = await edge.http.get("/api/docs")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    paths = (await read(edge, "/openapi.json"))["paths"]
    assert all(f"{method.upper()} {path}" in answer.text for path, methods in paths.items() for method in methods)
    assert "<script" not in answer.text
    assert re.findall(r'(?:src|href)="([^"]*)"', answer.text) == ["/openapi.json"]
    assert "page_size" in answer.text


async def test_a_repository_that_cannot_be_reached_lists_nothing_and_warns(dsn: str, config_folder: Path) -> None:
    path = config_folder / "midwatch.yaml"
    system = {"runbooks": {"repo_url": "https://github.com/ship/books/tree/main/ops"}}
    path.write_text(json.encode_text(json.decode(path.read_text()) | {"system": system}))
    async with open_edge(config_folder, dsn) as edge:
        assert await read(edge, "/api/v1/runbooks") == []
        warnings = (await read(edge, f"{SYSTEM}/warnings"))["warnings"]
    by_category = {warning["category"]: warning for warning in warnings}
    assert "variable GITHUB_TOKEN (system.github.token_env) is not set" in by_category["configuration"]["details"]
    assert by_category["runbooks"]["message"] == "the list of runbooks could not be read"
    assert by_category["runbooks"]["details"] == "its host name is not known"
