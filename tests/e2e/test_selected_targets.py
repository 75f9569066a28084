"""What an operator selects with an alert is meant: its host is closed, also for whoever takes the session over."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from midwatch.llm.scripted import ScriptedTurn
from tests.e2e.test_safety_scenarios import (
    CONCLUDE,
    LIST,
    LISTED,
    LOOKED,
    RESTARTED,
    Watch,
    act,
    describe_deck,
    restart,
    run,
)
from tests.fakes.openai_server import OpenAIServer, hold_turn, serve
from tests.safety.requirements import requirement
from tests.scenes import BRIEF
from tests.voyages import by_agent, chain, ended, open_voyage, read, stage, submit
from tests.waiting import eventually

HOST, SHOP = "host:web1", "container:web1:4f2a"
FOUND = {
    "items": [
        {"kind": "host", "uid": "web1"},
        {"kind": "container", "uid": "4f2a", "host": "web1", "name": "shop"},
        {"kind": "container", "uid": "4f2a", "host": "web2", "name": "shop"},
    ]
}
ALERT = f"The shop answers slowly ({SHOP})."
WRONG_LOOK = ("shell", "read", "refused", "ROUTING_MISMATCH")
WRONG_CHANGE = ("restart", "write", "refused", "ROUTING_MISMATCH")
SHOWN_WAY = {
    "target_host": "web1",
    "target_kind": "host",
    "more_specific_resources": ["shop"],
    "more_specific_resource_ids": [SHOP],
    "target_resource_id": SHOP,
    "recovery_hint": f"Make the call on {SHOP} (shop) instead of web1.",
    "auto_recoverable": True,
}


@asynccontextmanager
async def keep_shop(
    folder: Path, dsn: str, model: OpenAIServer, *, names: Sequence[str] = ("only",), heartbeat: str = "10s"
) -> AsyncGenerator[Watch]:
    async with open_voyage(
        folder,
        model=model,
        dsn=dsn,
        chains=chain("watch", stage("look", "Bosun")),
        agents={"Bosun": {"mcp_servers": ["deck"]}},
        queue={"heartbeat_interval": heartbeat},
        more={"mcp_servers": {"deck": describe_deck(folder, FOUND)}},
    ) as voyage:
        first, *_ = await voyage.fleet.start(*names)
        yield Watch(replica=first, fleet=voyage.fleet, folder=folder)


def play(*turns: ScriptedTurn) -> dict[str, Sequence[ScriptedTurn]]:
    return {"Bosun": turns}


@requirement("routing:selection-arms", "routing:host-refused", "routing:says-where")
async def test_what_was_selected_with_the_alert_is_acted_on_itself_and_not_on_its_host(
    dsn: str, tmp_path: Path
) -> None:
    astray, right = act(run("uptime", on=HOST), restart(HOST)), act(restart(SHOP))
    turns = play(LIST, astray, right, act(run("uptime", on=SHOP)), CONCLUDE)
    async with serve(by_agent(turns)) as model, keep_shop(tmp_path, dsn, model) as watch:
        secret = watch.fleet.read_secret()
        session_id = await submit(watch.replica, "watch", data=ALERT, headers=secret, selected_resources=[SHOP])
        session = await ended(watch.replica, session_id)
        calls = await watch.list_calls(session_id)
        refusals = await watch.explain_refusals(session_id)
        told = model.requests[0].body["messages"][-1]["content"]
    assert calls == [LISTED, WRONG_LOOK, WRONG_CHANGE, RESTARTED, LOOKED]
    assert refusals == [SHOWN_WAY, SHOWN_WAY]
    assert watch.list_reached() == [("restart", SHOP), ("shell", SHOP)]
    assert (session["status"], session["selected_resources"]) == ("completed", [SHOP])
    assert "## Selected Resources" in told
    assert told.count(SHOP) == 2, "in the alert's own words, and as what was selected"


@requirement("routing:selection-arms", "context:meant-by-person-or-get")
async def test_what_only_stands_in_the_alert_closes_nothing(dsn: str, tmp_path: Path) -> None:
    turns = play(LIST, act(run("uptime", on=HOST), restart(HOST)), act(run("uptime", on=HOST)), CONCLUDE)
    async with serve(by_agent(turns)) as model, keep_shop(tmp_path, dsn, model) as watch:
        session_id = await submit(watch.replica, "watch", data=ALERT)
        await ended(watch.replica, session_id)
        calls = await watch.list_calls(session_id)
    assert calls == [LISTED, LOOKED, RESTARTED, LOOKED]
    assert watch.list_reached() == [("shell", HOST), ("restart", HOST), ("shell", HOST)]


@requirement("routing:selection-arms")
async def test_whoever_takes_over_from_a_killed_replica_knows_what_was_selected(dsn: str, tmp_path: Path) -> None:
    release = asyncio.Event()
    turns = play(LIST, act(restart(HOST)), LIST, act(restart(SHOP)), act(run("uptime", on=SHOP)), CONCLUDE)
    async with (
        serve(by_agent(turns), before_turn=hold_turn(1, release=release)) as model,
        keep_shop(tmp_path, dsn, model, names=("first", "second"), heartbeat=BRIEF) as watch,
    ):
        secret = watch.fleet.read_secret()
        session_id = await submit(watch.replica, "watch", headers=secret, selected_resources=[SHOP])
        await eventually(lambda: len(model.requests) >= 2)
        owner = (await read(watch.replica, session_id))["lease"]["replica"]
        killed, other = sorted(watch.fleet.replicas, key=lambda replica: replica.name != owner)
        await killed.kill()
        await eventually(lambda: len(model.requests) >= 3)
        release.set()
        session = await ended(other, session_id)
        survived = replace(watch, replica=other)
        calls = await survived.list_calls(session_id)
        (refusal,) = await survived.explain_refusals(session_id)
    assert (session["status"], len(session["resumed_at"])) == ("completed", 1)
    assert calls == [LISTED, WRONG_CHANGE, LISTED, RESTARTED, LOOKED]
    assert refusal["more_specific_resource_ids"] == [SHOP]
    assert refusal["more_specific_resources"] == ["4f2a"], "its name is to be found again"
    assert watch.list_reached() == [("restart", SHOP), ("shell", SHOP)]
