"""A session whose stages have several agents, as clients read it: who worked where, and what it took in all."""

from pathlib import Path
from typing import Any

from midwatch.kit import json
from tests.api.edge import CONCLUSION, SUMMARY, call, open_edge, running, write_config
from tests.api.shelf import SESSIONS, wait_for_end
from tests.api.watcher import Event, delivering, watching, working

USAGE = {"input_tokens": 100, "output_tokens": 10}


def configure(folder: Path, *, second: dict[str, Any] | None = None) -> None:
    """Two replicas, of which the second may have a part of its own."""
    write_config(folder)
    path = folder / "midwatch.yaml"
    main = json.decode(path.read_text(encoding="utf-8"))
    main["agent_chains"]["deck"]["stages"] = [{"name": "watch", "agents": [{"name": "Mate"}], "replicas": 2}]
    path.write_text(json.encode_text(main), encoding="utf-8")
    parts: dict[str, Any] = {
        "Mate": [call("echo", text="all is dry"), CONCLUSION],
        "SynthesisAgent": [{"text": "Both say dry.", "usage": USAGE}],
        "ExecSummaryAgent": [SUMMARY],
    }
    if second is not None:
        parts["Mate-2"] = [second]
    (folder / "script.yaml").write_text(json.encode_text({"agents": parts}), encoding="utf-8")


async def test_everything_that_several_agents_did_is_counted(dsn: str, tmp_path: Path) -> None:
    configure(tmp_path)
    async with open_edge(tmp_path, dsn) as edge, running(edge):
        session_id = await edge.submit()
        session = await wait_for_end(edge, session_id)
        summary = (await edge.http.get(f"{SESSIONS}/{session_id}/summary")).json()
        (item,) = (await edge.http.get(SESSIONS)).json()["sessions"]
    watch, synthesis, short = session["stages"]
    assert [stage["stage_name"] for stage in session["stages"]] == ["watch", "watch - Synthesis", "Executive Summary"]
    assert [(each["agent_name"], each["agent_index"]) for each in watch["executions"]] == [("Mate-1", 1), ("Mate-2", 2)]
    assert (watch["parallel_type"], watch["expected_agent_count"]) == ("replica", 2)
    assert (synthesis["stage_type"], synthesis["referenced_stage_id"]) == ("synthesis", watch["id"])
    assert (synthesis["parallel_type"], short["referenced_stage_id"]) == (None, None)
    assert (session["final_analysis"], session["executive_summary"]) == ("Both say dry.", SUMMARY["text"])
    whole = {"has_parallel_stages": True, "total_stages": 3, "completed_stages": 3, "failed_stages": 0}
    counts = {"input_tokens": 180, "output_tokens": 22, "llm_interaction_count": 6, "mcp_interaction_count": 2}
    assert (whole | counts).items() <= session.items()
    assert (whole | counts).items() <= item.items()
    assert (summary["total_interactions"], summary["total_tokens"]) == (8, 202)
    assert (summary["chain_statistics"]["total_stages"], summary["chain_statistics"]["completed_stages"]) == (3, 3)


async def test_an_agent_that_fails_beside_one_that_does_not_is_seen_to_have_failed(dsn: str, tmp_path: Path) -> None:
    configure(tmp_path, second={"error": {"message": "out of fuel"}})
    async with open_edge(tmp_path, dsn) as edge, running(edge):
        session = await wait_for_end(edge, await edge.submit())
    first, second = session["stages"][0]["executions"]
    assert (session["status"], session["stages"][0]["status"]) == ("completed", "completed")
    assert (first["status"], second["status"], second["error_message"]) == ("completed", "failed", "out of fuel")


def of_type(events: list[Event], kind: str) -> list[Event]:
    return [event for event in events if event["type"] == kind]


async def test_a_watcher_is_told_of_each_agent_and_of_how_many_are_left(dsn: str, tmp_path: Path) -> None:
    configure(tmp_path)
    async with open_edge(tmp_path, dsn) as edge, delivering(edge), watching(edge) as watcher:
        session_id = await edge.submit()
        await watcher.subscribe(f"session:{session_id}")
        async with working(edge):
            events = await watcher.hear_until(type="stage.status", stage_type="exec_summary", status="started")
    progress = [
        (event["current_stage_index"], event["total_stages"], event["active_executions"])
        for event in of_type(events, "session.progress")
        if event["current_stage_index"] == 1
    ]
    assert progress == [(1, 3, 2), (1, 3, 1), (1, 3, 0)]
    told = [(event["agent_index"], event["status"]) for event in of_type(events, "execution.status")]
    assert sorted(told[:4]) == [(1, "active"), (1, "completed"), (2, "active"), (2, "completed")]
    phases = [event["phase"] for event in of_type(events, "execution.progress")]
    assert "synthesizing" in phases
    stages = [(event["stage_type"], event["status"]) for event in of_type(events, "stage.status")]
    assert stages[:4] == [
        ("investigation", "started"),
        ("investigation", "completed"),
        ("synthesis", "started"),
        ("synthesis", "completed"),
    ]
    numbers = [event["db_event_id"] for event in events if "db_event_id" in event]
    assert numbers == list(range(1, len(numbers) + 1))
