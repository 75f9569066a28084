"""Sees to it that every fault strikes where the plan says: at an event, never at a time."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from midwatch.domain.errors import StoreUnavailable
from midwatch.llm.scripted import ScriptedTurn
from midwatch.store.driver import Connection, unavailable_as_such
from tests.chaos.client import Client
from tests.chaos.fleet import Crew, Member
from tests.chaos.ground import Database
from tests.chaos.plan import Action, Place, Plan, PlannedFault
from tests.chaos.script import find_run, find_session, reply_to
from tests.chaos.witness import hold_faults, let_go, list_caught
from tests.fakes.mcp_process import read_effects
from tests.fakes.openai_events import list_events
from tests.fakes.openai_server import Body, OpenAIServer, Reply, Stream, count_turns
from tests.waiting import eventually

_POLL = 0.03
_LONGEST_ABSENCE = 14.0
_ALONE = 2.5
"""How long nobody is missed whom nobody could stand in for: longer than the lease."""

Release = Callable[[], Awaitable[None]]


@dataclass(slots=True, kw_only=True)
class Director:
    plan: Plan
    crew: Crew
    client: Client
    database: Database
    folder: Path
    group: asyncio.TaskGroup
    struck: dict[int, str] = field(default_factory=dict[int, str])
    """By fault: what happened."""
    exits: dict[str, int] = field(default_factory=dict[str, int])
    _asked: dict[int, int] = field(default_factory=dict[int, int])
    _restarting: asyncio.Lock = field(default_factory=asyncio.Lock)
    _acts: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])

    async def watch(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch_rows(), name="watch rows")
            group.create_task(self._watch_tools(), name="watch tools")

    async def finish(self) -> None:
        """Whoever was frozen or cut off is back, and whoever was to be replaced is."""
        while acts := [act for act in self._acts if not act.done()]:
            await asyncio.wait(acts)

    def answer(self, model: OpenAIServer, body: Body) -> Reply:
        turn = reply_to(self.plan, body)
        session = find_session(self.plan, body)
        for fault in self._due(Place.STREAM):
            if session is None or session.number != fault.session or find_run(body) is not fault.run:
                continue
            self._asked[fault.number] = self._asked.get(fault.number, 0) + 1
            if self._asked[fault.number] >= fault.nth:
                received = next(each for each in reversed(model.requests) if each.body is body)
                return self._stall(fault, turn, number=count_turns(body), name=received.path.split("/")[1])
        return turn

    def _stall(self, fault: PlannedFault, turn: ScriptedTurn, *, number: int, name: str) -> Stream:
        go_on = asyncio.Event()

        async def release() -> None:
            go_on.set()

        self._strike(fault, self.crew.find(name), release)
        events = list_events(turn, number=number)
        return Stream([*events[: fault.events], go_on, *events[fault.events :]])

    def _due(self, *places: Place) -> list[PlannedFault]:
        return [fault for fault in self.plan.faults if fault.number not in self.struck and fault.place in places]

    def _strike(self, fault: PlannedFault, member: Member, release: Release) -> None:
        self.struck[fault.number] = f"at {member.name}"
        self._acts.append(self.group.create_task(self._act(fault, member, release), name=f"fault {fault.number}"))

    async def _watch_rows(self) -> None:
        while True:
            with suppress(StoreUnavailable), unavailable_as_such():
                connection = await self.client.store.dedicated()
                try:
                    await self._watch_connection(connection)
                finally:
                    connection.terminate()
            await asyncio.sleep(_POLL)

    async def _watch_connection(self, connection: Connection) -> None:
        rows = [place for place in Place if place not in (Place.STREAM, Place.TOOL)]
        turns = asyncio.Lock()
        await hold_faults(connection, [fault.number for fault in self._due(*rows)])
        while True:
            async with turns:
                caught = await list_caught(connection)
            for fault in self._due(*rows):
                role = next((each.role for each in caught if each.fault == fault.number), None)
                if role is not None:

                    async def release(number: int = fault.number) -> None:
                        async with turns:
                            with suppress(StoreUnavailable), unavailable_as_such():
                                await let_go(connection, number)

                    self._strike(fault, self.crew.find_by_role(role), release)
            await asyncio.sleep(_POLL)

    async def _watch_tools(self) -> None:
        while due := self._due(Place.TOOL):
            begun = {effect["arguments"]["key"]: effect["replica"] for effect in read_effects(self.folder / "effects")}
            for fault in due:
                if fault.key in begun:

                    async def release(key: str = fault.key) -> None:
                        (self.folder / "holds" / key).unlink(missing_ok=True)

                    self._strike(fault, self.crew.find(begun[fault.key]), release)
            await asyncio.sleep(_POLL)

    async def _act(self, fault: PlannedFault, member: Member, release: Release) -> None:
        try:
            if fault.action in (Action.CANCEL, Action.CANCEL_AGENT, Action.CANCEL_CALL):
                await self._cancel(fault, release)
            elif fault.action in (Action.FAST_RESTART, Action.IMMEDIATE_RESTART):
                await self._restart_database(fault.action)
            elif not member.is_alive or member.is_frozen:
                self.struck[fault.number] += ", which was gone already"
            else:
                await self._harm(fault, member, release)
        finally:
            await release()

    async def _harm(self, fault: PlannedFault, member: Member, release: Release) -> None:
        match fault.action:
            case Action.KILL:
                await self.crew.kill(member)
                await release()
                if fault.replaced or not self.crew.answering:
                    await self.crew.start(member.slot)
            case Action.KILL_ALL:
                await self._kill_all(release)
            case Action.KILL_DRAINING:
                await self._kill_draining(member, release)
            case Action.FREEZE:
                await self._freeze(fault, member, release)
            case Action.CUT:
                await self._cut(fault, member, release)
            case _:
                await self._roll(fault, member, release)

    async def _kill_all(self, release: Release) -> None:
        killed = self.crew.living
        for member in killed:
            await self.crew.kill(member)
        await release()
        await self.crew.start(*sorted({member.slot for member in killed}))

    async def _kill_draining(self, member: Member, release: Release) -> None:
        member.fate = "killed"
        member.replica.process.send_signal(signal.SIGTERM)
        await eventually(lambda: member.replica.logged("draining"))
        await self.crew.kill(member)
        await release()
        await self.crew.start(member.slot)

    async def _cancel(self, fault: PlannedFault, release: Release) -> None:
        asking = self.group.create_task(self.client.cancel(self.client.sessions[fault.session], fault.action))
        # What waits at the fault may hold the very rows that the wish has to wait for.
        await asyncio.wait([asking], timeout=0.3)
        await release()
        self.struck[fault.number] += f", {await asking}"

    async def _restart_database(self, action: Action) -> None:
        how = signal.SIGINT if action is Action.FAST_RESTART else signal.SIGQUIT
        async with self._restarting:
            await self.database.stop(how)
            await self.database.start()

    async def _freeze(self, fault: PlannedFault, member: Member, release: Release) -> None:
        claims = await self._count_claims(fault)
        member.is_frozen = True
        member.replica.freeze()
        await release()
        await self._be_missed(fault, claims)
        if member.is_alive:
            member.replica.thaw()
        member.is_frozen = False

    async def _cut(self, fault: PlannedFault, member: Member, release: Release) -> None:
        claims = await self._count_claims(fault)
        wire = self.crew.wires[member.slot]
        member.is_frozen = True
        await wire.cut()
        await release()
        await self._be_missed(fault, claims)
        await wire.heal()
        member.is_frozen = False

    async def _be_missed(self, fault: PlannedFault, claims: int) -> None:
        """Until somebody else has gone on with the session, or has brought it to its end."""

        async def is_missed() -> bool:
            gone_on = await self._count_claims(fault) > claims
            return gone_on and (fault.replaced or not await self._is_held(fault))

        with suppress(TimeoutError):
            await eventually(is_missed, within=_LONGEST_ABSENCE if self.crew.answering else _ALONE)

    async def _count_claims(self, fault: PlannedFault) -> int:
        query = "SELECT count(*) FROM chaos_claims WHERE session_id = $1::text::uuid"
        return await self.client.fetchval(query, self.client.sessions.get(fault.session)) or 0

    async def _is_held(self, fault: PlannedFault) -> bool:
        query = "SELECT expires_at IS NOT NULL FROM session_leases WHERE session_id = $1::text::uuid"
        return await self.client.fetchval(query, self.client.sessions.get(fault.session)) is not False

    async def _roll(self, fault: PlannedFault, member: Member, release: Release) -> None:
        """The first is asked to stop before what it waits at goes on."""
        both = fault.action is Action.DEPLOY
        await self._replace(member, release)
        for other in [each for each in self.crew.answering if both and each.slot != member.slot]:
            if other.is_alive and not other.is_frozen:
                await self._replace(other, release)

    async def _replace(self, member: Member, release: Release) -> None:
        asking = self.group.create_task(self.crew.drain(member))
        # It has the signal once the task has begun to wait for its end.
        await asyncio.sleep(0)
        await release()
        self.exits[member.name] = await asking
        await self.crew.start(member.slot)
