"""What a person names or selects is meant: no call goes to its host instead."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

import pytest

from midwatch.config.chains import Chat
from midwatch.config.mcp import Target
from midwatch.config.safety import Safety
from midwatch.domain.safety import ControlLevel
from midwatch.kit.json import encode_text
from midwatch.store.engine import Store
from tests.db.test_chat_lives import ask
from tests.db.test_gate_sessions import LIMIT, act, call, say
from tests.fakes.cutting_pool import CuttingPool
from tests.fakes.mcp_process import fake_mcp_server
from tests.fakes.openai_server import Body, Reply, count_turns
from tests.lives import SERVER, World, open_world, stage
from tests.safety.requirements import requirement

FOUND = {
    "items": [
        {"kind": "node", "uid": "pve1"},
        {"kind": "lxc", "uid": "141", "host": "pve1", "name": "homepage"},
    ]
}
NODE, HOMEPAGE = "node:pve1", "lxc:pve1:141"
QUESTION = "Please restart @homepage."
PLAIN = "Please restart it."
Outcome = tuple[str, str | None]
RESTARTED: Outcome = ("finished", None)
REFUSED: Outcome = ("refused", "ROUTING_MISMATCH")
ANSWER = (
    act(call("echo", text=encode_text(FOUND))),
    act(call("restart", name="pve1")),
    act(call("echo", text="up", name="pve1")),
    say("That is all."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A session that has ended, and is asked to restart the node, again and again."""

    world: World
    session_id: UUID

    async def ask(
        self, content: str = PLAIN, *, is_authenticated: bool = True, selected: Sequence[str] = ()
    ) -> Outcome:
        """What became of the restart in the answer."""
        store = self.world.store
        stage_id = await ask(store, self.session_id, content, is_authenticated=is_authenticated, selected=selected)
        async with asyncio.timeout(LIMIT):
            await self.world.answer(CuttingPool(store.pool))
        async with store.connect() as tx:
            (row,) = await tx.fetch(
                "SELECT c.state, c.error_code FROM tool_calls c JOIN agent_executions e USING (execution_id) "
                "WHERE e.stage_id = $1 AND c.tool_name = 'deck.restart'",
                stage_id,
            )
        return row["state"], row["error_code"]


@asynccontextmanager
async def open_talk(store: Store, folder: Path, *, selected: Sequence[str] = ()) -> AsyncGenerator[Talk]:
    def answer(body: Body) -> Reply:
        is_question = " asks:" in str(body["messages"])
        return ANSWER[min(count_turns(body), 3)] if is_question else say("Nothing is wrong.")

    async with open_world(store, folder / "effects", answer, stages=(stage("look"),)) as usual:
        (chain,) = usual.config.chains.values()
        deck = fake_mcp_server("--effects", str(folder / "effects")).model_copy(
            update={
                "kinds": usual.config.mcp_servers[SERVER].kinds,
                "targets": {"restart": Target(target="node:{name}"), "echo": Target(target="node:{name}")},
                "discovers": {"echo": "items[]"},
            }
        )
        config = replace(
            usual.config,
            chains={"chain": chain.model_copy(update={"chat": Chat(enabled=True, agent="watch")})},
            mcp_servers={SERVER: deck},
            safety=Safety(control_level=ControlLevel.AUTONOMOUS),
        )
        world = replace(usual, config=config)
        session_id = await world.submit(selected=selected)
        async with asyncio.timeout(LIMIT):
            await world.live_on(session_id)
        yield Talk(world=world, session_id=session_id)


@requirement("context:meant-by-person-or-get", "routing:mention-arms")
@pytest.mark.parametrize(
    ("is_authenticated", "outcome"),
    [
        pytest.param(True, REFUSED, id="a person who is known"),
        pytest.param(False, RESTARTED, id="anybody"),
    ],
)
async def test_a_call_to_the_host_of_what_a_known_person_named_is_refused(
    is_authenticated: bool,  # noqa: FBT001 -- what the test is about
    outcome: Outcome,
    clean_store: Store,
    tmp_path: Path,
) -> None:
    async with open_talk(clean_store, tmp_path) as talk:
        assert await talk.ask(QUESTION, is_authenticated=is_authenticated) == outcome


@requirement("context:selected-exactly", "routing:selection-arms")
async def test_what_was_selected_with_the_alert_is_meant_in_every_question(clean_store: Store, tmp_path: Path) -> None:
    async with open_talk(clean_store, tmp_path, selected=[HOMEPAGE]) as talk:
        assert await talk.ask(is_authenticated=False) == REFUSED
        assert await talk.ask() == REFUSED
        assert await talk.ask(selected=[NODE]) == RESTARTED


@requirement("context:selected-exactly", "routing:selection-arms", "routing:person-turns-back")
async def test_selections_and_mentions_of_questions_count_in_the_order_they_were_made(
    clean_store: Store, tmp_path: Path
) -> None:
    async with open_talk(clean_store, tmp_path) as talk:
        assert await talk.ask() == RESTARTED
        assert await talk.ask(selected=[HOMEPAGE], is_authenticated=False) == RESTARTED, "nobody vouches for it"
        assert await talk.ask(selected=[HOMEPAGE]) == REFUSED
        assert await talk.ask() == REFUSED, "it holds for the session"
        assert await talk.ask("Restart @pve1.") == RESTARTED
        assert await talk.ask("Restart @pve1.", selected=[HOMEPAGE]) == REFUSED, "both in one message"
        assert await talk.ask(selected=[NODE]) == RESTARTED
        assert await talk.ask(QUESTION) == REFUSED
