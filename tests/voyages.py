"""Chains of several agents as a client meets them: real replicas, real tools, a model that answers each agent by name.

Everything is asked for and seen over HTTP and WebSocket.
"""

import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from websockets.asyncio.client import connect

from midwatch.domain.session import SessionStatus, WorkStatus
from midwatch.kit import json
from midwatch.llm.scripted import THE_END, choose_step
from tests.api.watcher import Watcher
from tests.fakes.mcp_process import fake_mcp_server
from tests.fakes.openai_server import Answer, Body, OpenAIServer, Reply, count_turns
from tests.replicas import Fleet, Replica, open_fleet
from tests.waiting import eventually

Json = dict[str, Any]
Parts = Mapping[str, Sequence[Reply]]

SUMMARIZER = "summarizer"
_ROLE = re.compile(r"You are ([\w-]+), an agent of Midwatch\.")
_QUICK = {
    "worker_count": 3,
    "poll_interval": "200ms",
    "poll_interval_jitter": "50ms",
    "heartbeat_interval": "10s",
    "graceful_shutdown_timeout": "1s",
}


def who_asks(body: Body) -> str:
    found = _ROLE.search(body["messages"][0]["content"])
    return SUMMARIZER if found is None else found[1]


def by_agent(parts: Parts) -> Answer:
    """The n-th reply of whoever asks, to a conversation in which it was answered n times."""

    def answer(body: Body) -> Reply:
        name, number = who_asks(body), count_turns(body)
        replies = parts.get(name)
        if replies is None:
            step = choose_step({}, part=name, number=number)
            assert not callable(step)
            return step
        return replies[number] if number < len(replies) else THE_END

    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Voyage:
    model: OpenAIServer
    fleet: Fleet

    def asked(self, name: str) -> list[Body]:
        """What the model was sent by this agent."""
        received = [*self.model.requests, *self.model.summaries]
        return [each.body for each in received if who_asks(each.body) == name]

    async def hear_from(self, *names: str) -> None:
        """Each of them has asked the model something."""
        await eventually(lambda: all(self.asked(name) for name in names))


def chain(name: str, *stages: Json, **settings: Any) -> Json:
    return {name: {"alert_types": [name], "stages": list(stages), **settings}}


def stage(name: str, *agents: str, **settings: Any) -> Json:
    return {"name": name, "agents": [{"name": agent} for agent in agents], **settings}


def write_voyage(
    folder: Path, *, base_url: str, chains: Json, agents: Mapping[str, Json], queue: Json, more: Json
) -> None:
    """JSON is YAML too."""
    config = {
        "defaults": {"llm_provider": "fake", "alert_type": next(iter(chains))},
        "mcp_servers": {"deck": describe_server(folder)},
        "agents": dict(agents),
        "agent_chains": chains,
        "queue": {**_QUICK, **queue},
        "safety": {"control_level": "autonomous"},
        **more,
    }
    provider = {"type": "openai", "model": "fake", "base_url": base_url}
    files = {"midwatch.yaml": config, "llm-providers.yaml": {"llm_providers": {"fake": provider}}}
    for name, content in files.items():
        (folder / name).write_text(json.encode_text(content), encoding="utf-8")


def describe_server(folder: Path, **settings: Any) -> Json:
    transport = fake_mcp_server("--effects", str(folder / "effects"), "--log-reads").transport.model_dump(mode="json")
    kinds = {"read": ["echo", "lookup", "fail", "slow_read", "pid"], "write": ["restart", "slow_write"]}
    return {"transport": transport, "kinds": kinds, "run_as": "self", **settings}


@asynccontextmanager
async def open_voyage(
    folder: Path,
    *,
    model: OpenAIServer,
    dsn: str,
    chains: Json,
    agents: Mapping[str, Json],
    queue: Json | None = None,
    more: Json | None = None,
) -> AsyncGenerator[Voyage]:
    write_voyage(folder, base_url=model.base_url, chains=chains, agents=agents, queue=queue or {}, more=more or {})
    async with open_fleet(folder, config_dir=folder, environ={"DATABASE_URL": dsn}) as fleet:
        yield Voyage(model=model, fleet=fleet)


async def submit(
    replica: Replica,
    alert_type: str,
    *,
    data: str = "The bilge pump runs hot.",
    headers: Mapping[str, str] | None = None,
    **fields: Any,
) -> str:
    body = {"alert_type": alert_type, "data": data, **fields}
    answer = await replica.http.post("/api/v1/alerts", json=body, headers=headers)
    assert answer.status_code == 202, answer.text
    return answer.json()["session_id"]


async def read(replica: Replica, session_id: str, path: str = "") -> Any:
    answer = await replica.http.get(f"/api/v1/sessions/{session_id}{path}")
    assert answer.is_success, answer.text
    return answer.json()


async def ended(replica: Replica, session_id: str) -> Json:
    """The session, once it has come to its end."""

    async def look() -> Json | None:
        session = await read(replica, session_id)
        return session if SessionStatus(session["status"]).is_terminal else None

    return await eventually(look, within=60)


async def cancel(replica: Replica, session_id: str) -> httpx.Response:
    return await replica.http.post(f"/api/v1/sessions/{session_id}/cancel")


async def ask(replica: Replica, session_id: str, content: str) -> str:
    """The stage in which it is answered."""
    path = f"/api/v1/sessions/{session_id}/chat/messages"
    answer = await replica.http.post(path, json={"content": content}, headers={"X-Forwarded-User": "jonah"})
    assert answer.status_code == 202, answer.text
    return answer.json()["stage_id"]


@asynccontextmanager
async def watching(replica: Replica, channel: str) -> AsyncGenerator[Watcher]:
    """Subscribed already."""
    base = replica.http.base_url
    url = f"ws://{base.host}:{base.port}/api/v1/ws"
    async with connect(url, proxy=None, compression=None, max_queue=None) as socket:
        watcher = Watcher(socket)
        assert (await watcher.hear())["type"] == "connection.established"
        await watcher.subscribe(channel)
        yield watcher


async def hear_each(watcher: Watcher, *wanted: Json) -> list[Json]:
    """Everything until each of these was heard. What is not stored may come before or after what is."""
    heard: list[Json] = []
    left = list(wanted)
    while left:
        heard.append(await watcher.hear())
        left = [each for each in left if not each.items() <= heard[-1].items()]
    return heard


def of_type(events: Sequence[Json], kind: str) -> list[Json]:
    return [event for event in events if event["type"] == kind]


def statuses(stages: Sequence[Json]) -> dict[str, WorkStatus]:
    return {each["stage_name"]: WorkStatus(each["status"]) for each in stages}
