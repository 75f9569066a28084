"""Approvals and the emergency stop as clients meet them: over HTTP with a secret, and over the WebSocket."""

import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from midwatch.api.approver import ApproverSecret
from midwatch.config.approver import FILE_NAME
from midwatch.kit import json
from midwatch.kit.ids import new_id
from tests.api.edge import CONCLUSION, Edge, Turn, call, open_edge, running, write_config
from tests.api.shelf import wait_for_end
from tests.api.watcher import watching
from tests.fakes.mcp_process import FAKE_SERVER, read_effects
from tests.safety.requirements import requirement
from tests.waiting import eventually

APPROVALS = "/api/v1/approvals"
STOP = "/api/v1/system/emergency-stop"
TURNS = [
    call("echo", text="all is dry"),
    call("restart", name="pump password=hunter2-of-the-night"),
    call("echo", text="again"),
    CONCLUSION,
]
UNAUTHENTICATED = {
    "message": "deciding needs the approver's secret: send it as Authorization: Bearer <token>",
    "code": "unauthenticated",
}


@pytest.fixture
async def asking(dsn: str, tmp_path: Path) -> AsyncGenerator[Edge]:
    """A service at work, whose agents may change nothing without a person's yes."""
    write_asking_config(tmp_path)
    async with open_edge(tmp_path, dsn) as edge, running(edge):
        yield edge


def write_asking_config(tmp_path: Path, **more: Any) -> None:
    write_config(tmp_path, turns=TURNS)
    path = tmp_path / "midwatch.yaml"
    config = json.decode(path.read_text(encoding="utf-8"))
    options = [str(FAKE_SERVER), "--effects", str(tmp_path / "effects")]
    config["mcp_servers"]["deck"] |= {
        "transport": {"type": "stdio", "command": sys.executable, "args": options},
        "kinds": {"read": ["echo"], "write": ["restart"]},
    }
    config["safety"] = {"control_level": "controlled"}
    path.write_text(json.encode_text(config | more), encoding="utf-8")


def secret(edge: Edge, *, user: str = "") -> dict[str, str]:
    named = {"X-Forwarded-User": user} if user else {}
    return {"Authorization": f"Bearer {edge.service.approver.token}", **named}


async def find_waiting(edge: Edge) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        listed = (await edge.http.get(APPROVALS, params={"state": "waiting"})).json()["approvals"]
        return listed[0] if listed else None

    return await eventually(look)


async def post(edge: Edge, path: str, body: Any = None, **headers: str) -> tuple[int, dict[str, Any]]:
    answer = await edge.http.post(path, json={} if body is None else body, headers=headers)
    return answer.status_code, answer.json()


async def test_an_approved_call_runs_and_the_session_completes(asking: Edge, tmp_path: Path) -> None:
    session_id = await asking.submit()
    waiting = await find_waiting(asking)
    session = await eventually(lambda: show_parked(asking, session_id))
    assert (session["status"], session["waiting_for"]) == ("in_progress", "approval")
    assert (waiting["session_id"], waiting["server_name"], waiting["tool_name"]) == (session_id, "deck", "restart")
    assert (waiting["state"], waiting["kind"], waiting["rule"]) == ("waiting", "write", "level:controlled")
    assert waiting["models_words"] == {"text": "I look.", "trusted": False}
    status, decided = await post(
        asking, f"{APPROVALS}/{waiting['approval_id']}/approve", {"reason": "go"}, **secret(asking, user="ada")
    )
    assert status == 200
    assert (decided["state"], decided["decided_by"], decided["reason"]) == ("approved", "ada", "go")
    ended = await wait_for_end(asking, session_id)
    assert (ended["status"], ended["waiting_for"]) == ("completed", None)
    assert [effect["tool"] for effect in read_effects(tmp_path / "effects")] == ["restart"]
    shown = (await asking.http.get(f"{APPROVALS}/{waiting['approval_id']}")).json()
    assert shown["consumed_at"] is not None
    assert shown["call_state"] == "finished"


async def show_parked(edge: Edge, session_id: str) -> dict[str, Any] | None:
    session = await edge.show(session_id)
    return session if session["waiting_for"] else None


@requirement("approval:secret")
async def test_nobody_decides_without_the_secret_even_on_this_machine(asking: Edge) -> None:
    await asking.submit()
    path = f"{APPROVALS}/{(await find_waiting(asking))['approval_id']}"
    token = asking.service.approver.token or ""
    for word in ("approve", "deny"):
        for sent in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": token}, {"Authorization": "Basic eDp5"}):
            answer = await asking.http.post(f"{path}/{word}", json={}, headers=sent)
            assert (answer.status_code, answer.json()) == (401, UNAUTHENTICATED)
            assert answer.headers["www-authenticate"] == "Bearer"
    for method in ("POST", "DELETE"):
        answer = await asking.http.request(method, STOP, json={"reason": "wrong pumps"})
        assert (answer.status_code, answer.json()) == (401, UNAUTHENTICATED)
    assert (await asking.http.get(path)).json()["state"] == "waiting"
    assert (await asking.http.get(STOP)).json() == {"active": False}


