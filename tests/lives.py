"""Investigations run in this process, one life of a replica after another, against a real database and real tools."""

import os
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx

from midwatch.config.agents import Agent
from midwatch.config.builtins import AGENTS
from midwatch.config.chains import Chain, Stage, StageAgent
from midwatch.config.defaults import Defaults
from midwatch.config.limits import Limits
from midwatch.config.llm import OpenAiProvider
from midwatch.config.load import Config
from midwatch.config.mcp import Kinds
from midwatch.config.queue import Queue
from midwatch.config.safety import Safety
from midwatch.domain.errors import StoreUnavailable
from midwatch.domain.safety import ControlLevel
from midwatch.domain.session import SessionStatus
from midwatch.investigation.chat import run_chat
from midwatch.investigation.means import Means
from midwatch.investigation.session import run_session
from midwatch.kit.ids import new_id
from midwatch.kit.owned import OwnedTasks
from midwatch.llm.gateway import Gateway, Remote
from midwatch.llm.http import new_http_client
from midwatch.llm.prices import Prices
from midwatch.llm.retry import BACKOFF
from midwatch.queue.claim import Claimant
from midwatch.queue.lease import Lease, LeaseTimes
from midwatch.store.engine import Store
from midwatch.store.sessions import NewSession, insert_session
from midwatch.telemetry.metrics import UNMETERED, Meters
from midwatch.telemetry.tracing import UNTRACED, Tracer
from midwatch.timeline.flush import Flusher
from tests.fakes.cutting_pool import CuttingPool, Death, Harm
from tests.fakes.mcp_process import fake_mcp_server, read_effects
from tests.fakes.openai_server import Answer, OpenAIServer, serve
from tests.invariants import CallKey, call_key, count_effects

SERVER = "deck"
_KINDS = Kinds(read=("echo", "fail", "slow_read"), write=("restart", "slow_write"))
_MOST_LIVES = 10

