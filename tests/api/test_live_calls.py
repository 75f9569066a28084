"""A tool call while it runs, as somebody sees it who watches: what the server says of it, masked, and how to end it."""

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from midwatch.config.mcp import OURSELVES
from midwatch.kit import json
from tests.api.edge import CONCLUSION, Edge, call, open_edge, write_config
from tests.api.shelf import SESSIONS
from tests.api.watcher import Event, Watcher, delivering, watching, working
from tests.safety.requirements import requirement

TALKATIVE = Path(__file__).parents[1] / "fakes" / "talkative_server.py"
SECRET = "hunter2-of-the-watch"


@asynccontextmanager
async def open_deck(folder: Path, dsn: str) -> AsyncGenerator[Edge]:
    """Its one server tells a secret as soon as it works, and works until a file is there."""
    write_config(folder, turns=[call("work", until=str(folder / "done")), CONCLUSION])
    config: dict[str, Any] = json.decode((folder / "midwatch.yaml").read_bytes())
    transport = {"type": "stdio", "command": sys.executable, "args": [str(TALKATIVE)]}
    config["mcp_servers"] = {"deck": {"transport": transport, "run_as": OURSELVES, "kinds": {"read": ["*"]}}}
    (folder / "midwatch.yaml").write_text(json.encode_text(config), encoding="utf-8")
    async with open_edge(folder, dsn) as edge, delivering(edge):
        yield edge


async def hear_note(watcher: Watcher, **expected: Any) -> tuple[list[Event], Event]:
    """Everything up to the note, and the note."""
    heard = await watcher.hear_until(type="call.progress", **expected)
    return heard, heard[-1]


@requirement("mask:live-notes")
async def test_whoever_watches_sees_progress_and_log_of_a_call_masked(dsn: str, tmp_path: Path) -> None:
    async with open_deck(tmp_path, dsn) as edge, watching(edge) as watcher:
        session_id = await edge.submit()
        await watcher.subscribe(f"session:{session_id}")
        async with working(edge):
            heard, progress = await hear_note(watcher, progress=1.0)
            more, log = await hear_note(watcher, level="info")
            (tmp_path / "done").touch()
            rest = await watcher.hear_until(type="session.status", status="completed")
        timeline = (await edge.http.get(f"{SESSIONS}/{session_id}/timeline")).json()
    called = next(event for event in heard if event.get("event_type") == "llm_tool_call")
    assert progress.pop("timestamp").endswith("Z")
    assert progress == {
        "type": "call.progress",
        "session_id": session_id,
        "stage_id": called["stage_id"],
        "execution_id": called["execution_id"],
        "call_id": called["metadata"]["call_id"],
        "server_name": "deck",
        "tool_name": "work",
        "message": "password=[MASKED_PASSWORD]",
        "progress": 1.0,
        "total": 4.0,
    }
    assert (log["message"], log["call_id"]) == ("still at it", progress["call_id"])
    assert SECRET not in json.encode_text([*heard, *more, *rest])
    assert "still at it" not in json.encode_text(timeline), "nothing of it is kept"


@requirement("journal:person-ends-one-call")
async def test_a_call_is_ended_by_the_id_that_its_progress_shows_and_the_session_goes_on(
    dsn: str, tmp_path: Path
) -> None:
    async with open_deck(tmp_path, dsn) as edge, watching(edge) as watcher:
        session_id = await edge.submit()
        await watcher.subscribe(f"session:{session_id}")
        async with working(edge):
            _, progress = await hear_note(watcher, progress=1.0)
            answer = await edge.http.post(f"{SESSIONS}/{session_id}/calls/{progress['call_id']}/cancel")
            assert answer.status_code == 200, answer.text
            rest = await watcher.hear_until(type="session.status", status="completed")
    told = [event for event in rest if event["type"] == "timeline_event.completed"]
    assert "A person cancelled this call" in json.encode_text(told)
    assert not (tmp_path / "done").exists()