@requirement("approval:secret")
async def test_the_secret_is_a_file_that_only_its_owner_can_read(asking: Edge, tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.read_text(encoding="utf-8").strip() == asking.service.approver.token
    assert str(asking.service.approver.token) not in repr(asking.service)


@requirement("approval:secret")
def test_without_a_secret_nobody_is_let_in() -> None:
    nobody = ApproverSecret(None)
    assert not nobody.admits("Bearer None")
    assert not nobody.admits("Bearer ")
    assert not nobody.admits(None)
    assert ApproverSecret("sesame").admits("bearer sesame")


async def test_what_is_not_there_or_not_open_is_said_so(asking: Edge) -> None:
    await asking.submit()
    unknown = f"{APPROVALS}/{new_id()}"
    assert (await asking.http.get(unknown)).status_code == 404
    status, body = await post(asking, f"{unknown}/approve", **secret(asking))
    assert (status, body["code"]) == (404, "not_found")
    path = f"{APPROVALS}/{(await find_waiting(asking))['approval_id']}"
    status, body = await post(asking, f"{path}/deny", {"reason": "x" * 2001}, **secret(asking))
    assert (status, body["field"]) == (400, "reason")
    status, body = await post(asking, f"{path}/deny", {"because": "no"}, **secret(asking))
    assert (status, body["field"]) == (400, "because")
    status, body = await post(asking, f"{path}/deny", **secret(asking))
    assert (status, body["decided_by"]) == (200, "approver")
    for word in ("approve", "deny"):
        status, body = await post(asking, f"{path}/{word}", **secret(asking))
        assert (status, body["code"]) == (409, "conflict")
        assert "denied" in body["message"]


@requirement("approval:expires")
async def test_a_service_at_work_says_no_when_nobody_answers_in_time(dsn: str, tmp_path: Path) -> None:
    write_asking_config(tmp_path, approvals={"expire_after": "1s"})
    async with open_edge(tmp_path, dsn) as edge, running(edge):
        session_id = await edge.submit()
        assert (await wait_for_end(edge, session_id))["status"] == "completed"
        (approval,) = (await edge.http.get(APPROVALS)).json()["approvals"]
        assert (approval["state"], approval["decided_by"]) == ("expired", "midwatch")
        assert approval["consumed_at"] is None
    assert read_effects(tmp_path / "effects") == []


async def test_secrets_in_arguments_are_masked_where_they_are_shown(asking: Edge) -> None:
    await asking.submit()
    waiting = await find_waiting(asking)
    assert "hunter2" not in json.encode_text(waiting)
    assert waiting["arguments"]["name"].startswith("pump")


async def test_watchers_of_approvals_hear_of_questions_and_decisions(asking: Edge) -> None:
    async with watching(asking) as watcher:
        await watcher.subscribe("approvals")
        session_id = await asking.submit()
        asked = (await watcher.hear_until(type="approval.requested"))[-1]
        assert (asked["session_id"], asked["tool_name"], asked["server_name"]) == (session_id, "restart", "deck")
        assert asked.keys() >= {"approval_id", "call_id", "execution_id", "risk", "expires_at", "timestamp"}
        assert "arguments" not in asked
        await post(asking, f"{APPROVALS}/{asked['approval_id']}/deny", {"reason": "no"}, **secret(asking))
        decided = (await watcher.hear_until(type="approval.decided"))[-1]
        assert (decided["approval_id"], decided["state"]) == (asked["approval_id"], "denied")
        assert (decided["decided_by"], decided["reason"]) == ("approver", "no")


async def test_watchers_of_approvals_hear_that_a_question_was_taken_back(asking: Edge) -> None:
    async with watching(asking) as watcher:
        await watcher.subscribe("approvals")
        session_id = await asking.submit()
        await watcher.hear_until(type="approval.requested")
        await eventually(lambda: show_parked(asking, session_id))
        assert (await asking.http.post(f"/api/v1/sessions/{session_id}/cancel")).json()["status"] == "cancelled"
        taken_back = (await watcher.hear_until(type="approval.decided"))[-1]
        assert (taken_back["session_id"], taken_back["state"]) == (session_id, "cancelled")


async def test_watchers_of_approvals_hear_that_an_agent_needs_no_answer_any_more(dsn: str, tmp_path: Path) -> None:
    """The other agent of the stage is at work meanwhile, so the session is not parked."""
    write_asking_config(tmp_path)
    put_beside(tmp_path, "Bosun", call("slow_read", key="bilge"))
    async with open_edge(tmp_path, dsn) as edge, running(edge), watching(edge) as watcher:
        await watcher.subscribe("approvals")
        session_id = await edge.submit()
        asked = (await watcher.hear_until(type="approval.requested"))[-1]
        assert (await edge.http.post(f"/api/v1/sessions/{session_id}/cancel")).json()["status"] == "cancelling"
        taken_back = (await watcher.hear_until(type="approval.decided"))[-1]
        assert (taken_back["approval_id"], taken_back["state"]) == (asked["approval_id"], "cancelled")


def put_beside(folder: Path, name: str, *turns: Turn) -> None:
    main, script = folder / "midwatch.yaml", folder / "script.yaml"
    config, said = json.decode(main.read_text(encoding="utf-8")), json.decode(script.read_text(encoding="utf-8"))
    config["agents"][name] = config["agents"]["Mate"]
    config["agent_chains"]["deck"]["stages"][0]["agents"].append({"name": name})
    config["mcp_servers"]["deck"]["kinds"]["read"].append("slow_read")
    said["agents"][name] = list(turns)
    main.write_text(json.encode_text(config), encoding="utf-8")
    script.write_text(json.encode_text(said), encoding="utf-8")


async def test_watchers_of_a_session_read_its_questions_in_order(asking: Edge) -> None:
    session_id = await asking.submit()
    waiting = await find_waiting(asking)
    async with watching(asking) as watcher:
        await watcher.subscribe(f"session:{session_id}")
        heard = await watcher.hear_until(type="session.status", waiting_for="approval")
        assert [event["type"] for event in heard].count("approval.requested") == 1
        await post(asking, f"{APPROVALS}/{waiting['approval_id']}/approve", **secret(asking))
        heard += await watcher.hear_until(type="session.status", status="completed")
    numbers = [event["db_event_id"] for event in heard if "db_event_id" in event]
    assert numbers == list(range(1, len(numbers) + 1))
    entries = [event["event_type"] for event in heard if event["type"] == "timeline_event.created"]
    assert entries.index("approval_requested") < entries.index("approval_decided")
    statuses = [event["status"] for event in heard if event["type"] == "session.status"]
    assert statuses == ["pending", "in_progress", "in_progress", "pending", "in_progress", "completed"]


@requirement("stop:lifted-by-person")
async def test_the_emergency_stop_holds_until_somebody_lifts_it(asking: Edge) -> None:
    async with watching(asking) as watcher, watching(asking) as other:
        await watcher.subscribe("approvals")
        await other.subscribe("sessions")
        status, body = await post(asking, STOP, {"reason": " "}, **secret(asking))
        assert (status, body["field"]) == (400, "reason")
        status, body = await post(asking, STOP, {"reason": "wrong pumps"}, **secret(asking, user="ada"))
        assert (status, body["active"], body["cancelled_calls"]) == (201, True, [])
        told = (await watcher.hear_until(type="emergency_stop"))[-1]
        assert (told["active"], told["reason"], told["declared_by"]) == (True, "wrong pumps", "ada")
        assert (await other.hear_until(type="emergency_stop"))[-1] == told
        status, again = await post(asking, STOP, {"reason": "once more"}, **secret(asking))
        assert (status, again["reason"]) == (200, "wrong pumps")
        shown = (await asking.http.get(STOP)).json()
        assert (shown["active"], shown["reason"], shown["declared_by"]) == (True, "wrong pumps", "ada")
        lifted = await asking.http.request("DELETE", STOP, json={"reason": "rules corrected"}, headers=secret(asking))
        assert (lifted.status_code, lifted.json()) == (200, {"active": False})
        assert (await watcher.hear_until(type="emergency_stop"))[-1]["active"] is False
        none = await asking.http.request("DELETE", STOP, headers=secret(asking))
        assert (none.status_code, none.json()["code"]) == (409, "conflict")


@requirement("stop:no-change")
async def test_an_approved_call_does_not_run_while_everything_is_stopped(asking: Edge, tmp_path: Path) -> None:
    session_id = await asking.submit()
    waiting = await find_waiting(asking)
    await post(asking, STOP, {"reason": "wrong pumps"}, **secret(asking))
    await post(asking, f"{APPROVALS}/{waiting['approval_id']}/approve", **secret(asking))
    await wait_for_end(asking, session_id)
    timeline = (await asking.http.get(f"/api/v1/sessions/{session_id}/timeline")).json()
    refused = [entry["metadata"]["code"] for entry in timeline if entry["event_type"] == "tool_refused"]
    assert refused == ["EMERGENCY_STOP"]
    assert read_effects(tmp_path / "effects") == []
    assert (await asking.http.get(f"{APPROVALS}/{waiting['approval_id']}")).json()["consumed_at"] is None


async def test_pages_show_what_waits_and_that_everything_is_stopped(asking: Edge) -> None:
    session_id = await asking.submit()
    waiting = await find_waiting(asking)
    await post(asking, STOP, {"reason": "wrong <pumps>"}, **secret(asking))
    page = (await asking.http.get(f"/sessions/{session_id}")).text
    assert f"midwatch approvals approve {waiting['approval_id']}" in page
    assert "level:controlled" in page
    assert "wrong &lt;pumps&gt;" in page
    assert "hunter2" not in page
    assert "wrong &lt;pumps&gt;" in (await asking.http.get("/")).text
    await post(asking, f"{APPROVALS}/{waiting['approval_id']}/deny", {"reason": "not now"}, **secret(asking))
    await wait_for_end(asking, session_id)
    page = (await asking.http.get(f"/sessions/{session_id}")).text
    assert "denied by approver: not now" in page
    assert "midwatch approvals approve" not in page
