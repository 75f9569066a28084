"""One run of a plan, from an empty database to the history of all that happened in it."""

import asyncio
import random
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from midwatch.store.engine import Store, open_store
from tests.chaos.client import Client
from tests.chaos.director import Director
from tests.chaos.fleet import Addresses, Crew, Member
from tests.chaos.ground import SLOTS, Ground
from tests.chaos.history import History, read_tables
from tests.chaos.listeners import Listeners, open_listeners
from tests.chaos.plan import Place, Plan, PlannedSession
from tests.chaos.watchers import Watchers, open_watchers
from tests.chaos.witness import install_witness
from tests.fakes.mcp_process import read_effects
from tests.fakes.openai_server import CHAT_COMPLETIONS, Body, OpenAIServer, Reply
from tests.waiting import eventually

_TOOLS = Path(__file__).with_name("tool_http_server.py")
_RECOVERY = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    history: History
    struck: dict[int, str]


async def perform(plan: Plan, *, ground: Ground, folder: Path) -> Outcome:
    (folder / "holds").mkdir()
    for fault in plan.faults:
        if fault.place is Place.TOOL:
            (folder / "holds" / fault.key).touch()
    async with (
        ground.own_database(f"chaos_{plan.seed}") as dsn,
        open_store(lambda: dsn) as store,
        _serve_tools(folder, ground.wires.servers) as tools,
        _serve_model(ground.wires.servers) as model,
    ):
        async with store.connect() as tx:
            await install_witness(tx, plan)
        crew = Crew(
            plan=plan,
            folder=folder,
            dsn=dsn,
            database=ground.database,
            wires=ground.wires.wires,
            nursery=ground.nursery,
            addresses=Addresses(model=model.base_url, tools=tools),
        )
        try:
            return await _perform(plan, ground=ground, crew=crew, store=store, model=model)
        finally:
            for wire in ground.wires.wires.values():
                await wire.heal()
            await crew.close()


async def _perform(plan: Plan, *, ground: Ground, crew: Crew, store: Store, model: OpenAIServer) -> Outcome:
    client = Client(crew=crew, store=store, chance=random.Random(plan.seed))
    async with (
        open_listeners(store) as listeners,
        open_watchers(crew, random.Random(plan.seed)) as watchers,
        asyncio.TaskGroup() as group,
    ):
        director = Director(
            plan=plan, crew=crew, client=client, database=ground.database, folder=crew.folder, group=group
        )

        def answer(body: Body) -> Reply:
            return director.answer(model, body)

        model.answer = answer
        await crew.start(*SLOTS)
        watch = group.create_task(director.watch(), name="director")
        await _play(plan, client=client, readers=(listeners, watchers))
        watch.cancel()
        await director.finish()
        facts = await _see_recovery(crew)
        await _catch_up(client, listeners.heard, watchers.seen)
        facts["watched"] = {session: list(events) for session, events in watchers.seen.items()}
        facts["connections"] = await _count_connections(client, [each for each in crew.members if each.fate])
        exits = {**director.exits, **await _stop_all(crew)}
        history = await _collect(client, listeners, crew=crew, facts={**facts, "exits": exits})
    return Outcome(history=history, struck=director.struck)


async def _play(plan: Plan, *, client: Client, readers: tuple[Listeners, Watchers]) -> None:
    async def play(session: PlannedSession) -> None:
        # What does not come to its end is for the checker to say.
        with suppress(TimeoutError):
            session_id = await client.submit(session)
            for reader in readers:
                reader.follow(session_id)
            await client.see_session_end(session_id)
            for number in range(len(session.questions)):
                stage_id = await client.ask(session_id, number)
                if stage_id is None:
                    return
                await client.see_stage_end(stage_id)

    async with asyncio.TaskGroup() as group:
        for session in plan.sessions:
            group.create_task(play(session), name=session.tag)


