"""Replicas of a chaos run: each with a wire, a database role, a folder of configuration and a log of its own."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit, urlunsplit

import httpx
import psutil

from midwatch.kit import json
from tests.chaos.ground import Database
from tests.chaos.nursery import Nursery
from tests.chaos.plan import Plan, PlannedSession, PlannedStage, Tool, Transport
from tests.chaos.wires import Wire
from tests.replicas import Replica
from tests.waiting import eventually

_NOT_INHERITED = frozenset({"DATABASE_URL", "DB_HOST", "MIDWATCH_HOME", "CONFIG_DIR", "LOG_LEVEL"})
_TOOLS = Path(__file__).with_name("tool_server.py")
_PASSWORD = "chaos"
_MOST_STARTS = 5
_LONGEST_DRAIN = 30.0
_NEVER_ENDED = 999
_GONE: list[dict[str, Any]] = [{}]
_QUEUE = {
    "worker_count": 3,
    "poll_interval": "200ms",
    "poll_interval_jitter": "50ms",
    "heartbeat_interval": "600ms",
    "graceful_shutdown_timeout": "1s",
}
"""A lease of 1.8 s, and a run that stops itself after 1.2 s without a renewal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """Where the servers of a run are; the first part of a path says who comes."""

    model: str
    tools: str


@dataclass(slots=True, kw_only=True)
class Member:
    """One replica, from its start to its end."""

    name: str
    slot: str
    role: str
    replica: Replica
    fate: str = ""
    """What was done to it, once nothing more can be expected of it."""
    is_frozen: bool = False

    @property
    def is_alive(self) -> bool:
        return self.replica.process.returncode is None and not self.fate


@dataclass(slots=True, kw_only=True)
class Crew:
    plan: Plan
    folder: Path
    dsn: str
    database: Database
    wires: Mapping[str, Wire]
    nursery: Nursery
    addresses: Addresses
    members: list[Member] = field(default_factory=list[Member])

    @property
    def living(self) -> list[Member]:
        return [member for member in self.members if member.is_alive]

    @property
    def answering(self) -> list[Member]:
        return [member for member in self.living if not member.is_frozen]

    def find(self, name: str) -> Member:
        return next(member for member in self.members if member.name == name)

    def find_by_role(self, role: str) -> Member:
        return next(member for member in self.members if member.role == role)

    async def start(self, *slots: str) -> None:
        async with asyncio.TaskGroup() as group:
            for slot in slots:
                group.create_task(self._start(slot))

    async def drain(self, member: Member) -> int:
        """Its exit status; one that does not end has none."""
        member.fate = "drained"
        member.replica.process.send_signal(signal.SIGTERM)
        try:
            return await member.replica.exit_status(within=_LONGEST_DRAIN)
        except TimeoutError:
            await member.replica.kill()
            return _NEVER_ENDED

    async def kill(self, member: Member) -> None:
        member.fate = "killed"
        await member.replica.kill()

    async def close(self) -> None:
        for member in self.members:
            await member.replica.kill()
            await member.replica.http.aclose()

    def list_leftovers(self) -> list[psutil.Process]:
        """Tool servers of this run's replicas: their command names the run's folder."""
        marks = {str(self.folder / "effects"), str(self.folder)}
        return [
            process
            for process in psutil.process_iter(["cmdline", "status"])
            if process.info["cmdline"]
            and str(_TOOLS) in process.info["cmdline"]
            and marks & set(process.info["cmdline"])
            and process.info["status"] != psutil.STATUS_ZOMBIE
        ]

    async def _start(self, slot: str) -> None:
        """Started again when it finds no database, as whatever looks after it would do."""
        for _ in range(_MOST_STARTS):
            number = 1 + sum(member.slot == slot for member in self.members)
            name = f"{slot}{number}"
            role = f"{urlsplit(self.dsn).path[1:]}_{name}"
            replica = await self._spawn(name, self.wires[slot], role)
            member = Member(name=name, slot=slot, role=role, replica=replica)
            self.members.append(member)
            serving = await eventually(lambda member=member: _see_serving(member), within=60)
            if serving is not _GONE:
                replica.http.base_url = httpx.URL(serving[0]["url"])
                return
            if member.fate:
                return
            member.fate = "not started"
        raise AssertionError(f"no replica could be started in slot {slot}")

    async def _spawn(self, name: str, wire: Wire, role: str) -> Replica:
        config = self.folder / name
        config.mkdir()
        write_config(config, self.plan, name=name, folder=self.folder, addresses=self.addresses)
        dsn = await wire.reach(await self._make_role(role))
        log = self.folder / f"{name}.log"
        inherited = {key: value for key, value in os.environ.items() if key not in _NOT_INHERITED}
        network = wire.host.rpartition(".")[0] + ".0/24"
        command = [
            *("midwatch", "serve", "--config-dir", str(config), "--port", "0", "--host", wire.host),
            *("--no-authentication", "--trusted-proxy", network),
        ]
        environ = {**inherited, "DATABASE_URL": dsn, "POD_ID": name, "LOG_FORMAT": "json"}
        log.touch()
        life = await self.nursery.bear(command, environ=environ, log=log, space=wire.space)
        process = cast("Process", life)
        http = httpx.AsyncClient(timeout=15, headers={"X-Forwarded-User": "jonah"}, trust_env=False)
        return Replica(name=name, process=process, log=log, http=http)

    async def _make_role(self, role: str) -> str:
        connection = await self.database.connect(self.dsn)
        try:
            await connection.execute(f"CREATE ROLE \"{role}\" SUPERUSER LOGIN PASSWORD '{_PASSWORD}'")
        finally:
            await connection.close()
        parts = urlsplit(self.dsn)
        return urlunsplit(parts._replace(netloc=f"{role}:{_PASSWORD}@{parts.hostname}:{parts.port}"))


