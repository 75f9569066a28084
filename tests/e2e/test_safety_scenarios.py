"""Investigations that went wrong elsewhere, as clients see them here: nobody is stuck or on the wrong host."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from midwatch.kit import json
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.fakes.mcp_process import fake_mcp_server, read_effects
from tests.fakes.openai_server import serve
from tests.replicas import Fleet, Replica
from tests.safety.requirements import requirement
from tests.voyages import Json, by_agent, chain, ended, open_voyage, read, stage, submit
from tests.waiting import eventually

NODE, HOMEPAGE, JELLYFIN = "node:delly", "lxc:delly:141", "lxc:delly:105"
FOUND = {
    "items": [
        {"kind": "node", "uid": "delly"},
        {"kind": "lxc", "uid": "141", "host": "delly", "name": "homepage-docker"},
        {"kind": "lxc", "uid": "105", "host": "delly", "name": "jellyfin"},
    ]
}
CONFIG = "/opt/homepage/config/services.yaml"
THE_END = "There is nothing more to tell."


def call(tool: str, **arguments: Any) -> ScriptedCall:
    return ScriptedCall(name=f"deck.{tool}", arguments=arguments)


def run(command: str, *, on: str) -> ScriptedCall:
    return call("shell", command=command, on=on)


def restart(on: str) -> ScriptedCall:
    return call("restart", name="it", on=on)


def act(*calls: ScriptedCall) -> ScriptedTurn:
    return ScriptedTurn(calls=calls)


LIST = act(call("inventory", of="everything"))
CONCLUDE = ScriptedTurn(text=THE_END)
LISTED = ("inventory", "resolve", "finished", None)
LOOKED = ("shell", "read", "finished", None)
RESTARTED = ("restart", "write", "finished", None)


def describe_deck(folder: Path, found: Json = FOUND) -> Json:
    """A list of everything, a look at one thing, commands and restarts; `on` says where."""
    inventory = folder / "inventory.json"
    inventory.write_text(json.encode_text(found), encoding="utf-8")
    options = ("--effects", str(folder / "effects"), "--log-reads", "--shell", "--inventory", str(inventory))
    return {
        "transport": fake_mcp_server(*options).transport.model_dump(mode="json"),
        "run_as": "self",
        "kinds": {"resolve": ["inventory", "lookup"], "read": ["shell"], "write": ["restart"]},
        "targets": {"lookup": "{key}", "shell": "{on}", "restart": "{on}"},
        "discovers": {"inventory": "items[]"},
    }


Shown = tuple[str, str, str, str | None]
"""Of a call: the tool, its kind, its state, and the code it was refused with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Watch:
    replica: Replica
    fleet: Fleet
    folder: Path

    def list_reached(self) -> list[tuple[str, str]]:
        """Calls with a place that the tools have heard of, in order."""
        reached = [(each["tool"], each["arguments"]) for each in read_effects(self.folder / "effects")]
        return [(tool, arguments["on"]) for tool, arguments in reached if "on" in arguments]

    async def investigate(self) -> Json:
        session = await ended(self.replica, await submit(self.replica, "watch"))
        assert session["status"] == "completed", session["error_message"]
        return session

    async def ask(self, session_id: str, question: str) -> str:
        """As a person who is known. The stage of the answer, once that is there."""
        path = f"/api/v1/sessions/{session_id}/chat/messages"
        answer = await self.replica.http.post(path, json={"content": question}, headers=self.fleet.read_secret())
        assert answer.status_code == 202, answer.text
        stage_id = answer.json()["stage_id"]

        async def is_answered() -> bool:
            last = (await read(self.replica, session_id))["stages"][-1]
            return (last["id"], last["status"]) == (stage_id, "completed")

        await eventually(is_answered)
        return stage_id

    async def list_entries(self, session_id: str, event_type: str) -> list[Json]:
        timeline = await read(self.replica, session_id, "/timeline")
        return [entry for entry in timeline if entry["event_type"] == event_type]

    async def list_calls(self, session_id: str) -> list[Shown]:
        """In the model's order. What is refused stands a second time on the timeline, as a refusal."""
        calls = [entry["metadata"] for entry in await self.list_entries(session_id, "llm_tool_call")]
        refusals = [entry["metadata"] for entry in await self.list_entries(session_id, "tool_refused")]
        refused = [(each["call_id"], each["error_code"]) for each in calls if each["call_state"] == "refused"]
        assert refused == [(each["call_id"], each["code"]) for each in refusals]
        return [(each["tool_name"], each["kind"], each["call_state"], each.get("error_code")) for each in calls]

    async def explain_refusals(self, session_id: str) -> list[Json]:
        entries = await self.list_entries(session_id, "tool_refused")
        return [json.decode(entry["content"])["error"]["details"] for entry in entries]

    async def list_drafts(self, session_id: str) -> list[tuple[str, str]]:
        """What the first agent said, and whether it stood."""
        said = await self.list_entries(session_id, "llm_response")
        execution_id = said[0]["execution_id"]
        return [(each["content"], each["status"]) for each in said if each["execution_id"] == execution_id]


