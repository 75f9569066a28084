"""Runs with a budget: they conclude with what they have, count what former owners used, and say what cannot be kept."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from midwatch.config.budgets import Budgets
from midwatch.config.cost import CostEstimation
from midwatch.config.defaults import Defaults
from midwatch.domain.messages import Usage
from midwatch.domain.session import SessionStatus
from midwatch.kit import json
from midwatch.llm.prices import Prices
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.queue.lease import LeaseTimes
from midwatch.store.engine import Store
from midwatch.store.readings import read_session
from tests.fakes.cutting_pool import CuttingPool, Harm
from tests.fakes.openai_server import Body, count_turns
from tests.invariants import check_end
from tests.lives import World, open_world, stage

TURNS = 10
USED = Usage(input_tokens=290, output_tokens=10)
PARTIAL = "Probably the pump; the valve was not checked."
RATES = CostEstimation.model_validate(
    {"model_rates": {"model": {"input_per_million": 1000, "output_per_million": 1000}}}
)
"""A tenth of a cent for a token, 30 cents for a turn."""


def look_or_conclude(body: Body) -> ScriptedTurn:
    """Looks for as long as it has tools, and never comes to an end by itself before all turns are over."""
    number = count_turns(body)
    if number >= TURNS:
        return ScriptedTurn(text="The pump ran dry.", usage=USED)
    if "tools" not in body:
        return ScriptedTurn(text=PARTIAL, usage=USED)
    return ScriptedTurn(calls=(ScriptedCall(name="deck.echo", arguments={"text": str(number)}),), usage=USED)


def with_budgets(world: World, *, defaults: Budgets, chain: Budgets | None = None) -> World:
    (written,) = world.config.chains.values()
    limited = written.model_copy(update={"budgets": chain or Budgets()})
    config = replace(world.config, defaults=Defaults(budgets=defaults), chains={"chain": limited})
    return replace(world, config=config)


async def read_conclusion(store: Store, session_id: UUID) -> tuple[str, dict[str, Any]]:
    async with store.connect() as tx:
        row = await tx.fetchrow(
            "SELECT t.content, e.metadata FROM timeline_events e JOIN texts t USING (session_id, text_id) "
            "WHERE e.session_id = $1 AND e.event_type = 'final_analysis'",
            session_id,
        )
    assert row is not None
    return row["content"], json.decode(row["metadata"])


async def read_session_fields(store: Store, session_id: UUID) -> dict[str, Any]:
    async with store.connect() as tx:
        reading = await read_session(tx, session_id)
    assert reading is not None
    return reading.session


def forced(used_up: str, *, iterations: int) -> tuple[str, dict[str, Any]]:
    reason = f"{used_up} used up"
    return PARTIAL, {
        "forced_conclusion": True,
        "iterations_used": iterations,
        "forced_conclusion_reason": reason,
    }


FREE = ("The pump ran dry.", {"forced_conclusion": False, "iterations_used": TURNS + 1})


@pytest.mark.parametrize(
    ("defaults", "chain", "expected"),
    [
        (Budgets(tokens=500), None, forced("500 tokens", iterations=3)),
        (Budgets(tokens=100), Budgets(tokens=1_000), forced("1,000 tokens", iterations=5)),
        (Budgets(tokens=1_000), Budgets(usd=0.5), forced("0.50 US dollars", iterations=3)),
        (Budgets(tokens=600, usd=0.6), None, forced("0.60 US dollars and 600 tokens", iterations=3)),
        (Budgets(), None, FREE),
    ],
)
async def test_a_session_whose_budget_is_used_up_completes_with_what_it_has(
    store: Store, tmp_path: Path, defaults: Budgets, chain: Budgets | None, expected: tuple[str, dict[str, Any]]
) -> None:
    async with open_world(store, tmp_path / "effects", look_or_conclude) as plain:
        world = replace(with_budgets(plain, defaults=defaults, chain=chain), prices=Prices(estimation=RATES))
        session_id = await world.submit()
        await world.live_on(session_id)
    assert await world.status(session_id) is SessionStatus.COMPLETED
    assert await read_conclusion(store, session_id) == expected
    session = await read_session_fields(store, session_id)
    assert (session["final_analysis"], session["warnings"]) == (expected[0], [])


async def test_stages_share_one_budget(store: Store, tmp_path: Path) -> None:
    stages = (stage("look"), stage("look again"))
    async with open_world(store, tmp_path / "effects", look_or_conclude, stages=stages) as plain:
        world = with_budgets(plain, defaults=Budgets(tokens=500))
        session_id = await world.submit()
        await world.live_on(session_id)
    async with store.connect() as tx:
        kinds = await tx.fetch(
            "SELECT interaction_type FROM llm_interactions WHERE session_id = $1 ORDER BY interaction_id", session_id
        )
        await check_end(tx, session_id)
    assert await world.status(session_id) is SessionStatus.COMPLETED
    worked = ["iteration"] * 2 + ["forced_conclusion"] * 2
    # An empty purse does not keep an investigation from being summed up.
    assert [row["interaction_type"] for row in kinds] == [*worked, "executive_summary"]


@pytest.mark.parametrize(
    ("budgets", "used_up"), [(Budgets(tokens=500), "500 tokens"), (Budgets(usd=0.5), "0.50 US dollars")]
)
async def test_a_run_that_goes_on_elsewhere_counts_what_former_owners_used(
    store: Store, tmp_path: Path, budgets: Budgets, used_up: str
) -> None:
    async with open_world(store, tmp_path / "effects", look_or_conclude) as plain:
        world = replace(with_budgets(plain, defaults=budgets), prices=Prices(estimation=RATES))
        for cut in range(1, 15):
            session_id = await world.submit()
            await world.live_on(session_id, [{cut: Harm.DIE_AFTER}])
            assert await world.status(session_id) is SessionStatus.COMPLETED
            assert await read_conclusion(store, session_id) == forced(used_up, iterations=3), cut


async def let_hours_pass(store: Store, *, ran: int) -> None:
    """The owner died so many seconds after it had begun, long ago."""
    async with store.connect() as tx:
        await tx.execute(
            "UPDATE session_leases SET claimed_at = clock_timestamp() - interval '5 hours', "
            "expires_at = clock_timestamp() - interval '5 hours' + make_interval(secs => $1) + $2",
            float(ran),
            LeaseTimes().duration,
        )


@pytest.mark.parametrize(("ran", "expected"), [(10, FREE), (70, forced("60 seconds", iterations=1))])
async def test_only_the_time_counts_in_which_somebody_ran_the_session(
    store: Store, tmp_path: Path, ran: int, expected: tuple[str, dict[str, Any]]
) -> None:
    async with open_world(store, tmp_path / "effects", look_or_conclude) as plain:
        world = with_budgets(plain, defaults=Budgets(seconds=60))
        session_id = await world.submit()
        await world.live(CuttingPool(store.pool, {2: Harm.DIE_AFTER}))
        await let_hours_pass(store, ran=ran)
        await world.live_on(session_id)
    assert await world.status(session_id) is SessionStatus.COMPLETED
    assert await read_conclusion(store, session_id) == expected


UNKNOWN = "nobody knows what model costs; say it in system.cost_estimation.model_rates"
SWITCHED_OFF = "costs are not estimated, as system.cost_estimation.enabled is false"


@pytest.mark.parametrize(
    ("budgets", "estimation", "warnings"),
    [
        (Budgets(usd=5), CostEstimation(), [f"the budget of 5.00 US dollars cannot be kept: {UNKNOWN}"]),
        (
            Budgets(usd=5),
            CostEstimation(enabled=False),
            [f"the budget of 5.00 US dollars cannot be kept: {SWITCHED_OFF}"],
        ),
        (Budgets(usd=50), RATES, list[str]()),
        (Budgets(tokens=50_000), CostEstimation(), list[str]()),
    ],
)
async def test_a_session_says_once_that_its_budget_of_money_cannot_be_kept_and_why(
    store: Store, tmp_path: Path, budgets: Budgets, estimation: CostEstimation, warnings: Sequence[str]
) -> None:
    stages = (stage("look"), stage("look again"))
    async with open_world(store, tmp_path / "effects", look_or_conclude, stages=stages) as plain:
        world = replace(with_budgets(plain, defaults=budgets), prices=Prices(estimation=estimation))
        session_id = await world.submit()
        await world.live_on(session_id, [{7: Harm.DIE_AFTER}, {7: Harm.LOSE_ANSWER}])
    session = await read_session_fields(store, session_id)
    assert (session["status"], session["warnings"]) == ("completed", warnings)
