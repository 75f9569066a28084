"""A whole pipeline, told in golden files: what clients read, what they are sent, what models and tools are asked.

Two agents side by side, a synthesis, replicas, a synthesis, one agent that acts, a summary, and a question afterwards.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from midwatch.domain.messages import Usage
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from tests.fakes.openai_server import Body, Reply, serve, stall_after
from tests.goldens import Normaliser, check_golden, render_document, render_lines
from tests.replicas import Replica
from tests.voyages import (
    Json,
    Voyage,
    ask,
    by_agent,
    chain,
    describe_server,
    hear_each,
    open_voyage,
    read,
    stage,
    submit,
    watching,
)

GOLDEN = Path(__file__).with_name("golden") / "pipeline"
SUMMARY = ScriptedTurn(
    text="A stuck valve ran the bilge pump dry; it was restarted.", usage=Usage(input_tokens=70, output_tokens=9)
)


def say(text: str, *, thinking: str = "", tokens: int = 50) -> ScriptedTurn:
    return ScriptedTurn(text=text, thinking=thinking, usage=Usage(input_tokens=tokens, output_tokens=tokens // 10))


def call(*calls: tuple[str, Json], text: str, thinking: str = "") -> ScriptedTurn:
    return ScriptedTurn(
        text=text,
        thinking=thinking,
        calls=tuple(ScriptedCall(name=name, arguments=arguments) for name, arguments in calls),
        usage=Usage(input_tokens=20, output_tokens=4),
    )


PARTS: dict[str, list[Reply]] = {
    "Bosun": [
        call(
            ("deck.echo", {"text": "the valve is stuck; password=hunter2-of-the-night-watch"}),
            # Side by side: the slower one is told of last.
            ("deck.slow_read", {"seconds": 0.5}),
            text="I look at the valve, and then wait.",
            thinking="The valve is the likeliest cause.",
        ),
        say("The valve is stuck.", thinking="That settles it."),
    ],
    "Stoker": [
        call(("engine.fail", {"message": "no such gauge"}), text="I read the gauge."),
        call(("engine.lookup", {"key": "pump"}), text="Then the log.", thinking="The gauge is not there."),
        say("The engine's log is quiet."),
    ],
    "summarizer": [say("Nothing to tell of the pump.", tokens=300)],
    "SynthesisAgent": [say("One cause: a stuck valve.", thinking="They agree.", tokens=200)],
    "Mate-1": [call(("deck.echo", {"text": "port is dry"}), text="Port."), say("Port is dry.")],
    "Mate-2": [call(("deck.echo", {"text": "starboard is wet"}), text="Starboard."), say("Starboard is wet.")],
    "Captain": [
        call(
            ("deck.restart", {"name": "pump"}),
            ("deck.echo", {"text": "the pump runs"}),
            text="I restart the pump.",
            thinking="It ran dry.",
        ),
    ],
    "ChatAgent": [
        call(("deck.echo", {"text": "grease: none"}), text="I look at the grease.", thinking="Why was it stuck?"),
        say("Because nobody greased the valve."),
    ],
}
DECISION = say("A stuck valve ran the pump dry. I restarted it.")
STAGES = (
    stage("look", "Bosun", "Stoker"),
    stage("confirm", "Mate", replicas=2, success_policy="all"),
    stage("decide", "Captain"),
)
AGENTS: dict[str, Json] = {
    "Gate": {"mcp_servers": []},
    "Bosun": {"mcp_servers": ["deck"], "custom_instructions": "Look at valves first."},
    "Stoker": {"mcp_servers": ["engine"]},
    "Mate": {"mcp_servers": ["deck"]},
    "Captain": {"mcp_servers": ["deck"]},
}


def servers(folder: Path) -> Json:
    brief = {"size_threshold_tokens": 100, "summary_max_token_limit": 60}
    return {
        "deck": describe_server(folder, instructions="Decks are scrubbed at dawn."),
        "engine": describe_server(folder, summarization=brief),
    }


@dataclass(frozen=True, slots=True)
class Cues:
    """While the gate is closed another session holds the only place there is: nothing of ours goes unseen.

    The last words wait until some words were seen to stream.
    """

    gate: asyncio.Event = field(default_factory=asyncio.Event)
    words: asyncio.Event = field(default_factory=asyncio.Event)

    def parts(self) -> dict[str, list[Reply]]:
        captain = [*PARTS["Captain"], stall_after(DECISION, 2, release=self.words)]
        return {**PARTS, "Gate": [stall_after(say("Open."), 0, release=self.gate)], "Captain": captain}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Everything that was seen of one session."""

    detail: Json
    summary: Json
    timeline: list[Json]
    trace: Json
    heard: list[Json]
    llm: dict[str, Json]
    mcp: dict[str, Json]
    sent: dict[str, Body]
    """What the model's server received, by its hash."""
    names: Normaliser = field(default_factory=Normaliser)

    def executions(self) -> Iterator[tuple[Json, Json]]:
        for each in self.detail["stages"]:
            for execution in each["executions"]:
                yield each, execution