@asynccontextmanager
async def keep_watch(
    folder: Path,
    dsn: str,
    turns: Sequence[ScriptedTurn],
    *,
    answers: Sequence[ScriptedTurn] = (),
) -> AsyncGenerator[Watch]:
    chains = chain("watch", stage("look", "Bosun"), chat={"enabled": True, "agent": "Purser"})
    agents = {name: {"mcp_servers": ["deck"]} for name in ("Bosun", "Purser")}
    more = {"mcp_servers": {"deck": describe_deck(folder)}}
    async with (
        serve(by_agent({"Bosun": turns, "Purser": answers})) as model,
        open_voyage(folder, model=model, dsn=dsn, chains=chains, agents=agents, more=more) as voyage,
    ):
        (replica,) = await voyage.fleet.start("only")
        yield Watch(replica=replica, fleet=voyage.fleet, folder=folder)


@requirement("machine:reads-unlimited", "gate:commands-judged")
async def test_whoever_reads_the_logs_of_jellyfin_is_never_told_to_verify_anything(dsn: str, tmp_path: Path) -> None:
    commands = (
        "grep -i error /var/log/*.log",
        "tail -n 100 /var/log/jellyfin/jellyfin.log 2>/dev/null",
        "journalctl -u jellyfin -n 50 --no-pager | grep -i warn",
        "grep -i error /var/log/*.log",
    )
    turns = [LIST, *(act(run(command, on="jellyfin")) for command in commands), CONCLUDE]
    async with keep_watch(tmp_path, dsn, turns) as watch:
        session = await watch.investigate()
        calls = await watch.list_calls(session["id"])
        drafts = await watch.list_drafts(session["id"])
    assert calls == [LISTED, *[LOOKED] * 4]
    assert drafts == [(THE_END, "completed")]
    assert (session["final_analysis"], session["unverified_targets"], session["warnings"]) == (THE_END, [], [])
    assert watch.list_reached() == [("shell", "jellyfin")] * 4


@requirement("machine:write-read-write", "machine:verify-after-change", "conclusion:withdrawn")
async def test_a_look_between_two_changes_opens_the_way_for_the_second(dsn: str, tmp_path: Path) -> None:
    change, look = act(restart(JELLYFIN)), act(run("uptime", on=JELLYFIN))
    turns = [LIST, change, change, look, change, CONCLUDE, look, CONCLUDE]
    async with keep_watch(tmp_path, dsn, turns) as watch:
        session = await watch.investigate()
        calls = await watch.list_calls(session["id"])
        drafts = await watch.list_drafts(session["id"])
    too_soon = ("restart", "write", "refused", "FSM_BLOCKED")
    assert calls == [LISTED, RESTARTED, too_soon, LOOKED, RESTARTED, LOOKED]
    assert drafts == [(THE_END, "withdrawn"), (THE_END, "completed")]
    assert (session["final_analysis"], session["unverified_targets"], session["warnings"]) == (THE_END, [], [])
    changed, looked = ("restart", JELLYFIN), ("shell", JELLYFIN)
    assert watch.list_reached() == [changed, looked, changed, looked]


@requirement("machine:reads-unlimited", "machine:only-reads-verify")
async def test_after_one_change_anything_may_be_read_as_often_as_one_likes(dsn: str, tmp_path: Path) -> None:
    look = run("uptime", on=JELLYFIN)
    turns = [LIST, act(restart(JELLYFIN)), act(look), act(look, look), act(run("df -h", on=JELLYFIN)), CONCLUDE]
    async with keep_watch(tmp_path, dsn, turns) as watch:
        session = await watch.investigate()
        calls = await watch.list_calls(session["id"])
        drafts = await watch.list_drafts(session["id"])
    assert calls == [LISTED, RESTARTED, *[LOOKED] * 4]
    assert drafts == [(THE_END, "completed")], "the first look was enough, and the others took nothing back"
    assert (session["final_analysis"], session["unverified_targets"], session["warnings"]) == (THE_END, [], [])
    assert watch.list_reached() == [("restart", JELLYFIN), *[("shell", JELLYFIN)] * 4]


