"""Agents of one stage work side by side; what becomes of the stage follows from all of them."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import UUID

import pytest

from midwatch.config.chains import Stage, StageAgent, Synthesis
from midwatch.config.limits import Limits
from midwatch.config.llm import Provider
from midwatch.domain.errors import ModelUnavailable, StoreUnavailable
from midwatch.domain.session import StopReason, SuccessPolicy
from midwatch.llm.prices import Prices
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.queue.lease import Lease
from midwatch.store.driver import Row
from midwatch.store.engine import Store
from midwatch.store.sessions import request_cancel
from tests.fakes.cutting_pool import CuttingPool
from tests.fakes.openai_server import Body, Reply, Stream, from_script
from tests.invariants import check_session
from tests.lives import World, open_world, stage

NO_KEY = ScriptedTurn(error=ModelUnavailable("no key", code="credentials", retryable=False))
SCRIPT: Mapping[str, Sequence[ScriptedTurn]] = {
    "left": [ScriptedTurn(text="Left is dry.")],
    "right": [ScriptedTurn(text="Right is wet.")],
    "broken": [NO_KEY],
    "joiner": [ScriptedTurn(text="One side is dry.")],
    "last": [ScriptedTurn(text="It is settled.")],
}


def crew(*models: str, policy: SuccessPolicy | None = None, replicas: int = 1) -> Stage:
    return Stage(
        name="look",
        agents=tuple(StageAgent(name="watch", llm_provider=model) for model in models),
        replicas=replicas,
        success_policy=policy,
        synthesis=Synthesis(llm_provider="joiner"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    session: Row
    stages: Sequence[Row]
    executions: Sequence[Row]


async def read_outcome(world: World, session_id: UUID) -> Outcome:
    async with world.store.connect() as tx:
        await check_session(tx, session_id, world.effects())
        session = await tx.fetchrow("SELECT * FROM alert_sessions WHERE session_id = $1", session_id)
        assert session is not None
        return Outcome(
            session=session,
            stages=await tx.fetch("SELECT * FROM stages WHERE session_id = $1 ORDER BY stage_index", session_id),
            executions=await tx.fetch(
                "SELECT e.* FROM agent_executions e JOIN stages s USING (stage_id) WHERE e.session_id = $1 "
                "ORDER BY s.stage_index, e.agent_index",
                session_id,
            ),
        )


async def run(world: World) -> Outcome:
    session_id = await world.submit()
    await world.live_on(session_id)
    return await read_outcome(world, session_id)


def asked_models(world: World) -> set[str]:
    return {request.body["model"] for request in world.model.requests}


@dataclass(slots=True, kw_only=True)
class Moment:
    """All agents of a stage have asked, and nobody is answered before something has been done about it."""

    world: World
    models: frozenset[str]
    act: Callable[[], Awaitable[None]]
    held: frozenset[str] = frozenset()
    """These are never answered."""
    _over: asyncio.Event = field(default_factory=asyncio.Event)

    def answer(self, body: Body) -> Reply:
        if body["model"] in self.held:
            return Stream([asyncio.Event()])
        return from_script(SCRIPT)(body)

    async def wait(self, _turn: int) -> None:
        if asked_models(self.world) >= self.models and not self._over.is_set():
            await self.act()
            self._over.set()
        await self._over.wait()

    def begin(self) -> None:
        self.world.model.answer = self.answer
        self.world.model.before_turn = self.wait


async def do_nothing() -> None:
    pass


async def test_agents_of_a_stage_are_at_work_at_the_same_time(clean_store: Store, tmp_path: Path) -> None:
    async with open_world(
        clean_store, tmp_path / "effects", from_script(SCRIPT), stages=[crew("left", "right")]
    ) as world:
        Moment(world=world, models=frozenset({"left", "right"}), act=do_nothing).begin()
        async with asyncio.timeout(30):
            outcome = await run(world)
    assert outcome.session["status"] == "completed"


@pytest.mark.parametrize(
    ("built", "shown", "parallel_type"),
    [
        (crew("left", "right"), ["watch", "watch"], "multi_agent"),
        (crew("left", replicas=2), ["watch-1", "watch-2"], "replica"),
        (crew("left"), ["watch"], None),
        (crew("left", replicas=0), ["watch"], None),
    ],
)
async def test_a_stage_tells_who_works_in_it(
    clean_store: Store, tmp_path: Path, built: Stage, shown: list[str], parallel_type: str | None
) -> None:
    async with open_world(clean_store, tmp_path / "effects", from_script(SCRIPT), stages=[built]) as world:
        outcome = await run(world)
    first = outcome.stages[0]
    working = [row for row in outcome.executions if row["stage_id"] == first["stage_id"]]
    assert [(row["agent_index"], row["agent_name"]) for row in working] == list(enumerate(shown, start=1))
    assert (first["expected_agent_count"], first["parallel_type"]) == (len(shown), parallel_type)
    assert (first["stage_index"], first["stage_type"], first["success_policy"]) == (1, "investigation", "any")
    for row in (*outcome.stages, *outcome.executions):
        assert row["started_at"] <= row["completed_at"]
        assert row["duration_ms"] >= 0


@pytest.mark.parametrize(
    ("default", "said", "status"),
    [
        (SuccessPolicy.ANY, None, "completed"),
        (SuccessPolicy.ALL, None, "failed"),
        (SuccessPolicy.ALL, SuccessPolicy.ANY, "completed"),
        (SuccessPolicy.ANY, SuccessPolicy.ALL, "failed"),
    ],
)
async def test_the_nearest_policy_decides_whether_some_are_enough(
    clean_store: Store, tmp_path: Path, default: SuccessPolicy, said: SuccessPolicy | None, status: str
) -> None:
    stages = [crew("left", "broken", policy=said), stage("act", model="last")]
    async with open_world(clean_store, tmp_path / "effects", from_script(SCRIPT), stages=stages) as world:
        defaults = world.config.defaults.model_copy(update={"success_policy": default})
        outcome = await run(replace(world, config=replace(world.config, defaults=defaults)))
        asked = asked_models(world)
    assert outcome.session["status"] == status
    assert ("last" in asked) is (status == "completed")
    assert [row["status"] for row in outcome.executions[:2]] == ["completed", "failed"]


async def test_a_stage_that_fails_names_each_agent_and_ends_the_chain(clean_store: Store, tmp_path: Path) -> None:
    stages = [crew("broken", "left", "broken", policy=SuccessPolicy.ALL), stage("act", model="last")]
    async with open_world(clean_store, tmp_path / "effects", from_script(SCRIPT), stages=stages) as world:
        outcome = await run(world)
        assert world.model.summaries == []
        assert asked_models(world) == {"left", "broken"}
    told = "2 of 3 agents did not succeed: watch failed: HTTP 401: no key; watch failed: HTTP 401: no key"
    (only,) = outcome.stages
    assert (only["status"], only["error_message"]) == ("failed", told)
    assert outcome.session["error_message"] == f"stage 1 (look) failed: {told}"
    assert outcome.session["final_analysis_text_id"] is None
    assert [row["status"] for row in outcome.executions] == ["failed", "completed", "failed"]


@dataclass(slots=False, kw_only=True)
class BrokenPrices(Prices):
    """Raises what nobody foresaw, for one model."""

    def find_window(self, provider: Provider) -> int | None:
        if provider.model == "broken":
            raise ZeroDivisionError("the secret is hunter2")
        return super().find_window(provider)


async def test_an_agent_that_raises_fails_alone_and_its_words_are_not_stored(
    clean_store: Store, tmp_path: Path
) -> None:
    async with open_world(
        clean_store, tmp_path / "effects", from_script(SCRIPT), stages=[crew("left", "broken")]
    ) as world:
        outcome = await run(replace(world, prices=BrokenPrices()))
    assert outcome.session["status"] == "completed"
    left, broken, *_ = outcome.executions
    assert (left["status"], broken["status"]) == ("completed", "failed")
    assert broken["error_message"] == "internal error (ZeroDivisionError)"


async def test_an_agent_that_the_configuration_no_longer_has_fails_alone(clean_store: Store, tmp_path: Path) -> None:
    built = crew("left")
    stages = [built.model_copy(update={"agents": (*built.agents, StageAgent(name="gone"))})]
    async with open_world(clean_store, tmp_path / "effects", from_script(SCRIPT), stages=stages) as world:
        outcome = await run(world)
    assert outcome.session["status"] == "completed"
    gone = outcome.executions[1]
    assert (gone["agent_name"], gone["status"], gone["llm_provider"]) == ("gone", "failed", "unknown")
    assert gone["error_message"].startswith("the configuration has changed: ")
    assert "gone" in gone["error_message"]


@dataclass(slots=True)
class Hand:
    """Holds the lease that a life runs under."""

    lease: Lease | None = None

    def take(self, lease: Lease) -> None:
        self.lease = lease

    @property
    def held(self) -> Lease:
        assert self.lease is not None
        return self.lease


async def test_a_drained_stage_lets_every_agent_reach_a_commit_and_goes_on_elsewhere(
    clean_store: Store, tmp_path: Path
) -> None:
    async with open_world(
        clean_store, tmp_path / "effects", from_script(SCRIPT), stages=[crew("left", "right")]
    ) as world:
        hand = Hand()

        async def drain() -> None:
            hand.held.drain()

        Moment(world=world, models=frozenset({"left", "right"}), act=drain).begin()
        session_id = await world.submit()
        async with asyncio.timeout(30):
            await world.live(CuttingPool(world.store.pool), on_claimed=hand.take)
        assert await world.status(session_id) == "in_progress"
        await world.live_on(session_id)
        outcome = await read_outcome(world, session_id)
        asked = Counter(request.body["model"] for request in world.model.requests)
    assert outcome.session["status"] == "completed"
    assert asked == {"left": 1, "right": 1, "joiner": 1}


@dataclass(slots=False, kw_only=True)
class LostPrices(Prices):
    """The database goes away under one agent, once."""

    losses: int = 1

    def find_window(self, provider: Provider) -> int | None:
        if provider.model == "right" and self.losses:
            self.losses -= 1
            raise StoreUnavailable("gone")
        return super().find_window(provider)


async def test_agents_stop_at_their_next_commit_when_a_neighbour_cannot_go_on(
    clean_store: Store, tmp_path: Path
) -> None:
    looking = ScriptedTurn(text="I look.", calls=(ScriptedCall(name="deck.echo", arguments={"text": "dry"}),))
    script = {**SCRIPT, "left": [looking, *SCRIPT["left"]]}
    async with open_world(
        clean_store, tmp_path / "effects", from_script(script), stages=[crew("left", "right")]
    ) as plain:
        world = replace(plain, prices=LostPrices())
        session_id = await world.submit()
        await world.live(CuttingPool(world.store.pool))
        assert await world.status(session_id) == "in_progress"
        assert world.model.requests == []
        await world.live_on(session_id)
        outcome = await read_outcome(world, session_id)
        asked = Counter(request.body["model"] for request in world.model.requests)
    assert outcome.session["status"] == "completed"
    assert asked == {"left": 2, "right": 1, "joiner": 1}


async def test_a_lease_lost_by_one_agent_ends_the_work_of_all(clean_store: Store, tmp_path: Path) -> None:
    async with open_world(
        clean_store, tmp_path / "effects", from_script(SCRIPT), stages=[crew("left", "right")]
    ) as world:

        async def take_over() -> None:
            async with world.store.connect() as tx:
                await tx.execute("UPDATE session_feeds SET epoch = epoch + 1")

        moment = Moment(world=world, models=frozenset({"left", "right"}), act=take_over, held=frozenset({"right"}))
        moment.begin()
        await world.submit()
        async with asyncio.timeout(30):
            await world.live(CuttingPool(world.store.pool))
        async with world.store.connect() as tx:
            rows = await tx.fetch("SELECT status FROM agent_executions")
    assert [row["status"] for row in rows] == ["active", "active"]


async def test_a_cancelled_session_cancels_all_agents_at_work(clean_store: Store, tmp_path: Path) -> None:
    async with open_world(
        clean_store, tmp_path / "effects", from_script(SCRIPT), stages=[crew("left", "right")]
    ) as world:
        hand = Hand()
        session_id = await world.submit()

        async def cancel() -> None:
            async with world.store.begin() as tx:
                await request_cancel(tx, session_id)
            hand.held.stop(StopReason.CANCELLED)

        Moment(world=world, models=frozenset({"left", "right"}), act=cancel, held=frozenset({"left", "right"})).begin()
        async with asyncio.timeout(30):
            await world.live(CuttingPool(world.store.pool), on_claimed=hand.take)
        outcome = await read_outcome(world, session_id)
    assert outcome.session["status"] == "cancelled"
    assert [row["status"] for row in outcome.stages] == ["cancelled"]
    assert [row["status"] for row in outcome.executions] == ["cancelled", "cancelled"]


async def test_agents_that_all_run_out_of_time_make_a_session_that_did(clean_store: Store, tmp_path: Path) -> None:
    async with open_world(
        clean_store, tmp_path / "effects", from_script(SCRIPT), stages=[crew("left", "right")]
    ) as world:
        Moment(
            world=world, models=frozenset({"left", "right"}), act=do_nothing, held=frozenset({"left", "right"})
        ).begin()
        outcome = await run(replace(world, limits=Limits(first_chunk=0.2, timeouts_in_a_row=1)))
    assert (outcome.session["status"], outcome.stages[0]["status"]) == ("timed_out", "timed_out")
    assert [row["status"] for row in outcome.executions] == ["timed_out", "timed_out"]
    assert "2 of 2 agents did not succeed: watch timed_out: " in outcome.session["error_message"]


async def test_calls_of_agents_side_by_side_stand_in_their_own_conversations(
    clean_store: Store, tmp_path: Path
) -> None:
    looks = {
        model: [
            ScriptedTurn(
                text=f"I look {model}.",
                calls=tuple(ScriptedCall(name="deck.echo", arguments={"text": f"{model} {n}"}) for n in range(3)),
            ),
            ScriptedTurn(text=f"The {model} is dry."),
        ]
        for model in ("left", "right", "joiner")
    }
    async with open_world(
        clean_store, tmp_path / "effects", from_script(looks), stages=[crew("left", "right")]
    ) as world:
        session_id = await world.submit()
        await world.live_on(session_id)
        async with world.store.connect() as tx:
            await check_session(tx, session_id, world.effects())
            rows = await tx.fetch(
                "SELECT e.agent_index, m.sequence_number, t.content FROM messages m "
                "JOIN agent_executions e USING (execution_id) JOIN stages s ON s.stage_id = e.stage_id "
                "JOIN texts t ON t.session_id = m.session_id AND t.text_id = m.text_id "
                "WHERE s.stage_index = 1 AND m.sequence_number > 1 ORDER BY e.agent_index, m.sequence_number"
            )
    assert [(row["agent_index"], row["sequence_number"], row["content"]) for row in rows] == [
        (index, number, text)
        for index, model in enumerate(("left", "right"), start=1)
        for number, text in enumerate(
            [f"I look {model}.", *(f"{model} {n}" for n in range(3)), f"The {model} is dry."], start=2
        )
    ]
