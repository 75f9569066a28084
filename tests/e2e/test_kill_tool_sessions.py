"""Sessions with tool servers do not survive a replica: whoever takes over opens its own, whatever they are for."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from midwatch.domain.session import SessionStatus
from midwatch.kit import json
from tests.fakes.openai_server import by_turn, hold_turn, serve
from tests.feed_reader import reading_feed
from tests.replicas import all_dead_soon
from tests.scenes import BRIEF, CONCLUSION, change, look, open_scene
from tests.waiting import eventually

SCOPES: dict[str, dict[str, Any]] = {
    "shared by the replica": {"shared": True},
    "one for the investigation": {"isolation": "investigation"},
    "one for each execution": {"isolation": "execution"},
}


def change_config(folder: Path, **server: Any) -> None:
    """Two stages, so that an execution begins after the take-over too."""
    main = json.decode((folder / "midwatch.yaml").read_text())
    main["mcp_servers"]["deck"] |= server
    main["agent_chains"]["deck"]["stages"] *= 2
    (folder / "midwatch.yaml").write_text(json.encode_text(main))


@pytest.mark.parametrize("scope", SCOPES)
async def test_tool_sessions_of_a_killed_replica_are_opened_anew_by_the_next_owner(
    scope: str, dsn: str, tmp_path: Path
) -> None:
    release = asyncio.Event()
    turns = by_turn([look("pump"), change("pump"), CONCLUSION])
    async with (
        serve(turns, before_turn=hold_turn(1, release=release)) as model,
        open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene,
    ):
        change_config(tmp_path, **SCOPES[scope])
        first, _ = await scene.fleet.start("first", "second")
        session_id = await first.submit()
        async with reading_feed(scene.store, session_id) as feed:
            await scene.asked(1)
            owner, _ = await scene.owner_and_other(session_id)
            left = owner.children()
            assert left
            await owner.kill()
            await eventually(lambda: all_dead_soon(left))
            release.set()
            assert await scene.ended(session_id) is SessionStatus.COMPLETED
            await feed.check_whole()
            feed.check_streams_closed()
        states = [row["state"] for row in await scene.calls(session_id)]
        assert len(states) == 4
        assert set(states) <= {"finished", "refused"}
        assert states[:2] == ["finished", "finished"]
        lookups = scene.effects("lookup", key="pump")
        assert len(lookups) == 2
        assert len({entry["pid"] for entry in lookups}) == 2