Plan = Mapping[int, Harm]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one life left behind: which calls were over, and which effects had been seen."""

    settled: frozenset[CallKey]
    effects: Counter[CallKey]


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    store: Store
    http: httpx.AsyncClient
    model: OpenAIServer
    effects_file: Path
    config: Config
    limits: Limits = field(default_factory=Limits)
    backoff: tuple[float, ...] = BACKOFF
    prices: Prices = field(default_factory=Prices)
    remote: Remote | None = None
    """The LLM service, if models are asked through one."""
    meters: Meters = UNMETERED
    tracer: Tracer = UNTRACED

    def effects(self) -> list[dict[str, Any]]:
        return read_effects(self.effects_file)

    async def submit(self, *, selected: Sequence[str] = ()) -> UUID:
        session_id = new_id()
        (chain,) = self.config.chains.values()
        new = NewSession(
            session_id=session_id,
            alert_type="test",
            alert_data="The pump is hot.",
            chain_id="chain",
            chain=chain.model_dump(mode="json"),
            author=None,
            selected_resources=selected,
        )
        async with self.store.connect() as tx:
            await insert_session(tx, new)
        return session_id

    async def live(self, pool: CuttingPool, *, on_claimed: Callable[[Lease], None] = lambda _: None) -> None:
        """One replica claims the session and runs it, until it has ended or the replica has died."""
        store = replace(self.store, pool=pool)
        try:
            async with OwnedTasks() as owned:
                means = self._means(store, owned)
                claimant = Claimant(
                    store=store,
                    owner=f"pod:{new_id()}",
                    pod_id="pod",
                    cap=100,
                    times=LeaseTimes(),
                    on_cancelled=means.calls.cancel,
                )
                lease = await claimant.claim()
                if lease is not None:
                    on_claimed(lease)
                    await lease.hold(store, partial(run_session, means=means))
        except* (Death, StoreUnavailable):
            pass

    async def answer(self, pool: CuttingPool) -> None:
        """One replica claims a question and answers it, until it has ended or the replica has died."""
        store = replace(self.store, pool=pool)
        try:
            async with OwnedTasks() as owned:
                means = self._means(store, owned)
                claimant = Claimant(
                    store=store,
                    owner=f"pod:{new_id()}",
                    pod_id="pod",
                    cap=100,
                    times=LeaseTimes(),
                    on_cancelled=means.calls.cancel,
                )
                lease = await claimant.claim_question()
                if lease is not None:
                    await lease.hold(store, partial(run_chat, means=means))
        except* (Death, StoreUnavailable):
            pass

    async def live_on(self, session_id: UUID, plans: Sequence[Plan] = (), *, reads_count: bool = False) -> list[Told]:
        """Life after life, each with its own plan of harm, the last ones unharmed, until the session has ended."""
        told: list[Told] = []
        for number in range(_MOST_LIVES):
            plan: Plan = plans[number] if number < len(plans) else {}
            await self.live(CuttingPool(self.store.pool, plan, reads_count))
            told.append(await self._look(session_id))
            if (await self.status(session_id)).is_terminal:
                return told
            await self.expire()
        raise AssertionError("the session did not come to an end")

    async def status(self, session_id: UUID) -> SessionStatus:
        async with self.store.connect() as tx:
            status = await tx.fetchval("SELECT status FROM alert_sessions WHERE session_id = $1", session_id)
        return SessionStatus(status)

    async def expire(self, *, deadlines: bool = True) -> None:
        """Time passes: leases run out, and so do the deadlines of changes that nobody knows the outcome of."""
        async with self.store.connect() as tx:
            await tx.execute("UPDATE session_leases SET expires_at = clock_timestamp() WHERE expires_at IS NOT NULL")
            if deadlines:
                await tx.execute("UPDATE open_changes SET deadline = clock_timestamp()")
                await tx.execute("UPDATE tool_calls SET deadline = clock_timestamp() WHERE deadline IS NOT NULL")

    async def _look(self, session_id: UUID) -> Told:
        async with self.store.connect() as tx:
            rows = await tx.fetch(
                "SELECT tool_name, arguments FROM tool_calls WHERE session_id = $1 "
                "AND state IN ('finished', 'refused', 'unknown')",
                session_id,
            )
        keys = (call_key(row["tool_name"], row["arguments"]) for row in rows)
        return Told(settled=frozenset(key for key in keys if key), effects=count_effects(self.effects()))

    def _means(self, store: Store, owned: OwnedTasks) -> Means:
        return Means(
            store=store,
            flusher=Flusher(store),
            config=self.config,
            gateway=Gateway(
                http=self.http,
                environ=self.config.environ,
                folder=self.effects_file.parent,
                backoff=self.backoff,
                remote=self.remote,
            ),
            prices=self.prices,
            owned=owned,
            environ=os.environ,
            secret_names=frozenset(),
            limits=self.limits,
            meters=self.meters,
            tracer=self.tracer,
        )


@asynccontextmanager
async def open_world(
    store: Store, effects_file: Path, answer: Answer, *, stages: Sequence[Stage] = ()
) -> AsyncGenerator[World]:
    async with serve(answer) as model, new_http_client() as http:
        config = _configure(model.base_url, effects_file, stages or (stage("look"),))
        yield World(store=store, http=http, model=model, effects_file=effects_file, config=config)


def stage(name: str, *, model: str = "model", max_iterations: int = 20) -> Stage:
    agent = StageAgent(name="watch", llm_provider=model, max_iterations=max_iterations)
    return Stage(name=name, agents=(agent,))


def _list_models(stages: Sequence[Stage]) -> Iterator[str]:
    for each in stages:
        yield from (agent.llm_provider or "model" for agent in each.agents)
        if each.synthesis is not None and each.synthesis.llm_provider is not None:
            yield each.synthesis.llm_provider


def _configure(base_url: str, effects_file: Path, stages: Sequence[Stage]) -> Config:
    server = fake_mcp_server("--effects", str(effects_file), "--log-reads").model_copy(update={"kinds": _KINDS})
    models = list(dict.fromkeys(_list_models(stages)))
    return Config(
        mcp_servers={SERVER: server},
        agents={"watch": Agent(mcp_servers=(SERVER,)), **AGENTS},
        chains={"chain": Chain(alert_types=("test",), stages=tuple(stages), llm_provider=models[0])},
        providers={name: OpenAiProvider(type="openai", model=name, base_url=base_url) for name in models},
        defaults=Defaults(),
        queue=Queue(),
        safety=Safety(control_level=ControlLevel.AUTONOMOUS),
        tarsy=False,
        safety_mode_explicit=True,
        warnings=(),
        folder=effects_file.parent,
        environ={},
    )
