"""Whole sessions whose provider misbehaves: each failed call leaves its row and its code, and never the key."""

import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from midwatch.config.agents import Agent
from midwatch.config.limits import Limits
from midwatch.domain.session import SessionStatus
from midwatch.llm.scripted import ScriptedTurn
from midwatch.store.engine import Store
from tests.documents import list_failure_codes
from tests.fakes.llm_service import serve_models
from tests.fakes.protocols import ALL, KEY_VARIABLE, OPENAI_ADDRESS, Detour, Spoken
from tests.fakes.provider_server import Answer, Body, ProviderServer, Reply, serve_dialect
from tests.fakes.tls_server import refuse_plainly, serve_connections, write_certificate
from tests.fakes.troubles import SECRET, TROUBLES, UNREACHABLE
from tests.invariants import check_end
from tests.lives import SERVER, World, open_world

pytestmark = pytest.mark.usefixtures("one_loop")

LIMITS = Limits(first_chunk=20, gap=20, call=20, iteration=20)
"""Shorter than any provider is left alone, so that nobody waits for one here."""
FINAL = frozenset({"credentials", "invalid_request", "content_filter"})
DONE = ScriptedTurn(text="The pump ran dry.")

over_both = pytest.mark.parametrize("transport", ["here", "grpc"])
spoken_by_all = pytest.mark.parametrize("spoken", ALL, ids=lambda spoken: spoken.name)


@dataclass
class Script:
    """What the provider does next."""

    reply: Reply = DONE

    def __call__(self, _: Body) -> Reply:
        return self.reply


@asynccontextmanager
async def open_faulty_world(
    store: Store, folder: Path, spoken: Spoken, *, answer: Answer, with_tools: bool = False
) -> AsyncGenerator[tuple[World, ProviderServer]]:
    async with (
        open_world(store, folder / "effects", lambda _: DONE) as plain,
        serve_dialect(answer, dialect=spoken.dialect) as server,
    ):
        agents = {"watch": Agent(mcp_servers=(SERVER,) if with_tools else ())}
        config = replace(plain.config, agents=agents, environ={KEY_VARIABLE: SECRET})
        yield replace(plain, config=config, limits=LIMITS, backoff=()), server


@asynccontextmanager
async def lead_to(world: World, spoken: Spoken, base_url: str, *, transport: str) -> AsyncGenerator[World]:
    """Over gRPC the key is the service's, and unknown here."""
    config = replace(world.config, providers={"model": spoken.entry(base_url)})
    async with httpx.AsyncClient(transport=Detour(base_url), timeout=20) as http:
        if transport == "here":
            yield replace(world, config=config, http=http)
            return
        addresses = (base_url, OPENAI_ADDRESS)
        async with serve_models(http, *addresses, environ=config.environ, backoff=world.backoff) as service:
            yield replace(world, config=replace(config, environ={}), http=http, remote=service.client)


async def read_failures(store: Store, session_id: UUID) -> list[tuple[str, str]]:
    """Of each failed call, the code in the timeline and the text in its row."""
    async with store.connect() as tx:
        codes = await tx.fetch(
            "SELECT metadata->>'code' AS code FROM timeline_events WHERE session_id = $1 "
            "AND event_type IN ('provider_retry', 'error') AND metadata ? 'provider' ORDER BY sequence_number",
            session_id,
        )
        rows = await tx.fetch(
            "SELECT error_message FROM llm_interactions WHERE session_id = $1 AND error_message IS NOT NULL "
            "ORDER BY interaction_id",
            session_id,
        )
        await check_end(tx, session_id)
    return [(code["code"], row["error_message"]) for code, row in zip(codes, rows, strict=True)]


async def read_everything(store: Store, session_id: UUID) -> str:
    """All texts of the session."""
    async with store.connect() as tx:
        texts = await tx.fetch("SELECT content FROM texts WHERE session_id = $1", session_id)
        session = await tx.fetchrow("SELECT s::text AS all FROM alert_sessions s WHERE session_id = $1", session_id)
    assert session is not None
    return "\n".join([session["all"], *(row["content"] for row in texts)])


