"""The tools that come chosen with an alert: nothing else is started, offered or spoken of."""

import sys
from pathlib import Path
from typing import Any
from uuid import UUID

from midwatch.domain.session import SessionStatus
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.store.sessions import NewSession, insert_session
from tests.fakes.openai_server import by_turn, serve
from tests.replicas import Replica
from tests.scenes import CONCLUSION, Scene, change, look, open_scene

DECK, ENGINE = "Decks are scrubbed at dawn.", "Ask the engineer first."


def tell_servers_apart(scene: Scene) -> None:
    """Gives each server its instructions, and the engine a program that is no server: the log tells who starts it."""
    path = scene.folder / "midwatch.yaml"
    config = json.decode(path.read_bytes())
    config["mcp_servers"]["deck"]["instructions"] = DECK
    config["mcp_servers"]["engine"]["instructions"] = ENGINE
    config["mcp_servers"]["engine"]["transport"] |= {"command": sys.executable, "args": ["-c", ""]}
    path.write_bytes(json.encode(config))


def engine_was_started(replica: Replica, session_id: UUID) -> bool:
    """For this session: the replica's monitor looks at the engine too, for nobody in particular."""
    tries = replica.logged("tool_server_unavailable")
    return any(entry["server"] == "engine" and entry.get("session_id") == str(session_id) for entry in tries)


async def submit(replica: Replica, **fields: Any) -> UUID:
    answer = await replica.http.post("/api/v1/alerts", json={"data": "The bilge pump runs hot.", **fields})
    assert answer.status_code == 202, answer.text
    return UUID(answer.json()["session_id"])


def read_prompt(request: dict[str, Any]) -> str:
    return "\n".join(message["content"] for message in request["messages"])


async def test_an_unselected_server_is_neither_started_nor_spoken_of(dsn: str, tmp_path: Path) -> None:
    turns = [look("pump"), change("pump"), look("pump", server="engine"), CONCLUSION]
    async with (
        serve(by_turn(turns)) as model,
        open_scene(tmp_path, model=model, dsn=dsn, servers=("deck", "engine")) as scene,
    ):
        tell_servers_apart(scene)
        (replica,) = await scene.fleet.start("only")
        selection = {"servers": [{"name": "deck", "tools": ["lookup"]}]}
        session_id = await submit(replica, mcp=selection)
        assert await scene.ended(session_id) is SessionStatus.COMPLETED
        (request,) = scene.requests(0)
        prompt = read_prompt(request)
        assert DECK in prompt
        assert "engine" not in prompt
        assert ENGINE not in prompt
        assert [tool["function"]["name"] for tool in request["tools"]] == ["deck__lookup"]
        assert [(row["tool_name"], row["state"], row["error_code"]) for row in await scene.calls(session_id)] == [
            ("deck.lookup", "finished", None),
            ("deck.restart", "refused", "TOOL_NOT_FOUND"),
            ("engine.lookup", "refused", "TOOL_NOT_FOUND"),
        ]
        assert scene.effects("restart") == []
        assert not engine_was_started(replica, session_id)
        assert (await replica.show(session_id))["warnings"] == []

        plain = await submit(replica)
        assert await scene.ended(plain) is SessionStatus.COMPLETED
        assert engine_was_started(replica, plain)
        assert ENGINE in read_prompt(scene.requests(0)[1])
        assert len(scene.effects("restart")) == 1


async def test_native_tools_alone_leave_no_servers_and_the_run_works(dsn: str, tmp_path: Path) -> None:
    async with (
        serve(by_turn([CONCLUSION])) as model,
        open_scene(tmp_path, model=model, dsn=dsn, servers=("deck", "engine")) as scene,
    ):
        tell_servers_apart(scene)
        (replica,) = await scene.fleet.start("only")
        session_id = await submit(replica, mcp_selection={"native_tools": {"google_search": True}})
        assert await scene.ended(session_id) is SessionStatus.COMPLETED
        (request,) = scene.requests(0)
        assert not request.get("tools")
        assert DECK not in read_prompt(request)
        assert not engine_was_started(replica, session_id)


async def test_a_selected_server_that_is_gone_since_fails_the_session_and_says_so(dsn: str, tmp_path: Path) -> None:
    async with (
        serve(by_turn([CONCLUSION])) as model,
        open_scene(tmp_path, model=model, dsn=dsn) as scene,
    ):
        new = NewSession(
            session_id=new_id(),
            alert_type="deck",
            alert_data="The bilge pump runs hot.",
            chain_id="deck",
            chain={"alert_types": ["deck"], "stages": [{"name": "watch", "agents": [{"name": "Mate"}]}]},
            author=None,
            mcp_selection={"servers": [{"name": "galley"}]},
        )
        async with scene.store.connect() as tx:
            assert await insert_session(tx, new) is not None
        await scene.fleet.start("only")
        assert await scene.ended(new.session_id) is SessionStatus.FAILED
        assert "there is no MCP server galley" in (await scene.session(new.session_id))["error_message"]
        assert scene.model.requests == []
