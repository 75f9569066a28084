"""A chain of several agents, killed with `kill -9` at each of its steps: what was finished stands, the rest goes on."""

import asyncio
from collections import Counter
from pathlib import Path
from uuid import UUID

import pytest

from midwatch.domain.session import SessionStatus
from midwatch.kit import json
from midwatch.llm.scripted import ScriptedTurn
from tests.fakes.openai_server import SUMMARY, Body, OpenAIServer, Received, Reply, serve, stall_after
from tests.feed_reader import reading_feed
from tests.scenes import BRIEF, Scene, open_scene
from tests.waiting import eventually

PARTS = {
    "Mate-1": ScriptedTurn(text="Left is dry."),
    "Mate-2": ScriptedTurn(text="Right is wet."),
    "SynthesisAgent": ScriptedTurn(text="One side is dry."),
    "ExecSummaryAgent": SUMMARY,
}


def who_asks(body: Body) -> str:
    return next(name for name in PARTS if f"You are {name}" in body["messages"][0]["content"])


def list_received(model: OpenAIServer) -> list[Received]:
    return [*model.requests, *model.summaries]


def count_asked(model: OpenAIServer) -> Counter[str]:
    return Counter(who_asks(received.body) for received in list_received(model))


def put_side_by_side(folder: Path) -> None:
    path = folder / "midwatch.yaml"
    config = json.decode(path.read_text(encoding="utf-8"))
    config["agent_chains"]["deck"]["stages"][0]["replicas"] = 2
    path.write_text(json.encode_text(config), encoding="utf-8")


async def is_alone(scene: Scene, session_id: UUID) -> bool:
    """One agent is left at work."""
    rows = await scene.fetch(
        "SELECT FROM agent_executions WHERE session_id = $1 AND status NOT IN ('completed', 'failed')", session_id
    )
    return len(rows) == 1


@pytest.mark.parametrize("held", ["Mate-2", "SynthesisAgent", "ExecSummaryAgent"])
async def test_killed_while_one_agent_is_asked_only_that_one_is_asked_again(
    held: str, dsn: str, tmp_path: Path
) -> None:
    release = asyncio.Event()
    waiting = stall_after(PARTS[held], 0, release=release)

    def answer(body: Body) -> Reply:
        return waiting if who_asks(body) == held else PARTS[who_asks(body)]

    summary = waiting if held == "ExecSummaryAgent" else SUMMARY
    async with (
        serve(answer, summary=summary) as model,
        open_scene(tmp_path, model=model, dsn=dsn, heartbeat_interval=BRIEF) as scene,
    ):
        put_side_by_side(tmp_path)
        first, _ = await scene.fleet.start("first", "second")
        session_id = await first.submit()
        async with reading_feed(scene.store, session_id) as feed:
            await eventually(lambda: count_asked(model)[held] == 1)
            # Whoever worked beside it has come to its end.
            await eventually(lambda: is_alone(scene, session_id))
            owner, other = await scene.owner_and_other(session_id)
            await owner.kill()
            await eventually(lambda: count_asked(model)[held] == 2)
            release.set()
            assert await scene.ended(session_id) is SessionStatus.COMPLETED
            await feed.check_whole()
            feed.check_streams_closed()
        shown = await other.show(session_id)
    assert count_asked(model) == {**dict.fromkeys(PARTS, 1), held: 2}
    assert (shown["final_analysis"], shown["executive_summary"]) == ("One side is dry.", SUMMARY.text)
    assert len(shown["resumed_at"]) == 1
    assert [stage["status"] for stage in shown["stages"]] == ["completed"] * 3
