"""A whole session over a model without tool calling: it acts by what it writes."""

from dataclasses import replace
from pathlib import Path

from midwatch.config.defaults import Defaults
from midwatch.domain.session import SessionStatus
from midwatch.llm.scripted import ScriptedTurn
from midwatch.store.engine import Store
from midwatch.store.feed import read_timeline
from midwatch.timeline.render import render_timeline_entry
from tests.fakes.openai_server import SUMMARY, by_turn
from tests.lives import open_world

ACTING = ScriptedTurn(text='Thought: look first\nAction: deck.echo\nAction Input: {"text": "a"}\n')
DONE = ScriptedTurn(text="Thought: enough\nFinal Answer: The pump ran dry.")


async def test_a_session_runs_over_plain_text(store: Store, tmp_path: Path) -> None:
    async with open_world(store, tmp_path / "effects", by_turn([ACTING, DONE])) as plain:
        config = replace(plain.config, defaults=Defaults(iteration_strategy="react"))
        world = replace(plain, config=config)
        session_id = await world.submit()
        await world.live_on(session_id)
        first, second = (received.body for received in world.model.requests)
    assert await world.status(session_id) is SessionStatus.COMPLETED
    assert "tools" not in first
    assert "### deck.echo" in first["messages"][0]["content"]
    assert second["messages"][2] == {"role": "assistant", "content": ACTING.text.strip()}
    assert second["messages"][3]["content"].startswith("Observation: deck.echo: ")
    async with store.connect() as tx:
        entries = [render_timeline_entry(row) for row in await read_timeline(tx, session_id)]
    thoughts = [entry for entry in entries if entry["event_type"] == "llm_thinking"]
    assert [(entry["content"].strip(), entry["metadata"]) for entry in thoughts] == [
        ("look first", {"source": "react"}),
        ("enough", {"source": "react"}),
    ]
    analyses = [entry["content"] for entry in entries if entry["event_type"] == "final_analysis"]
    assert analyses == ["The pump ran dry.", SUMMARY.text]