async def _catch_up(client: Client, *read: Mapping[str, Sequence[object]]) -> None:
    """Until everybody has all there is. Who does not get there is for the checker to name."""

    async def look() -> bool:
        rows = await client.try_reading(lambda tx: tx.fetch("SELECT session_id::text, seq FROM session_feeds"))
        return rows is not None and all(
            len(events[row["session_id"]]) >= row["seq"]
            for row in rows
            for events in read
            if row["session_id"] in events
        )

    with suppress(TimeoutError):
        await eventually(look, within=_RECOVERY)


async def _see_recovery(crew: Crew) -> dict[str, Any]:
    crashed = [each.name for each in crew.members if each.replica.process.returncode is not None and not each.fate]
    return {"crashed": crashed, "health": {member.name: await _see_health(member) for member in crew.living}}


async def _see_health(member: Member) -> dict[str, Any]:
    seen: dict[str, Any] = {}

    async def look() -> bool:
        try:
            seen.update((await member.replica.http.get("/health")).json())
        except httpx.HTTPError as error:
            seen.update(status=repr(error))
        return seen["status"] == "healthy" and seen["checks"]["worker_pool"]["busy_slots"] == 0

    with suppress(TimeoutError):
        await eventually(look, within=_RECOVERY)
    return seen


async def _count_connections(client: Client, members: list[Member]) -> dict[str, int]:
    """Of the dead, once a while has passed in which the database can notice that they are."""
    names = {member.role: member.name for member in members}
    query = "SELECT usename, count(*) AS n FROM pg_stat_activity WHERE usename = ANY($1) GROUP BY 1"
    left: dict[str, int] = {}

    async def look() -> bool:
        left.clear()
        rows = await client.try_reading(lambda tx: tx.fetch(query, list(names)))
        left.update({names[row["usename"]]: row["n"] for row in rows or ()})
        return rows is not None and not left

    with suppress(TimeoutError):
        await eventually(look, within=_RECOVERY)
    return left


async def _stop_all(crew: Crew) -> dict[str, int]:
    living = crew.living
    async with asyncio.TaskGroup() as group:
        stopping = {member.name: group.create_task(crew.drain(member)) for member in living}
    return {name: task.result() for name, task in stopping.items()}


async def _collect(client: Client, listeners: Listeners, *, crew: Crew, facts: dict[str, Any]) -> History:
    gone = await _count_connections(client, crew.members)
    with suppress(TimeoutError):
        await eventually(lambda: not crew.list_leftovers(), within=60)
    async with client.store.connect() as tx:
        tables = await read_tables(tx)
    return History(
        **tables,
        **{**facts, "connections": facts["connections"] | gone},
        cap=crew.plan.cap,
        accepted=list(client.sessions.values()),
        questions=client.questions,
        cancels=client.cancels,
        server_errors=client.server_errors,
        heard={session: list(events) for session, events in listeners.heard.items()},
        effects=read_effects(crew.folder / "effects"),
        leftovers=[" ".join(process.info["cmdline"]) for process in crew.list_leftovers()],
    )


@asynccontextmanager
async def _serve_model(host: str) -> AsyncGenerator[OpenAIServer]:
    model = OpenAIServer(dialect=CHAT_COMPLETIONS, answer=lambda _: (_ for _ in ()).throw(AssertionError))
    listener = await asyncio.start_server(model.serve_connection, host, 0, limit=2**20)
    model.base_url = f"http://{host}:{listener.sockets[0].getsockname()[1]}"
    try:
        yield model
    finally:
        listener.close()
        await model.close()
        await listener.wait_closed()


@asynccontextmanager
async def _serve_tools(folder: Path, host: str) -> AsyncGenerator[str]:
    options = ("--effects", str(folder / "effects"), "--holds", str(folder / "holds"), "--host", host)
    process = await asyncio.create_subprocess_exec(sys.executable, str(_TOOLS), *options, stdout=PIPE)
    try:
        assert process.stdout is not None
        yield f"http://{host}:{int(await process.stdout.readline())}"
    finally:
        process.kill()
        await process.wait()
        process._transport.close()  # pyright: ignore - asyncio has no public way to close its pipes
