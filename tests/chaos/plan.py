"""What one seed stands for: sessions, their chains and tools, questions about them, and what goes wrong and where.

Pure data made by one pure function: the same seed is the same plan, on every machine.
"""

import dataclasses
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class Transport(StrEnum):
    PER_EXECUTION = "stdio, one process for each agent"
    PER_INVESTIGATION = "stdio, one process for each session"
    SHARED = "streamable HTTP, one connection for each replica"


class Tool(StrEnum):
    LOOK = "look"
    SLOW_LOOK = "slow_look"
    DUMP = "dump"
    TURN = "turn"
    SLOW_TURN = "slow_turn"


WRITES = frozenset({Tool.TURN, Tool.SLOW_TURN})
_SLOW = frozenset({Tool.SLOW_LOOK, Tool.SLOW_TURN})


class Run(StrEnum):
    ALERT = "alert"
    CHAT = "chat"


class Place(StrEnum):
    """Where a run is caught: in a statement or a commit, in the midst of an answer, or with a tool at work."""

    CLAIM = "inside the claim"
    HEARTBEAT = "inside a heartbeat"
    STAGE = "inside the transaction that begins a stage"
    EXECUTION = "inside the transaction that begins an agent's work"
    REPLY = "inside the commit of a reply"
    REPLIED = "after the commit of a reply, before its sender knows"
    STARTING = "inside the transaction that starts a write, before the fence"
    STARTED = "between started and dispatch"
    FINISHING = "inside the commit of a result"
    FINISHED = "after the commit of a result, before its sender knows"
    FENCE = "on the fence"
    STAGE_END = "inside the transaction that ends a stage"
    ENDING = "inside the terminal write"
    ENDED = "after the commit of the terminal write, before its sender knows"
    STREAM = "in the midst of a model's answer"
    TOOL = "while a tool is at work"


class Action(StrEnum):
    KILL = "kill -9"
    KILL_ALL = "kill -9 of all replicas at once, and others in their places"
    KILL_DRAINING = "SIGTERM, and kill -9 while it drains"
    FREEZE = "SIGSTOP for longer than the lease, then SIGCONT"
    DRAIN = "SIGTERM, and another in its place"
    DEPLOY = "SIGTERM to one after the other, with another in the place of each"
    CUT = "the network between the replica and the database goes away for longer than the lease"
    FAST_RESTART = "fast restart of the database"
    IMMEDIATE_RESTART = "immediate restart of the database"
    CANCEL = "a person cancels the session, or the question"
    CANCEL_AGENT = "a person cancels one agent"
    CANCEL_CALL = "a person cancels one call"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCall:
    server: str
    tool: Tool


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedAgent:
    name: str
    turns: tuple[tuple[PlannedCall, ...], ...]
    """The calls of each turn; after the last it concludes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStage:
    name: str
    agents: tuple[PlannedAgent, ...]
    replicas: int
    policy: str

    def list_members(self) -> list[tuple[str, PlannedAgent]]:
        """The agents by the names they are asked under."""
        if self.replicas == 1:
            return [(agent.name, agent) for agent in self.agents]
        return [(f"{agent.name}-{n}", agent) for agent in self.agents for n in range(1, self.replicas + 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSession:
    number: int
    servers: tuple[tuple[str, Transport], ...]
    stages: tuple[PlannedStage, ...]
    questions: tuple[tuple[tuple[PlannedCall, ...], ...], ...]
    """The calls of each turn of each answer."""

    @property
    def tag(self) -> str:
        return f"watch-s{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedFault:
    number: int
    session: int
    run: Run
    place: Place
    nth: int
    """The how manieth time that this session comes there."""
    key: str
    """Of the call that is at work, where that is the place."""
    events: int
    """How much of an answer has been said, where that is the place."""
    action: Action
    replaced: bool
    """Another replica is started in the place of one that was killed; one that is away comes back as soon as somebody
    stands in for it. Otherwise the run has come to its end by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    seed: int
    cap: int
    """Sessions that may run at once."""
    sessions: tuple[PlannedSession, ...]
    faults: tuple[PlannedFault, ...]

    def as_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def plan(seed: int) -> Plan:
    chance = random.Random(f"chaos {seed}")
    count = chance.choice((1, 1, 2, 2, 3))
    sessions = tuple(_plan_session(chance, number) for number in range(count))
    wanted = chance.choice((1, 1, 2, 2, 3, 4))
    # Now and then all of it befalls one session.
    stricken = (chance.choice(sessions),) if chance.random() < 0.3 else sessions
    cap = chance.choice((1, 2, 5))
    return Plan(seed=seed, cap=cap, sessions=sessions, faults=tuple(_plan_faults(chance, stricken, wanted)))


def name_call(tag: str, who: str, *, turn: int, index: int) -> str:
    """Arguments that no other call of a run has."""
    return f"{tag}.{who}.{turn}.{index}"


def name_question(number: int) -> str:
    return f"ask-q{number}"


