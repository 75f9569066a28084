"""A scene for a fault: a scripted model, tools that log their effects, a database, and replicas that share them."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from midwatch.domain.session import SessionStatus
from midwatch.kit import json
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.store.driver import Row
from midwatch.store.engine import Store, open_store
from tests.fakes.mcp_process import fake_mcp_server, read_effects
from tests.fakes.openai_server import OpenAIServer, count_turns
from tests.replicas import Fleet, Replica, open_fleet
from tests.waiting import eventually

CONCLUSION = ScriptedTurn(text="The pump was restarted and runs cool.", thinking="Nothing more to do.")

READS = ("lookup", "slow_read", "poison")

_QUICK = {
    "worker_count": 2,
    "poll_interval": "200ms",
    "poll_interval_jitter": "50ms",
    "heartbeat_interval": "10s",
    "graceful_shutdown_timeout": "1s",
}
BRIEF = "1s"
"""A heartbeat for scenes in which somebody dies or freezes: a lease of 3 s, and a run that stops itself after 2 s.

In all others a machine that stalls for some seconds must not take a session away from anybody.
"""


def look(*keys: str, server: str = "deck") -> ScriptedTurn:
    """A turn that reads."""
    return ScriptedTurn(
        text="I look.", calls=tuple(ScriptedCall(name=f"{server}.lookup", arguments={"key": key}) for key in keys)
    )


def change(name: str, *, server: str = "deck") -> ScriptedTurn:
    """A turn that writes."""
    return ScriptedTurn(text="I act.", calls=(ScriptedCall(name=f"{server}.restart", arguments={"name": name}),))


def call(tool: str, **arguments: Any) -> ScriptedTurn:
    return ScriptedTurn(text="I call.", calls=(ScriptedCall(name=f"deck.{tool}", arguments=arguments),))


def write_config(
    folder: Path,
    *,
    base_url: str,
    queue: Mapping[str, Any] | None = None,
    servers: tuple[str, ...] = ("deck",),
    level: str = "autonomous",
) -> None:
    """JSON is YAML too."""
    transport = fake_mcp_server("--effects", str(folder / "effects"), "--log-reads").transport.model_dump(mode="json")
    kinds = {"read": list(READS), "write": ["restart", "slow_write"]}
    config = {
        "defaults": {"llm_provider": "fake", "alert_type": "deck"},
        "mcp_servers": {server: {"transport": transport, "kinds": kinds, "run_as": "self"} for server in servers},
        "agents": {"Mate": {"mcp_servers": list(servers)}},
        "agent_chains": {
            "deck": {"alert_types": ["deck"], "stages": [{"name": "watch", "agents": [{"name": "Mate"}]}]}
        },
        "queue": {**_QUICK, **(queue or {})},
        "safety": {"control_level": level},
    }
    provider = {"type": "openai", "model": "fake", "base_url": base_url}
    (folder / "midwatch.yaml").write_text(json.encode_text(config), encoding="utf-8")
    (folder / "llm-providers.yaml").write_text(
        json.encode_text({"llm_providers": {"fake": provider}}), encoding="utf-8"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    folder: Path
    model: OpenAIServer
    store: Store
    fleet: Fleet

    async def asked(self, turn: int, *, times: int = 1) -> None:
        """The model has been asked for this turn so many times, by anybody and for any session."""
        await eventually(lambda: len(self.requests(turn)) >= times)

    def requests(self, turn: int) -> list[dict[str, Any]]:
        return [request.body for request in self.model.requests if count_turns(request.body) == turn]

    def effects(self, tool: str, **arguments: Any) -> list[dict[str, Any]]:
        """What the tool did with these arguments, and perhaps others."""
        return [
            entry
            for entry in read_effects(self.folder / "effects")
            if entry["tool"] == tool and arguments.items() <= entry["arguments"].items()
        ]

    async def fetch(self, query: str, *args: object) -> list[Row]:
        async with self.store.connect() as tx:
            return list(await tx.fetch(query, *args))

    async def session(self, session_id: UUID) -> Row:
        """The rows of the session, its lease and its feed as one."""
        return (
            await self.fetch(
                "SELECT * FROM alert_sessions s JOIN session_leases l USING (session_id) "
                "JOIN session_feeds f USING (session_id) WHERE s.session_id = $1",
                session_id,
            )
        )[0]

    async def ended(self, session_id: UUID, *, within: float = 40) -> SessionStatus:
        async def look_for_end() -> SessionStatus | None:
            status = SessionStatus((await self.session(session_id))["status"])
            return status if status.is_terminal else None

        return await eventually(look_for_end, within=within)

    async def calls(self, session_id: UUID) -> list[Row]:
        return await self.fetch(
            "SELECT tool_name, state, error_code, epoch FROM tool_calls WHERE session_id = $1 "
            "ORDER BY message_sequence, call_index",
            session_id,
        )

    async def check_dispatches(self, session_id: UUID) -> None:
        """No write was sent twice, a refused call never, and no call again once its result was stored.

        Calls are told apart by their arguments: a script for this gives each its own.
        """
        calls = await self.fetch(
            "SELECT c.tool_name, c.arguments, c.state, m.created_at FROM tool_calls c "
            "LEFT JOIN mcp_interactions m ON m.session_id = c.session_id AND m.call_id = c.call_id "
            "WHERE c.session_id = $1",
            session_id,
        )
        assert calls
        for row in calls:
            tool = row["tool_name"].partition(".")[2]
            times = [
                entry["time"]
                for entry in self.effects(tool)
                if entry["arguments"] == json.decode(row["arguments"]) and entry.get("state") != "end"
            ]
            assert row["state"] in ("finished", "unknown", "refused")
            assert len(times) >= 1 or row["state"] != "finished"
            assert len(times) <= 1 or tool in READS
            assert not times or row["state"] != "refused"
            assert row["created_at"] is None or max(times) <= row["created_at"].timestamp()

    async def living_owner(self, session_id: UUID) -> Replica | None:
        pod = (await self.session(session_id))["pod_id"]
        living = (replica for replica in self.fleet.replicas if replica.process.returncode is None)
        return next((replica for replica in living if replica.name == pod), None)

    async def owner_and_other(self, session_id: UUID) -> tuple[Replica, Replica]:
        """Of two replicas, the one that runs the session first."""
        owner = await eventually(lambda: self.living_owner(session_id))
        living = [replica for replica in self.fleet.replicas if replica.process.returncode is None]
        (other,) = [replica for replica in living if replica is not owner]
        return owner, other


@asynccontextmanager
async def open_scene(
    folder: Path,
    *,
    model: OpenAIServer,
    dsn: str,
    servers: tuple[str, ...] = ("deck",),
    level: str = "autonomous",
    **queue: Any,
) -> AsyncGenerator[Scene]:
    write_config(folder, base_url=model.base_url, queue=queue, servers=servers, level=level)
    async with (
        open_store(lambda: dsn) as store,
        open_fleet(folder, config_dir=folder, environ={"DATABASE_URL": dsn}) as fleet,
    ):
        yield Scene(folder=folder, model=model, store=store, fleet=fleet)