@requirement("routing:lists-do-not-arm", "context:found-is-not-meant")
async def test_a_list_of_all_guests_of_a_host_leaves_the_host_open(dsn: str, tmp_path: Path) -> None:
    look = act(run("uptime", on=NODE))
    turns = [LIST, LIST, look, act(restart(NODE)), look, CONCLUDE]
    async with keep_watch(tmp_path, dsn, turns) as watch:
        session = await watch.investigate()
        calls = await watch.list_calls(session["id"])
    assert calls == [LISTED, LISTED, LOOKED, RESTARTED, LOOKED]
    assert (session["final_analysis"], session["unverified_targets"]) == (THE_END, [])
    assert watch.list_reached() == [("shell", NODE), ("restart", NODE), ("shell", NODE)]


@requirement("routing:get-arms", "context:meant-by-person-or-get", "routing:host-refused")
async def test_getting_one_guest_by_itself_closes_its_host(dsn: str, tmp_path: Path) -> None:
    get = act(call("lookup", key=HOMEPAGE))
    astray, right = [run("uptime", on=NODE), restart(NODE)], [restart(HOMEPAGE), run("uptime", on=HOMEPAGE)]
    turns = [LIST, get, act(*astray), act(*right), CONCLUDE]
    async with keep_watch(tmp_path, dsn, turns) as watch:
        session = await watch.investigate()
        calls = await watch.list_calls(session["id"])
        refusals = await watch.explain_refusals(session["id"])
    assert calls == [
        LISTED,
        ("lookup", "resolve", "finished", None),
        ("shell", "read", "refused", "ROUTING_MISMATCH"),
        ("restart", "write", "refused", "ROUTING_MISMATCH"),
        RESTARTED,
        LOOKED,
    ]
    assert [(each["target_host"], each["target_resource_id"]) for each in refusals] == [("delly", HOMEPAGE)] * 2
    assert (session["final_analysis"], session["unverified_targets"]) == (THE_END, [])
    assert watch.list_reached() == [("restart", HOMEPAGE), ("shell", HOMEPAGE)]


@requirement("routing:mention-arms", "routing:host-refused", "routing:says-where")
async def test_the_file_of_homepage_is_changed_where_homepage_runs_and_not_on_its_host(
    dsn: str, tmp_path: Path
) -> None:
    show, edit = f"cat {CONFIG}", f"cp /tmp/services.yaml {CONFIG}"
    answers = [
        LIST,
        act(run(show, on=NODE), run(edit, on=NODE)),
        act(run(edit, on=HOMEPAGE)),
        act(run(show, on=HOMEPAGE)),
        CONCLUDE,
    ]
    async with keep_watch(tmp_path, dsn, [CONCLUDE], answers=answers) as watch:
        session_id = (await watch.investigate())["id"]
        stage_id = await watch.ask(session_id, "Please add InfluxDB to my @homepage-docker config.")
        calls = await watch.list_calls(session_id)
        refusals = await watch.explain_refusals(session_id)
        conclusions = await watch.list_entries(session_id, "final_analysis")
        session = await read(watch.replica, session_id)
    assert calls == [
        LISTED,
        ("shell", "read", "refused", "ROUTING_MISMATCH"),
        ("shell", "write", "refused", "ROUTING_MISMATCH"),
        ("shell", "write", "finished", None),
        LOOKED,
    ]
    for details in refusals:
        assert details["target_host"] == "delly"
        assert details["more_specific_resources"] == ["homepage-docker"]
        assert details["more_specific_resource_ids"] == [HOMEPAGE]
        assert details["target_resource_id"] == HOMEPAGE
        assert HOMEPAGE in details["recovery_hint"]
        assert details["auto_recoverable"] is True
    assert watch.list_reached() == [("shell", HOMEPAGE)] * 2
    assert [entry["content"] for entry in conclusions if entry["stage_id"] == stage_id] == [THE_END]
    assert (session["unverified_targets"], session["warnings"]) == ([], [])