def _see_serving(member: Member) -> list[dict[str, Any]] | None:
    if member.replica.process.returncode is not None:
        return _GONE
    return member.replica.logged("serving")


def write_config(config: Path, plan: Plan, *, name: str, folder: Path, addresses: Addresses) -> None:
    """JSON is YAML too."""
    content = {
        "defaults": {"llm_provider": "fake", "alert_type": plan.sessions[0].tag},
        "mcp_servers": {
            server: describe_server(transport, name=name, folder=folder, addresses=addresses)
            for session in plan.sessions
            for server, transport in session.servers
        },
        "agents": {
            agent.name: {"mcp_servers": [server for server, _ in session.servers]}
            for session in plan.sessions
            for stage in session.stages
            for agent in stage.agents
        },
        "agent_chains": {session.tag: _describe_chain(session) for session in plan.sessions},
        "queue": {**_QUEUE, "max_concurrent_sessions": plan.cap},
        "safety": {"control_level": "autonomous"},
    }
    provider = {"type": "openai", "model": "fake", "base_url": f"{addresses.model}/{name}/v1"}
    files = {"midwatch.yaml": content, "llm-providers.yaml": {"llm_providers": {"fake": provider}}}
    for file, written in files.items():
        (config / file).write_text(json.encode_text(written), encoding="utf-8")


def _describe_chain(session: PlannedSession) -> dict[str, Any]:
    return {"alert_types": [session.tag], "stages": [_describe_stage(stage) for stage in session.stages]}


def _describe_stage(stage: PlannedStage) -> dict[str, Any]:
    agents = [{"name": agent.name} for agent in stage.agents]
    return {"name": stage.name, "agents": agents, "replicas": stage.replicas, "success_policy": stage.policy}


def describe_server(transport: Transport, *, name: str, folder: Path, addresses: Addresses) -> dict[str, Any]:
    common = {
        "kinds": {"read": [Tool.LOOK, Tool.SLOW_LOOK, Tool.DUMP], "write": [Tool.TURN, Tool.SLOW_TURN]},
        "summarization": {"size_threshold_tokens": 1000},
    }
    if transport is Transport.SHARED:
        return {"transport": {"type": "http", "url": f"{addresses.tools}/{name}/mcp"}, "shared": True, **common}
    arguments = [str(_TOOLS), "--effects", str(folder / "effects"), "--holds", str(folder / "holds"), "--replica", name]
    started = {"type": "stdio", "command": sys.executable, "args": arguments}
    isolation = "execution" if transport is Transport.PER_EXECUTION else "investigation"
    return {"transport": started, "isolation": isolation, "run_as": "self", **common}
