"""What left for a model: every byte as the provider received it, no secret among them, and forgotten in time."""

import asyncio
import hashlib
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from midwatch.config.mcp import OURSELVES
from midwatch.domain.errors import ModelUnavailable
from midwatch.kit import json
from midwatch.kit.ids import new_id
from midwatch.llm.scripted import ScriptedCall, ScriptedTurn
from midwatch.upkeep.expire_ledger import expire_ledger
from tests.api.edge import SUMMARY, Edge, open_edge, running, write_config
from tests.api.shelf import SESSIONS, wait_for_end
from tests.fakes.leaky_mcp_server import FAKE_SERVER, LEAKS, TOOLS, secret_of
from tests.fakes.protocols import CHAT, CLAUDE, GOOGLE, Spoken
from tests.fakes.provider_server import Answer, ProviderServer, Reply, Status, hold_turn, in_order, serve_dialect
from tests.safety.requirements import requirement
from tests.waiting import eventually

KEY = "key-that-is-only-a-header"
CONCLUSION = ScriptedTurn(text="The deck is dry.", thinking="All was told.")
ALL = pytest.mark.parametrize("spoken", [CHAT, CLAUDE, GOOGLE], ids=lambda spoken: spoken.name)


def look(tool: str = "tell") -> ScriptedTurn:
    return ScriptedTurn(text=f"I try {tool}.", calls=(ScriptedCall(name=f"leaky.{tool}", arguments={}),))


def misuse() -> ScriptedTurn:
    """The answer tells what the tool takes."""
    return ScriptedTurn(text="I err.", calls=(ScriptedCall(name="leaky.tell", arguments={"token": [7]}),))