async def check_failed(world: World, spoken: Spoken, *, code: str, text: str) -> None:
    session_id = await world.submit()
    await world.live_on(session_id)
    assert await world.status(session_id) is SessionStatus.FAILED
    failures = await read_failures(world.store, session_id)
    assert [failed for failed, _ in failures] == [code] * (1 if code in FINAL else 2), spoken.name
    assert code in list_failure_codes()
    assert all(text in message for _, message in failures)
    told = await read_everything(world.store, session_id)
    assert text in told
    assert SECRET not in told


@over_both
@spoken_by_all
async def test_every_failed_call_leaves_its_row_and_its_code(
    store: Store, tmp_path: Path, spoken: Spoken, transport: str
) -> None:
    script = Script()
    async with open_faulty_world(store, tmp_path, spoken, answer=script) as (faulty, server):
        for trouble in TROUBLES:
            script.reply = trouble.reply(spoken)
            code, text = trouble.expect(spoken)
            # Anew each time: a service remembers for all sessions that a provider is down.
            async with lead_to(faulty, spoken, spoken.address(server), transport=transport) as world:
                world.http.timeout = trouble.timeout
                await check_failed(world, spoken, code=code, text=text.removeprefix("attempts: "))


@over_both
@spoken_by_all
async def test_whoever_cannot_be_reached_leaves_a_row_too(
    store: Store, tmp_path: Path, spoken: Spoken, transport: str
) -> None:
    certificate = write_certificate(tmp_path / "certificate.pem")
    async with (
        open_faulty_world(store, tmp_path, spoken, answer=Script()) as (faulty, _),
        serve_connections(refuse_plainly) as plain,
        serve_connections(refuse_plainly, certificate=certificate) as secure,
    ):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            for unreachable in UNREACHABLE:
                address = unreachable.host.format(idle=unused.getsockname()[1], plain=plain, secure=secure)
                async with lead_to(faulty, spoken, f"{address}/v1", transport=transport) as world:
                    await check_failed(world, spoken, code="max_retries", text=unreachable.text)


def nest(depth: int) -> str:
    return '{"text": ' + "[" * depth + "]" * depth + "}"


CALLS = {
    "two with one id": [("twin", '{"text": "a"}'), ("twin", '{"text": "b"}')],
    "no JSON": [("c", '{"text": ')],
    "no object": [("c", "[1]")],
    "nested too deep": [("c", nest(400))],
}


@over_both
@pytest.mark.parametrize(
    "spoken", [spoken for spoken in ALL if spoken.name != "gemini"], ids=lambda spoken: spoken.name
)
async def test_odd_calls_are_answered_and_the_session_goes_on(
    store: Store, tmp_path: Path, spoken: Spoken, transport: str
) -> None:
    """Gemini's calls come as JSON that is read with the event; there an odd one is a trouble of the provider."""
    remaining: list[Reply] = [*(spoken.call(calls, "deck.echo") for calls in CALLS.values()), DONE]
    async with (
        open_faulty_world(store, tmp_path, spoken, answer=lambda _: remaining.pop(0), with_tools=True) as (odd, server),
        lead_to(odd, spoken, spoken.address(server), transport=transport) as world,
    ):
        session_id = await world.submit()
        await world.live_on(session_id)
        assert await world.status(session_id) is SessionStatus.COMPLETED
    async with store.connect() as tx:
        rows = await tx.fetch(
            "SELECT state, verdict->>'refused' AS refused FROM tool_calls WHERE session_id = $1 ORDER BY call_id",
            session_id,
        )
    refused = ("refused", "INVALID_INPUT")
    assert [tuple(row) for row in rows] == [("finished", None), ("finished", None), refused, refused, refused]
    assert await read_failures(store, session_id) == []
