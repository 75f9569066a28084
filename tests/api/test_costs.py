"""What sessions cost, as far as anybody knows: for all of it, for some of it, or not at all. Unknown is never zero."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from midwatch.domain.messages import Usage
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.engine import Store
from tests.api.edge import CONCLUSION, Edge, call, open_edge, running, write_config
from tests.api.shelf import SESSIONS, Shelved, shelve, wait_for_end
from tests.fakes.openai_server import by_turn, serve

FIELDS = ("estimated_cost_usd", "cost_completeness", "unpriced_interaction_count")
Cost = tuple[float | None, str, int]


async def work(store: Store, session_id: str, costs: list[float | None], *, agent_index: int = 1) -> UUID:
    """An execution whose model was called once for each of these costs."""
    execution_id, session = new_id(), UUID(session_id)
    async with store.begin() as tx:
        stage_id = await tx.fetchval("SELECT stage_id FROM stages WHERE session_id = $1", session)
        if stage_id is None:
            stage_id = new_id()
            await tx.execute(
                "INSERT INTO stages (stage_id, session_id, stage_name, stage_index, stage_type, status, "
                "expected_agent_count) VALUES ($1, $2, 'watch', 1, 'investigation', 'completed', 1)",
                stage_id,
                session,
            )
        await tx.execute(
            "INSERT INTO agent_executions (execution_id, stage_id, session_id, agent_name, agent_index, status, "
            "llm_provider, model_name) VALUES ($1, $2, $3, 'Mate', $4, 'completed', 'spare', 'small')",
            execution_id,
            stage_id,
            session,
            agent_index,
        )
        for cost in costs:
            await tx.execute(
                "INSERT INTO llm_interactions (interaction_id, session_id, stage_id, execution_id, interaction_type, "
                "llm_provider, model_name, llm_request, input_tokens, output_tokens, estimated_cost_usd) "
                "VALUES ($1, $2, $3, $4, 'iteration', 'spare', 'small', '{}', 9, 1, $5)",
                new_id(),
                session,
                stage_id,
                execution_id,
                cost,
            )
    return execution_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """The same session wherever it is told of."""

    item: dict[str, Any]
    detail: dict[str, Any]
    summary: dict[str, Any]

    @property
    def costs(self) -> list[Cost]:
        return [read_cost(body) for body in (self.item, self.detail, self.summary)]

    @property
    def executions(self) -> list[dict[str, Any]]:
        return [execution for stage in self.detail["stages"] for execution in stage["executions"]]


def read_cost(body: dict[str, Any]) -> Cost:
    cost, completeness, unpriced = (body[field] for field in FIELDS)
    return cost, completeness, unpriced


async def tell(edge: Edge, session_id: str) -> Told:
    items = (await edge.http.get(SESSIONS)).json()["sessions"]
    return Told(
        item=next(item for item in items if item["id"] == session_id),
        detail=await edge.show(session_id),
        summary=(await edge.http.get(f"{SESSIONS}/{session_id}/summary")).json(),
    )


@pytest.mark.parametrize(
    ("costs", "expected"),
    [
        ([], (None, "none", 0)),
        ([0.25, 0.5], (0.75, "complete", 0)),
        ([0.0, 0.0], (0.0, "complete", 0)),
        ([0.25, None, None], (0.25, "partial", 2)),
        ([None, None], (None, "none", 2)),
        # A call that failed at once is known to cost nothing, which says nothing of the others.
        ([0.0, None], (None, "none", 1)),
        ([0.1, 0.2], (0.3, "complete", 0)),
        ([0.000001, 0.0000005], (0.0000015, "complete", 0)),
    ],
)
async def test_the_cost_is_of_what_is_known_and_says_how_much_is_not(
    edge: Edge, costs: list[float | None], expected: Cost
) -> None:
    session_id = await shelve(edge.store, Shelved())
    await work(edge.store, session_id, costs)
    told = await tell(edge, session_id)
    assert told.costs == [expected] * 3
    assert [read_cost(execution) for execution in told.executions] == [expected]


async def test_a_session_that_nobody_worked_on_has_no_cost(edge: Edge) -> None:
    assert (await tell(edge, await shelve(edge.store, Shelved()))).costs == [(None, "none", 0)] * 3


async def test_each_execution_has_its_own_cost(edge: Edge) -> None:
    session_id = await shelve(edge.store, Shelved())
    await work(edge.store, session_id, [1.5], agent_index=1)
    await work(edge.store, session_id, [None, 0.5], agent_index=2)
    await work(edge.store, session_id, [None], agent_index=3)
    told = await tell(edge, session_id)
    assert [read_cost(execution) for execution in told.executions] == [
        (1.5, "complete", 0),
        (0.5, "partial", 1),
        (None, "none", 1),
    ]
    assert told.costs == [(2.0, "partial", 2)] * 3


async def test_an_execution_tells_what_it_began_with_and_why_that_changed(edge: Edge) -> None:
    session_id = await shelve(edge.store, Shelved())
    changed, plain = await work(edge.store, session_id, []), await work(edge.store, session_id, [], agent_index=2)
    first = {"llm_provider": "main", "llm_backend": "google-native", "model_name": "big"}
    change = {"fallback_reason": "HTTP 401", "fallback_error_code": "credentials", "fallback_attempt": 2}
    before = {f"original_{key}": value for key, value in first.items()}
    async with edge.store.begin() as tx:
        await tx.execute(
            "UPDATE agent_executions SET original_llm_provider = $2, original_llm_backend = $3, "
            "original_model_name = $4, fallback_reason = $5, fallback_error_code = $6, fallback_attempt = $7 "
            "WHERE execution_id = $1",
            changed,
            *before.values(),
            *change.values(),
        )
        for number in (1, 2):
            await tx.execute(
                "INSERT INTO timeline_events (event_id, session_id, sequence_number, event_type, status) "
                "VALUES ($1, $2, $3, 'provider_fallback', 'completed')",
                new_id(),
                UUID(session_id),
                number,
            )
    told = await tell(edge, session_id)
    one, other = told.executions
    assert (one["execution_id"], other["execution_id"]) == (str(changed), str(plain))
    assert (before | change).items() <= one.items()
    assert {other[key] for key in before | change} == {None}
    assert told.item["provider_fallback_count"] == 2


def configure(folder: Path, system: dict[str, Any]) -> None:
    write_config(folder, turns=[call("echo", text="all is dry"), CONCLUSION])
    main = json.decode((folder / "midwatch.yaml").read_text())
    (folder / "midwatch.yaml").write_text(json.encode_text(main | {"system": system}))


@pytest.mark.parametrize(
    ("system", "enabled"),
    [({}, True), ({"cost_estimation": {"enabled": False}}, False)],
)
async def test_whether_costs_are_estimated_is_said_everywhere(
    dsn: str, tmp_path: Path, system: dict[str, Any], enabled: object
) -> None:
    configure(tmp_path, system)
    async with open_edge(tmp_path, dsn) as edge, running(edge):
        session_id = await edge.submit()
        await wait_for_end(edge, session_id)
        told = await tell(edge, session_id)
        listing = (await edge.http.get(SESSIONS)).json()
        config = (await edge.http.get("/api/v1/system/config")).json()
    bodies = (listing, told.detail, told.summary)
    assert [body["cost_estimation_enabled"] for body in bodies] == [enabled] * 3
    assert config["system"]["cost_estimation"]["enabled"] is enabled
    # The script is ours, and nobody bills it; where nothing is estimated, not even that is known.
    assert told.costs == [(0.0, "complete", 0) if enabled else (None, "none", 3)] * 3


RATES = {"big": {"input_per_million": 1000, "output_per_million": 5000}}
TURNS = (
    ScriptedTurn(
        calls=(ScriptedCall(name="deck.echo", arguments={"text": "dry"}),),
        usage=Usage(input_tokens=100, output_tokens=20),
    ),
    ScriptedTurn(text="The deck is dry.", usage=Usage(input_tokens=300, output_tokens=10)),
)


@pytest.mark.parametrize(
    ("model", "each", "expected"),
    [("big", [0.2, 0.35], (0.55, "complete", 0)), ("strange", [None, None], (None, "none", 3))],
)
async def test_every_call_of_a_model_is_priced_as_the_operator_says(
    dsn: str, tmp_path: Path, model: str, each: list[float | None], expected: Cost
) -> None:
    async with serve(by_turn(TURNS)) as server:
        configure(tmp_path, {"cost_estimation": {"model_rates": RATES}})
        entry = {"type": "openai", "model": model, "base_url": server.base_url}
        providers = {"llm_providers": {"script": entry}}
        (tmp_path / "llm-providers.yaml").write_text(json.encode_text(providers))
        async with open_edge(tmp_path, dsn) as edge, running(edge):
            session_id = await edge.submit()
            await wait_for_end(edge, session_id)
            told = await tell(edge, session_id)
            trace = (await edge.http.get(f"{SESSIONS}/{session_id}/trace")).json()
            items = trace["stages"][0]["executions"][0]["llm_interactions"]
            details = [
                (await edge.http.get(f"{SESSIONS}/{session_id}/trace/llm/{item['id']}")).json() for item in items
            ]
    assert [item["estimated_cost_usd"] for item in items] == pytest.approx(each)
    assert [detail["estimated_cost_usd"] for detail in details] == pytest.approx(each)
    assert told.costs == [expected] * 3
