"""Ending one call of a session, from a replica that does not run it."""

from pathlib import Path
from uuid import UUID

import httpx

from midwatch.domain.session import SessionStatus
from midwatch.kit.ids import new_id
from tests.fakes.openai_server import by_turn, serve
from tests.replicas import Replica
from tests.safety.requirements import requirement
from tests.scenes import CONCLUSION, call, open_scene
from tests.waiting import eventually


async def end_call(replica: Replica, session_id: UUID, call_id: object) -> httpx.Response:
    return await replica.http.post(f"/api/v1/sessions/{session_id}/calls/{call_id}/cancel")


async def shown_call(replica: Replica, session_id: UUID) -> str | None:
    entries = await replica.show_timeline(session_id)
    return next((entry["metadata"]["call_id"] for entry in entries if entry["event_type"] == "llm_tool_call"), None)


@requirement("journal:person-ends-one-call")
async def test_a_change_is_ended_from_elsewhere_and_the_session_goes_on(dsn: str, tmp_path: Path) -> None:
    hold = tmp_path / "hold"
    hold.touch()
    turns = by_turn([call("slow_write", name="pump", hold=str(hold)), CONCLUSION])
    async with serve(turns) as model, open_scene(tmp_path, model=model, dsn=dsn) as scene:
        first, _ = await scene.fleet.start("first", "second")
        session_id = await first.submit()
        await eventually(lambda: scene.effects("slow_write"))
        _, other = await scene.owner_and_other(session_id)
        call_id = await eventually(lambda: shown_call(other, session_id))
        assert (await end_call(other, session_id, new_id())).status_code == 404
        assert (await end_call(other, new_id(), call_id)).status_code == 404
        answer = await end_call(other, session_id, call_id)
        assert (answer.status_code, answer.json()["call_id"]) == (200, call_id)
        assert await scene.ended(session_id) is SessionStatus.COMPLETED
        assert (await end_call(other, session_id, call_id)).status_code == 409
        (ended,) = await scene.calls(session_id)
        changes = await scene.fetch("SELECT target FROM open_changes")
    assert (ended["state"], ended["error_code"]) == ("unknown", "CANCELLED_BY_PERSON")
    assert [row["target"] for row in changes] == ["mcp:deck"], "nobody knows yet whether it was changed"
    assert "A person cancelled this call" in str(scene.requests(1))
