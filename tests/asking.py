"""Investigations that ask a person: what waits, and a person who decides."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

from midwatch.config.chains import Stage
from midwatch.config.load import Config
from midwatch.config.mcp import Kinds, McpServer
from midwatch.domain.safety import ControlLevel
from midwatch.intake.decide_approval import Decision, decide_approval
from midwatch.kit import json
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.safety.approvals import ApprovalState
from midwatch.store.approvals import Decided
from midwatch.store.driver import Row
from midwatch.store.engine import Store
from midwatch.timeline.flush import Flusher
from tests.fakes.cutting_pool import CuttingPool, Harm
from tests.fakes.mcp_process import fake_mcp_server
from tests.fakes.openai_server import Answer
from tests.lives import World, open_world

KINDS = Kinds(read=("echo", "inventory", "slow_read"), write=("restart", "slow_write"))


def restart(*names: str) -> ScriptedTurn:
    return ScriptedTurn(
        text="The pump is stuck, so I restart it.",
        calls=tuple(ScriptedCall(name="deck.restart", arguments={"name": name}) for name in names),
    )


def look(text: str) -> ScriptedTurn:
    return ScriptedTurn(text="I look.", calls=(ScriptedCall(name="deck.echo", arguments={"text": text}),))


DONE = ScriptedTurn(text="The pump runs.")


def controlled(world: World, *options: str, **server: Any) -> World:
    """Every change needs a person's yes. The tool server is started with these options more."""
    config: Config = world.config
    safety = config.safety.model_copy(update={"control_level": ControlLevel.CONTROLLED})
    fake = fake_mcp_server("--effects", str(world.effects_file), "--log-reads", *options)
    deck = McpServer.model_validate(fake.model_dump() | {"kinds": KINDS.model_dump(), **server})
    return replace(world, config=replace(config, safety=safety, mcp_servers={"deck": deck}))


@asynccontextmanager
async def open_controlled(
    store: Store, effects: Path, script: Answer, *options: str, stages: Sequence[Stage] = (), **server: Any
) -> AsyncGenerator[World]:
    async with open_world(store, effects, script, stages=stages) as world:
        yield controlled(world, *options, **server)


async def live(world: World, plan: dict[int, Harm] | None = None) -> None:
    """One replica takes what there is to do, until it has ended, waits for a person, or the replica has died."""
    await world.live(CuttingPool(world.store.pool, plan or {}))


def restarts(world: World) -> list[str]:
    return [effect["arguments"]["name"] for effect in world.effects() if effect["tool"] == "restart"]


def looks(world: World, tool: str = "echo") -> list[dict[str, Any]]:
    return [effect["arguments"] for effect in world.effects() if effect["tool"] == tool]


async def list_questions(store: Store, session_id: UUID, *, state: ApprovalState | None = None) -> list[Row]:
    async with store.connect() as tx:
        rows = await tx.fetch(
            "SELECT * FROM approvals WHERE session_id = $1 ORDER BY requested_at, approval_id", session_id
        )
    return [row for row in rows if state in (None, row["state"])]


async def find_question(store: Store, session_id: UUID) -> UUID:
    """The one that waits."""
    (row,) = await list_questions(store, session_id, state=ApprovalState.WAITING)
    return row["approval_id"]


async def say(store: Store, approval_id: UUID, *, yes: bool, reason: str = "", by: str = "ada") -> Decided:
    decision = Decision(is_approved=yes, by=by, reason=reason)
    return await decide_approval(store, Flusher(store), approval_id, decision)


async def read_lease(store: Store, session_id: UUID) -> Row:
    async with store.connect() as tx:
        row = await tx.fetchrow(
            "SELECT s.status, s.waiting_for, l.parked, l.owner, l.expires_at, l.attempts, l.ran_ms, l.epoch "
            "FROM alert_sessions s JOIN session_leases l USING (session_id) WHERE s.session_id = $1",
            session_id,
        )
    assert row is not None
    return row


async def list_records(store: Store, session_id: UUID) -> list[tuple[str, str, str | None]]:
    """What the audit says was decided, by whom, and why."""
    async with store.connect() as tx:
        rows = await tx.fetch(
            "SELECT decision, decided_by, reason FROM approval_decisions WHERE session_id = $1 ORDER BY decided_at",
            session_id,
        )
    return [(row["decision"], row["decided_by"], row["reason"]) for row in rows]


async def read_answer(store: Store, session_id: UUID, tool: str = "deck.restart") -> list[dict[str, Any]]:
    """What the model read as the answers to its calls of a tool, where they are refusals."""
    async with store.connect() as tx:
        rows = await tx.fetch(
            "SELECT t.content FROM messages m JOIN texts t USING (session_id, text_id) "
            "WHERE m.session_id = $1 AND m.role = 'tool' AND m.tool_name = $2 ORDER BY m.sequence_number",
            session_id,
            tool,
        )
    return [json.decode(row["content"])["error"] for row in rows if row["content"].startswith('{"ok":false')]


def write_inventory(path: Path, pumps: Sequence[dict[str, Any]]) -> None:
    path.write_text(json.encode_text({"pumps": list(pumps)}), encoding="utf-8")
