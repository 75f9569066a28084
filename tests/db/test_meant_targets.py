"""What a person names in a question is meant: no call goes to its host instead."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from midwatch.config.chains import Chat
from midwatch.config.mcp import Target
from midwatch.config.safety import Safety
from midwatch.domain.safety import ControlLevel
from midwatch.kit.json import encode_text
from midwatch.store.engine import Store
from tests.db.test_chat_lives import ask
from tests.db.test_gate_sessions import LIMIT, act, call, read_calls_of, run, say
from tests.fakes.cutting_pool import CuttingPool
from tests.fakes.mcp_process import fake_mcp_server
from tests.fakes.openai_server import Body, Reply, count_turns
from tests.lives import SERVER, open_world, stage
from tests.safety.requirements import requirement

FOUND = {
    "items": [
        {"kind": "node", "uid": "pve1"},
        {"kind": "lxc", "uid": "141", "host": "pve1", "name": "homepage"},
    ]
}
QUESTION = "Please restart @homepage."


@requirement("context:meant-by-person-or-get", "routing:mention-arms")
@pytest.mark.parametrize(
    ("is_authenticated", "outcome"),
    [
        pytest.param(True, ("restart", "refused", "ROUTING_MISMATCH"), id="a person who is known"),
        pytest.param(False, ("restart", "finished", None), id="anybody"),
    ],
)
async def test_a_call_to_the_host_of_what_a_known_person_named_is_refused(
    is_authenticated: bool,  # noqa: FBT001 -- what the test is about
    outcome: tuple[str, str, str | None],
    clean_store: Store,
    tmp_path: Path,
) -> None:
    answers = [
        act(call("echo", text=encode_text(FOUND))),
        act(call("restart", name="pve1")),
        act(call("echo", text="up", name="pve1")),
        say("That is all."),
    ]

    def answer(body: Body) -> Reply:
        return answers[min(count_turns(body), 3)] if QUESTION in str(body["messages"]) else say("Nothing is wrong.")

    async with open_world(clean_store, tmp_path / "effects", answer, stages=(stage("look"),)) as usual:
        (chain,) = usual.config.chains.values()
        deck = fake_mcp_server("--effects", str(tmp_path / "effects")).model_copy(
            update={
                "kinds": usual.config.mcp_servers[SERVER].kinds,
                "targets": {"restart": Target(target="node:{name}"), "echo": Target(target="node:{name}")},
                "discovers": {"echo": "items[]"},
            }
        )
        world = replace(
            usual,
            config=replace(
                usual.config,
                chains={"chain": chain.model_copy(update={"chat": Chat(enabled=True, agent="watch")})},
                mcp_servers={SERVER: deck},
                safety=Safety(control_level=ControlLevel.AUTONOMOUS),
            ),
        )
        session_id = await run(world)
        await ask(clean_store, session_id, QUESTION, is_authenticated=is_authenticated)
        async with asyncio.timeout(LIMIT):
            await world.answer(CuttingPool(clean_store.pool))
        calls = await read_calls_of(world, session_id)
    assert calls[1] == outcome