@dataclass(frozen=True, slots=True, kw_only=True)
class Harbour:
    """A service and the provider it asks."""

    edge: Edge
    provider: ProviderServer

    async def run(self, alert: str = "The bilge pump runs hot.") -> str:
        session_id = await self.edge.submit(alert)
        await wait_for_end(self.edge, session_id)
        return session_id

    async def list_sent(self, session_id: str) -> list[dict[str, Any]]:
        answer = await self.edge.http.get(f"{SESSIONS}/{session_id}/outbound")
        assert answer.status_code == 200, answer.text
        return answer.json()["requests"]

    async def read(self, session_id: str, request_id: str) -> bytes:
        answer = await self.edge.http.get(f"{SESSIONS}/{session_id}/outbound/{request_id}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
        return answer.content

    async def read_all(self, session_id: str) -> list[bytes]:
        return [await self.read(session_id, each["id"]) for each in await self.list_sent(session_id)]

    @property
    def received(self) -> list[bytes]:
        return [request.data for request in self.provider.requests]


def configure(folder: Path, spoken: Spoken, provider: ProviderServer) -> None:
    transport = {"type": "stdio", "command": sys.executable, "args": [str(FAKE_SERVER)]}
    main = {
        "defaults": {
            "llm_provider": "main",
            "alert_type": "deck",
            "runbook": f"Log in with {secret_of('runbook')} and look.",
        },
        "mcp_servers": {"leaky": {"transport": transport, "kinds": {"read": ["*"]}, "run_as": OURSELVES}},
        "agents": {"Mate": {"mcp_servers": ["leaky"]}},
        "agent_chains": {
            "deck": {
                "alert_types": ["deck"],
                "stages": [{"name": "watch", "agents": [{"name": "Mate"}]}],
                # Of these sessions only the investigation leaves for a provider.
                "executive_summary_provider": "script",
            }
        },
        "queue": {"worker_count": 2, "heartbeat_interval": "10s", "graceful_shutdown_timeout": "1s"},
    }
    entry = spoken.entry(spoken.address(provider)).model_dump(mode="json", exclude_defaults=True)
    entry |= {"type": spoken.entry("http://127.0.0.1").type}
    script = {"type": "scripted", "script": "script.yaml"}
    files = {
        "midwatch.yaml": main,
        "llm-providers.yaml": {"llm_providers": {"main": entry, "script": script}},
        "script.yaml": {"agents": {"ExecSummaryAgent": [SUMMARY]}},
    }
    for name, content in files.items():
        (folder / name).write_text(json.encode_text(content), encoding="utf-8")
    (folder / ".env").write_text(f"KEY={KEY}\n", encoding="utf-8")


@asynccontextmanager
async def open_harbour(
    folder: Path, dsn: str, answer: Answer, *, spoken: Spoken = CHAT, **serving: Any
) -> AsyncGenerator[Harbour]:
    async with serve_dialect(answer, dialect=spoken.dialect, **serving) as provider:
        configure(folder, spoken, provider)
        async with open_edge(folder, dsn) as edge, running(edge):
            yield Harbour(edge=edge, provider=provider)


def by_turn(spoken: Spoken, turns: Sequence[Reply]) -> Answer:
    return spoken.dialect.by_turn(turns)


@requirement("outbound:as-it-left", "outbound:no-secrets")
@ALL
async def test_what_is_rebuilt_is_what_the_provider_received_and_holds_no_secret(
    dsn: str, tmp_path: Path, spoken: Spoken
) -> None:
    turns = [*map(look, TOOLS), misuse(), *map(look, TOOLS), CONCLUSION]
    async with open_harbour(tmp_path, dsn, by_turn(spoken, turns), spoken=spoken) as harbour:
        session_id = await harbour.run(f"The pump was called with {secret_of('alert')} and runs hot.")
        listed = await harbour.list_sent(session_id)
        rebuilt = await harbour.read_all(session_id)
    assert rebuilt == harbour.received
    assert len(rebuilt) == len(turns)
    assert [(each["bytes"], each["sha256"], each["rebuilt"]) for each in listed] == [
        (len(body), hashlib.sha256(body).hexdigest(), True) for body in harbour.received
    ]
    assert b"INVALID_INPUT" in rebuilt[-1]
    for canary in (secret_of(leak) for leak in (*LEAKS, "alert", "runbook")):
        assert not any(canary.encode() in body for body in rebuilt), canary
    assert not any(KEY.encode() in body for body in rebuilt)
    # Masked, and not merely missing.
    assert {b"[MASKED_" in body for body in rebuilt} == {True}
    assert rebuilt[-1].count(b"[MASKED_GITHUB_TOKEN]") >= 2 + 2 * len(TOOLS)


@ALL
async def test_the_ledger_grows_with_the_conversation_and_not_with_its_square(
    dsn: str, tmp_path: Path, spoken: Spoken
) -> None:
    turns = [*[look()] * 15, CONCLUSION]
    async with open_harbour(tmp_path, dsn, by_turn(spoken, turns), spoken=spoken) as harbour:
        session_id = await harbour.run()
        assert await harbour.read_all(session_id) == harbour.received
        async with harbour.edge.store.connect() as tx:
            stored = await tx.fetchval("SELECT sum(octet_length(literal)) FROM outbound_requests")
    sizes = [len(body) for body in harbour.received]
    assert sum(sizes) > 5 * sizes[-1]
    # What is written more than once is the little that stands around what is new.
    assert stored < sizes[-1] + 100 * len(sizes)


@requirement("outbound:every-attempt")
async def test_every_attempt_counts_and_a_call_shows_the_last_of_them(dsn: str, tmp_path: Path) -> None:
    refused = Status(status=503, headers=(("retry-after", "0"),))
    async with open_harbour(tmp_path, dsn, in_order([refused, CONCLUSION])) as harbour:
        session_id = await harbour.run()
        first, second = await harbour.list_sent(session_id)
        assert await harbour.read_all(session_id) == harbour.received
        path = f"{SESSIONS}/{session_id}/trace/llm/{second['interaction_id']}"
        detail = (await harbour.edge.http.get(path)).json()
        body = await harbour.edge.http.get(f"{path}/outbound")
    assert first["interaction_id"] == second["interaction_id"]
    assert first["sent_at"] < second["sent_at"]
    assert detail["outbound"] == second
    assert (second["provider"], second["model"], second["path"]) == ("main", CHAT.model, "/v1/chat/completions")
    assert second["host"] == harbour.provider.base_url.removeprefix("http://").removesuffix("/v1")
    assert (second["parts"], second["rebuilt"]) == (2, True)
    assert body.content == harbour.received[-1]


@requirement("outbound:every-attempt")
async def test_calls_that_fail_for_good_are_in_the_ledger(dsn: str, tmp_path: Path) -> None:
    error = ModelUnavailable("no", code="credentials", retryable=False)
    async with open_harbour(tmp_path, dsn, by_turn(CHAT, [ScriptedTurn(error=error)])) as harbour:
        session_id = await harbour.run()
        assert (await harbour.edge.show(session_id))["status"] == "failed"
        assert await harbour.read_all(session_id) == harbour.received
    assert len(harbour.received) == 1


@requirement("outbound:every-attempt")
async def test_a_call_that_was_cancelled_is_in_the_ledger_without_an_interaction(dsn: str, tmp_path: Path) -> None:
    hold = hold_turn(1, release=asyncio.Event())
    async with open_harbour(tmp_path, dsn, by_turn(CHAT, [look(), CONCLUSION]), before_turn=hold) as harbour:
        session_id = await harbour.edge.submit()
        await eventually(lambda: len(harbour.received) == 2)
        assert (await harbour.edge.http.post(f"{SESSIONS}/{session_id}/cancel")).is_success
        assert (await wait_for_end(harbour.edge, session_id))["status"] == "cancelled"
        listed = await harbour.list_sent(session_id)
        assert await harbour.read_all(session_id) == harbour.received
    assert [each["interaction_id"] is None for each in listed] == [False, True]


async def test_a_model_that_sends_nothing_leaves_nothing_to_show(dsn: str, tmp_path: Path) -> None:
    write_config(tmp_path)
    async with open_edge(tmp_path, dsn) as edge, running(edge):
        session_id = await edge.submit()
        await wait_for_end(edge, session_id)
        stage, _ = (await edge.http.get(f"{SESSIONS}/{session_id}/trace")).json()["stages"]
        (item,) = stage["executions"][0]["llm_interactions"]
        path = f"{SESSIONS}/{session_id}/trace/llm/{item['id']}"
        assert (await edge.http.get(path)).json()["outbound"] is None
        assert (await edge.http.get(f"{path}/outbound")).status_code == 404
        assert (await edge.http.get(f"{SESSIONS}/{session_id}/outbound")).json() == {"requests": []}
        assert (await edge.http.get(f"{SESSIONS}/{session_id}/outbound/{new_id()}")).status_code == 404
        assert (await edge.http.get(f"{SESSIONS}/{new_id()}/outbound")).status_code == 404


@requirement("outbound:as-it-left")
async def test_bytes_that_were_changed_in_the_database_are_not_shown_as_sent(dsn: str, tmp_path: Path) -> None:
    async with open_harbour(tmp_path, dsn, by_turn(CHAT, [look(), CONCLUSION])) as harbour:
        session_id = await harbour.run()
        _, last = await harbour.list_sent(session_id)
        async with harbour.edge.store.connect() as tx:
            await tx.execute(
                "UPDATE outbound_requests SET literal = set_byte(literal, 5, 33) WHERE request_id = $1",
                UUID(last["id"]),
            )
        listed = await harbour.list_sent(session_id)
        answer = await harbour.edge.http.get(f"{SESSIONS}/{session_id}/outbound/{last['id']}")
    assert [each["rebuilt"] for each in listed] == [True, False]
    assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


@requirement("outbound:forgotten")
async def test_what_was_sent_is_forgotten_after_thirty_days_an_execution_at_a_time(dsn: str, tmp_path: Path) -> None:
    async with open_harbour(tmp_path, dsn, by_turn(CHAT, [look(), CONCLUSION])) as harbour:
        old, new = await harbour.run(), await harbour.run()
        interaction = (await harbour.list_sent(old))[0]["interaction_id"]
        await age(harbour.edge, old, timedelta(days=31))
        # The last request is young: the first is what it is told in terms of.
        await age(harbour.edge, new, timedelta(days=31), only_first=True)
        await expire_ledger(harbour.edge.store)
        assert await harbour.list_sent(old) == []
        assert [each["rebuilt"] for each in await harbour.list_sent(new)] == [True, True]
        answer = await harbour.edge.http.get(f"{SESSIONS}/{old}/trace/llm/{interaction}/outbound")
    assert (answer.status_code, answer.json()["code"]) == (410, "gone")


async def age(edge: Edge, session_id: str, by: timedelta, *, only_first: bool = False) -> None:
    async with edge.store.connect() as tx:
        await tx.execute(
            "UPDATE outbound_requests SET sent_at = sent_at - $2::interval WHERE session_id = $1 "
            "AND (base_id IS NULL OR NOT $3)",
            UUID(session_id),
            by,
            only_first,
        )
        await tx.execute(
            "UPDATE llm_interactions SET created_at = created_at - $2::interval WHERE session_id = $1",
            UUID(session_id),
            by,
        )
