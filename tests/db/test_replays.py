"""A script for an agent that is at work more than once: whoever takes the session over plays on at the right place."""

from dataclasses import replace
from pathlib import Path

from midwatch.config.llm import ScriptedProvider
from midwatch.domain.session import SessionStatus
from midwatch.kit import json
from midwatch.llm.scripted import ScriptedTurn
from midwatch.store.engine import Store
from midwatch.timeline.recording import record_session
from tests.fakes.cutting_pool import Harm
from tests.lives import World, open_world, stage

LOOK = {"name": "deck.echo", "arguments": {"text": "a"}}
SAID = [
    [{"text": "I look.", "calls": [LOOK]}, {"text": "First."}],
    [{"text": "Second."}],
    [{"text": "I look again.", "calls": [LOOK]}, {"text": "Third."}],
]


def with_script(world: World) -> World:
    script = world.effects_file.parent / "script.yaml"
    script.write_text(json.encode_text({"agents": {"watch": SAID}}), encoding="utf-8")
    provider = ScriptedProvider(type="scripted", script=Path(script.name))
    return replace(world, config=replace(world.config, providers={"model": provider}))


async def test_each_time_has_its_own_part_whoever_plays_it(store: Store, tmp_path: Path) -> None:
    stages = (stage("one"), stage("two"), stage("three"))
    async with open_world(store, tmp_path / "effects", lambda _: ScriptedTurn(), stages=stages) as plain:
        world = with_script(plain)
        scripts: list[str] = []
        for cut in range(0, 24, 4):
            session_id = await world.submit()
            await world.live_on(session_id, [{cut: Harm.DIE_AFTER}] if cut else [])
            assert await world.status(session_id) is SessionStatus.COMPLETED
            scripts.append(await record_session(store, session_id))
    assert set(scripts) == {scripts[0]}
    assert [line.strip("- ") for line in scripts[0].splitlines() if "text:" in line and "I look" not in line] == [
        "text: a",
        "text: First.",
        "text: Second.",
        "text: a",
        "text: Third.",
    ]