async def follow(voyage: Voyage, replica: Replica, cues: Cues) -> tuple[str, list[Json]]:
    """The session, and all that a subscriber was told of it."""
    await submit(replica, "gate")
    await voyage.hear_from("Gate")
    session_id = await submit(replica, "pipeline")
    async with watching(replica, f"session:{session_id}") as watcher:
        cues.gate.set()
        heard = await watcher.hear_until(type="stream.chunk")
        cues.words.set()
        heard += await watcher.hear_until(type="session.status", status="completed")
        stage_id = await ask(replica, session_id, "Why was it stuck?")
        over = {"stage_id": stage_id, "status": "completed"}
        heard += await hear_each(watcher, {"type": "stage.status", **over}, {"type": "execution.status", **over})
    return session_id, heard


async def record(voyage: Voyage, replica: Replica, session_id: str, heard: list[Json]) -> Record:
    trace = await read(replica, session_id, "/trace")
    executions = [each for stage in trace["stages"] for each in stage["executions"]]
    received = [*voyage.model.requests, *voyage.model.summaries]

    async def open_all(kind: str) -> dict[str, Json]:
        ids = [each["id"] for execution in executions for each in execution[f"{kind}_interactions"]]
        return {each: await read(replica, session_id, f"/trace/{kind}/{each}") for each in ids}

    return Record(
        detail=await read(replica, session_id),
        summary=await read(replica, session_id, "/summary"),
        timeline=await read(replica, session_id, "/timeline"),
        trace=trace,
        heard=heard,
        llm=await open_all("llm"),
        mcp=await open_all("mcp"),
        sent={sha256(each.data).hexdigest(): each.body for each in received},
    )


def name_everything(seen: Record) -> None:
    names, detail = seen.names, seen.detail
    names.name(detail["id"], "session")
    names.name(detail["chat_id"], "chat")
    for each in detail["stages"]:
        names.name(each["id"], f"stage {each['stage_name']}")
    for each, execution in seen.executions():
        names.name(execution["execution_id"], f"{execution['agent_name']} in {each['stage_name']}")


@dataclass(slots=True)
class Places:
    """Where an event stands in the telling: by stage, within it by agent, what is stored before what is not.

    Agents side by side speak in any order, and what is not stored may be overtaken by what is.
    """

    stages: dict[str, int]
    executions: dict[str, int]
    entries: dict[str, Json]
    """Of the timeline: an event that ends one does not say whose it is."""
    reached: float = 0

    def place(self, event: Json) -> tuple[float, int, bool]:
        known = self.entries.get(event.get("event_id", ""), event)
        stage_id, execution_id = known.get("stage_id"), known.get("execution_id")
        stage = self._stage(event, stage_id)
        return stage, self._agent(event, execution_id), "db_event_id" not in event

    def _stage(self, event: Json, stage_id: str | None) -> float:
        if "current_stage_index" in event:
            return event["current_stage_index"]
        if stage_id is None:
            return self.reached
        if event["type"] == "stage.status":
            self.reached = self.stages[stage_id] + (0 if event["status"] == "started" else 0.5)
        return self.stages[stage_id]

    def _agent(self, event: Json, execution_id: str | None) -> int:
        if execution_id is not None:
            return self.executions[execution_id]
        is_over = event["type"] == "stage.status" and event["status"] != "started"
        return _LAST if is_over else 0


_LAST = 99


def find_places(seen: Record) -> Places:
    return Places(
        stages={each["id"]: each["stage_index"] for each in seen.detail["stages"]},
        executions={execution["execution_id"]: execution["agent_index"] for _, execution in seen.executions()},
        entries={entry["event_id"]: entry for entry in seen.timeline},
    )