def _plan_session(chance: random.Random, number: int) -> PlannedSession:
    transports = chance.sample(list(Transport), chance.choice((1, 1, 2)))
    servers = tuple((f"deck{number}{letter}", each) for letter, each in zip("xy", transports, strict=False))
    names = [name for name, _ in servers]
    stages = tuple(_plan_stage(chance, names, place=(number, index)) for index in range(chance.choice((1, 1, 2, 3))))
    questions = tuple(_plan_turns(chance, names, most=2) for _ in range(chance.choice((0, 0, 1, 2))))
    return PlannedSession(number=number, servers=servers, stages=stages, questions=questions)


def _plan_stage(chance: random.Random, servers: Sequence[str], *, place: tuple[int, int]) -> PlannedStage:
    session, index = place
    replicas = chance.choice((1, 1, 1, 2, 3))
    count = chance.choice((1, 2, 3)) if replicas == 1 else 1
    # Of several who change one thing all but one are refused, and which one depends on the machine.
    writers = count if chance.random() < 0.2 else 1
    agents = tuple(
        PlannedAgent(
            name=f"Hand{session}{index}{letter}",
            turns=_plan_turns(chance, servers, most=3, tools=_TOOLS if number < writers and replicas == 1 else _READS),
        )
        for number, letter in enumerate("ABC"[:count])
    )
    return PlannedStage(name=f"watch {index}", agents=agents, replicas=replicas, policy=chance.choice(("all", "any")))


_READS = (Tool.LOOK, Tool.LOOK, Tool.SLOW_LOOK, Tool.DUMP)
_TOOLS = (*_READS, Tool.TURN, Tool.TURN, Tool.TURN, Tool.SLOW_TURN, Tool.SLOW_TURN)


def _plan_turns(
    chance: random.Random, servers: Sequence[str], *, most: int, tools: Sequence[Tool] = _TOOLS
) -> tuple[tuple[PlannedCall, ...], ...]:
    return tuple(_plan_calls(chance, servers, tools) for _ in range(chance.randint(1, most)))


def _plan_calls(chance: random.Random, servers: Sequence[str], tools: Sequence[Tool]) -> tuple[PlannedCall, ...]:
    return tuple(
        PlannedCall(server=chance.choice(servers), tool=chance.choice(tools))
        for _ in range(chance.choice((1, 1, 2, 3)))
    )


_ACTIONS = (
    *[Action.KILL] * 4,
    Action.KILL_ALL,
    Action.KILL_DRAINING,
    *[Action.FREEZE] * 3,
    *[Action.CUT] * 3,
    *[Action.DRAIN] * 2,
    Action.DEPLOY,
    *[Action.FAST_RESTART] * 2,
    *[Action.IMMEDIATE_RESTART] * 2,
    *[Action.CANCEL] * 2,
    Action.CANCEL_AGENT,
    Action.CANCEL_CALL,
)
_OFTEN = (Place.TOOL, Place.TOOL, Place.TOOL, Place.STREAM, Place.STREAM, Place.STARTED, Place.STARTED)
_MOST_TIMES = {
    Place.CLAIM: 2,
    Place.HEARTBEAT: 2,
    Place.STAGE: 3,
    Place.EXECUTION: 3,
    Place.FENCE: 9,
    Place.STAGE_END: 2,
    Place.ENDING: 1,
    Place.ENDED: 1,
    Place.STARTING: 2,
    Place.STARTED: 2,
    Place.STREAM: 5,
    Place.TOOL: 1,
}


def _plan_faults(chance: random.Random, sessions: Sequence[PlannedSession], count: int) -> Iterator[PlannedFault]:
    for number in range(1, count + 1):
        session = chance.choice(sessions)
        run = Run.CHAT if session.questions and chance.random() < 0.3 else Run.ALERT
        place = chance.choice((*Place, *_OFTEN))
        slow = list(_list_slow(session, run))
        if place is Place.TOOL and not slow:
            place = Place.FENCE
        yield PlannedFault(
            number=number,
            session=session.number,
            run=run,
            place=place,
            nth=chance.randint(1, _MOST_TIMES.get(place, 4)),
            key=chance.choice(slow) if place is Place.TOOL else "",
            events=chance.randint(0, 4),
            action=chance.choice(_ACTIONS),
            replaced=chance.random() < 0.7,
        )


def _list_slow(session: PlannedSession, run: Run) -> Iterator[str]:
    """Calls that can be held while they are at work."""
    for who, turns in _list_parts(session, run):
        for turn, calls in enumerate(turns):
            for index, call in enumerate(calls):
                if call.tool in _SLOW:
                    # Writes more often: with them there is more to get wrong.
                    often = 3 if call.tool in WRITES else 1
                    yield from [name_call(session.tag, who, turn=turn, index=index)] * often


def _list_parts(session: PlannedSession, run: Run) -> Iterator[tuple[str, tuple[tuple[PlannedCall, ...], ...]]]:
    if run is Run.CHAT:
        yield from ((name_question(number), turns) for number, turns in enumerate(session.questions))
        return
    for stage in session.stages:
        yield from ((who, agent.turns) for who, agent in stage.list_members())
