"""A replica that is talkative about itself, and says nothing of what people, models and tools say."""

from pathlib import Path
from typing import Any
from uuid import UUID

from midwatch.domain.session import SessionStatus
from midwatch.kit.json import decode
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.canaries import ALERT, ARGUMENT, PLANTED, RAW, REPLY, RESULT, LogWatch
from tests.fakes.mcp_process import FAKE_SERVER
from tests.fakes.openai_events import list_events
from tests.fakes.openai_server import Reply, Status, in_order, malformed_after, serve
from tests.scenes import open_scene


def turn(tool: str, arguments: str | dict[str, Any]) -> ScriptedTurn:
    call = ScriptedCall(name=f"deck.{tool}", arguments=arguments)
    return ScriptedTurn(text=f"{REPLY} {tool}", thinking=f"{REPLY} {tool}", calls=(call,))


TROUBLES: tuple[Reply, ...] = (
    turn("lookup", {"key": ARGUMENT}),
    turn("poison", {"key": ARGUMENT}),
    turn("slow_read", {"seconds": ARGUMENT}),
    turn("crash", {"key": ARGUMENT}),
    turn("restart", f"{{{ARGUMENT}"),
    turn("restart", {"name": ARGUMENT}),
    turn(f"{PLANTED}_tool", {"key": ARGUMENT}),
    Status(status=503, body=f'{{"error": {{"message": "{RAW}"}}}}'.encode()),
    Status(status=400, body=f'{{"error": {{"message": "{RAW}"}}}}'.encode()),
    malformed_after(turn("lookup", {"key": ARGUMENT}), 2),
    ScriptedTurn(text=f"All in all: {REPLY}"),
)


def test_the_fakes_have_planted_what_is_looked_for() -> None:
    assert RESULT in FAKE_SERVER.read_text(encoding="utf-8")
    assert all(RAW.encode() in event for event in list_events(ScriptedTurn(text="x"))[:-1])
    watch = LogWatch()
    watch.look_at(f"some text with {REPLY} in it", where="here")
    assert watch.leaks


async def test_a_replica_that_tells_everything_of_itself_quotes_nobody(dsn: str, tmp_path: Path) -> None:
    async with serve(in_order(TROUBLES)) as model, open_scene(tmp_path, model=model, dsn=dsn) as scene:
        scene.fleet.environ = {**scene.fleet.environ, "LOG_LEVEL": "debug"}
        (replica,) = await scene.fleet.start("talkative")
        session_id = await replica.submit(f"The pump is hot: {ALERT}")
        status = await scene.ended(session_id)
        asked = len(model.requests)
    watch = LogWatch()
    watch.look_into(replica.log)
    assert watch.leaks == []
    assert status.is_terminal
    assert asked >= 8
    check_ids(replica.log, session_id)


def check_ids(log: Path, session_id: UUID) -> None:
    """What is told while a session runs names it, and whoever is at work in it."""
    lines = [decode(line) for line in log.read_bytes().splitlines() if line.startswith(b"{")]
    told = {line["event"]: line for line in lines}
    assert told["session_claimed"]["session_id"] == str(session_id)
    assert told["session_ended"]["status"] in list(SessionStatus)
    assert told["session_ended"]["session_id"] == str(session_id)
    lost = told["tool_server_lost"]
    assert lost["session_id"] == str(session_id)
