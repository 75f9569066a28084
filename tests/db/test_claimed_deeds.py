"""Conclusions against the record, in whole sessions: what nobody did is not told as done."""

import asyncio
from pathlib import Path

import pytest

from midwatch.store.deeds import list_deeds, list_readings
from midwatch.store.engine import Store
from tests.db.test_gate_sessions import (
    LIMIT,
    act,
    call,
    open_deck,
    read_detail,
    read_prompts,
    read_timeline_of,
    run,
    say,
)
from tests.fakes.cutting_pool import CuttingPool, Harm
from tests.safety.requirements import requirement

FALSE = "The pump is stuck. I restarted the web pump."
TRUE = "The pump is stuck. Nothing was restarted."
LOOK = call("echo", text="the pump is stuck")


def count_corrections(prompts: list[str]) -> int:
    return sum("it says what is not on record" in prompt for prompt in prompts)


@requirement("claims:on-record")
async def test_a_deed_that_nobody_did_is_taken_back_once_and_the_model_puts_it_right(
    clean_store: Store, tmp_path: Path
) -> None:
    async with open_deck(clean_store, tmp_path, [act(LOOK), say(FALSE), say(TRUE)]) as world:
        session_id = await run(world)
        entries = await read_timeline_of(world, session_id)
        detail = await read_detail(world, session_id)
        prompts = await read_prompts(world, session_id)
    said = [entry for entry in entries if entry["event_type"] == "llm_response"]
    assert [(entry["content"], entry["status"]) for entry in said[:2]] == [(FALSE, "withdrawn"), (TRUE, "completed")]
    (withheld,) = said[0]["metadata"]["claims"]["withheld"]
    assert (withheld["kind"], withheld["action"]) == ("action", "restart")
    assert withheld["sentence"] == "I restarted the web pump."
    assert detail["final_analysis"] == TRUE
    assert count_corrections(prompts) == 1


@requirement("claims:on-record")
async def test_who_insists_is_not_repeated(clean_store: Store, tmp_path: Path) -> None:
    async with open_deck(clean_store, tmp_path, [act(LOOK), say(FALSE), say(FALSE)]) as world:
        session_id = await run(world)
        entries = await read_timeline_of(world, session_id)
        detail = await read_detail(world, session_id)
        prompts = await read_prompts(world, session_id)
    said = [(entry["content"], entry["status"]) for entry in entries if entry["event_type"] == "llm_response"]
    assert said[:2] == [(FALSE, "withdrawn"), (FALSE, "withdrawn")]
    final = next(entry for entry in entries if entry["event_type"] == "final_analysis")
    assert final["content"].startswith("The pump is stuck. [Withheld")
    assert "no change was made" in final["content"]
    assert len(final["metadata"]["claims"]["withheld"]) == 1
    assert detail["final_analysis"] == final["content"]
    (summed_up,) = [prompt for prompt in prompts if "Sum this analysis up" in prompt]
    assert final["content"] in summed_up
    assert count_corrections(prompts) == 1


@requirement("claims:on-record", "claims:only-success")
async def test_what_was_done_may_be_told_and_what_failed_may_not(clean_store: Store, tmp_path: Path) -> None:
    told = "I restarted the web pump."
    done = [act(call("restart", name="web")), act(LOOK), say(told)]
    async with open_deck(clean_store, tmp_path, done) as world:
        session_id = await run(world)
        detail = await read_detail(world, session_id)
        async with clean_store.connect() as tx:
            deeds = await list_deeds(tx, session_id)
            readings = await list_readings(tx, session_id, most=1000)
            few = await list_readings(tx, session_id, most=3)
    assert detail["final_analysis"] == told
    assert [(deed.tool, deed.kind, deed.outcome) for deed in deeds] == [
        ("deck.restart", "write", "succeeded"),
        ("deck.echo", "read", "succeeded"),
    ]
    assert deeds[0].arguments == {"name": "web"}
    assert any("the pump is stuck" in reading for reading in readings)
    assert few == []


@requirement("claims:marked")
async def test_a_figure_that_nothing_contains_is_marked_and_stands(clean_store: Store, tmp_path: Path) -> None:
    turns = [act(call("echo", text="pressure 7.3 bar")), say("The pressure is 7.3 bar. The temperature is 417.2 C.")]
    async with open_deck(clean_store, tmp_path, turns) as world:
        session_id = await run(world)
        entries = await read_timeline_of(world, session_id)
        prompts = await read_prompts(world, session_id)
    final = next(entry for entry in entries if entry["event_type"] == "final_analysis")
    assert final["content"].startswith("The pressure is 7.3 bar. The temperature is 417.2 C. [Not found in anything")
    assert final["metadata"]["claims"]["marked"] == {"measurement": 1}
    said = next(entry for entry in entries if entry["event_type"] == "llm_response")
    assert said["status"] == "completed"
    assert count_corrections(prompts) == 0


@requirement("claims:on-record")
async def test_a_forced_conclusion_is_cleaned_without_a_second_chance(clean_store: Store, tmp_path: Path) -> None:
    async with open_deck(clean_store, tmp_path, [act(LOOK), say(FALSE)], max_iterations=1) as world:
        session_id = await run(world)
        detail = await read_detail(world, session_id)
        prompts = await read_prompts(world, session_id)
    assert detail["final_analysis"].startswith("The pump is stuck. [Withheld")
    assert count_corrections(prompts) == 0


@requirement("claims:resumed")
@pytest.mark.parametrize("death", [Harm.DIE_BEFORE, Harm.DIE_AFTER])
async def test_a_run_that_dies_around_its_false_claim_corrects_it_once(
    death: Harm, clean_store: Store, tmp_path: Path
) -> None:
    async with open_deck(clean_store, tmp_path, [act(LOOK), say(FALSE), say(TRUE)]) as world:
        for commit in range(5, 12):
            world.effects_file.unlink(missing_ok=True)
            session_id = await world.submit()
            async with asyncio.timeout(LIMIT):
                await world.live(CuttingPool(clean_store.pool, {commit: death}))
                await world.expire()
                await world.live_on(session_id)
            detail = await read_detail(world, session_id)
            assert detail["final_analysis"] == TRUE
            assert count_corrections(await read_prompts(world, session_id)) == 1