def tell_rest(seen: Record) -> Json:
    places = find_places(seen)
    timeline = sorted(seen.timeline, key=lambda entry: places.place({"type": "entry", **entry})[:2])
    return {"session": seen.detail, "summary": seen.summary, "timeline": timeline, "trace": seen.trace}


def tell_feed(seen: Record) -> list[Json]:
    """Pieces of a text, and that it has begun, are told only when the model takes its time: they are not shown."""
    places = find_places(seen)
    told = [event for event in seen.heard if "db_event_id" in event or "event_id" not in event]
    return sorted(told, key=places.place)


def tell_llm(seen: Record) -> list[Json]:
    return [
        {
            "stage": stage["stage_name"],
            "agent": execution["agent_name"],
            **_tell_question(seen, seen.llm[each["id"]]),
        }
        for stage in seen.trace["stages"]
        for execution in stage["executions"]
        for each in execution["llm_interactions"]
    ]


def _tell_question(seen: Record, detail: Json) -> Json:
    sent = seen.sent[detail["outbound"]["sha256"]]
    return {
        "interaction_type": detail["interaction_type"],
        "tools": [tool["function"]["name"] for tool in sent.get("tools", ())],
        "messages": sent["messages"],
        "thinking": detail["thinking_content"],
        "response": detail["llm_response"],
        "tokens": [detail["input_tokens"], detail["output_tokens"]],
    }


def tell_mcp(seen: Record) -> list[Json]:
    fields = ("interaction_type", "server_name", "tool_name", "tool_arguments", "tool_result", "error_message")
    return [
        {
            "stage": stage["stage_name"],
            "agent": execution["agent_name"],
            **{name: seen.mcp[each["id"]][name] for name in fields},
            "available_tools": [tool["name"] for tool in seen.mcp[each["id"]]["available_tools"] or ()],
        }
        for stage in seen.trace["stages"]
        for execution in stage["executions"]
        for each in execution["mcp_interactions"]
    ]


def check_numbers(seen: Record) -> None:
    """What the golden files leave out because it differs: stored events without a gap, a timeline that only rises."""
    stored = [event["db_event_id"] for event in seen.heard if "db_event_id" in event]
    assert stored == list(range(1, len(stored) + 1))
    places = [entry["sequence_number"] for entry in seen.timeline]
    assert places == sorted(set(places))
    assert set(places) <= set(stored)


def check_pieces(seen: Record) -> None:
    """The pieces of each text are its beginning, and come between its announcement and its end."""
    wholes = {entry["event_id"]: entry["content"] for entry in seen.timeline}
    pieces: dict[str, str] = {}
    over: set[str] = set()
    for event in seen.heard:
        if event["type"] == "stream.chunk":
            assert event["event_id"] not in over
            pieces[event["event_id"]] = pieces.get(event["event_id"], "") + event["delta"]
        elif event["type"] == "timeline_event.completed":
            over.add(event["event_id"])
    assert pieces
    assert all(wholes[event_id].startswith(text) for event_id, text in pieces.items())


async def test_a_pipeline_is_told_alike_to_readers_subscribers_models_and_tools(dsn: str, tmp_path: Path) -> None:
    cues = Cues()
    chains = {**chain("pipeline", *STAGES), **chain("gate", stage("gate", "Gate"))}
    async with (
        serve(by_agent(cues.parts()), summary=SUMMARY) as model,
        open_voyage(
            tmp_path,
            model=model,
            dsn=dsn,
            chains=chains,
            agents=AGENTS,
            queue={"max_concurrent_sessions": 1},
            more={"mcp_servers": servers(tmp_path)},
        ) as voyage,
    ):
        (replica,) = await voyage.fleet.start("only")
        session_id, heard = await follow(voyage, replica, cues)
        seen = await record(voyage, replica, session_id, heard)
    check_numbers(seen)
    check_pieces(seen)
    name_everything(seen)
    told: list[tuple[str, Any]] = [
        ("rest.json", tell_rest(seen)),
        ("websocket.jsonl", tell_feed(seen)),
        ("llm.json", tell_llm(seen)),
        ("mcp.json", tell_mcp(seen)),
    ]
    for name, value in told:
        clean = seen.names.clean(value)
        check_golden(GOLDEN / name, render_lines(clean) if name.endswith("l") else render_document(clean))
