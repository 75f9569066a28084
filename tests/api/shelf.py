"""Sessions put on the shelf by hand, for tests of those who read them, and waiting for those that run."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from uuid import UUID

from midwatch.domain.session import SessionStatus
from midwatch.kit.ids import new_id
from midwatch.store.engine import Store
from midwatch.store.sessions import NewSession, insert_session
from tests.api.edge import Edge
from tests.waiting import eventually

SESSIONS = "/api/v1/sessions"
NOON = datetime(2025, 1, 1, 12, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelved:
    alert: str = "The pump is hot."
    alert_type: str = "deck"
    chain_id: str = "deck"
    author: str | None = None
    status: SessionStatus = SessionStatus.COMPLETED
    minutes: int = 0
    """After noon."""
    seconds: int = 1
    """How long it took."""


async def shelve(store: Store, shelved: Shelved) -> str:
    session_id = new_id()
    new = NewSession(
        session_id=session_id,
        alert_type=shelved.alert_type,
        alert_data=shelved.alert,
        chain_id=shelved.chain_id,
        chain={"stages": [{}, {}]},
        author=shelved.author,
    )
    created = NOON + timedelta(minutes=shelved.minutes)
    started = None if shelved.status is SessionStatus.PENDING else created
    ended = created + timedelta(seconds=shelved.seconds) if shelved.status.is_terminal else None
    async with store.begin() as tx:
        await insert_session(tx, new)
        await tx.execute(
            "UPDATE alert_sessions SET status = $2, created_at = $3, started_at = $4, completed_at = $5 "
            "WHERE session_id = $1",
            session_id,
            shelved.status,
            created,
            started,
            ended,
        )
    return str(session_id)


async def write_on(store: Store, session_id: str, **texts: str) -> None:
    """Gives a session a text in its timeline, or an analysis."""
    for kind, content in texts.items():
        text_id = new_id()
        async with store.begin() as tx:
            await tx.execute(
                "INSERT INTO texts (session_id, text_id, content) VALUES ($1, $2, $3)",
                UUID(session_id),
                text_id,
                content,
            )
            if kind == "final_analysis":
                await tx.execute(
                    "UPDATE alert_sessions SET final_analysis_text_id = $2 WHERE session_id = $1",
                    UUID(session_id),
                    text_id,
                )
            else:
                await tx.execute(
                    "INSERT INTO timeline_events (event_id, session_id, sequence_number, event_type, status, text_id) "
                    "SELECT $1, $2, count(*), 'llm_response', 'completed', $3 FROM timeline_events",
                    new_id(),
                    UUID(session_id),
                    text_id,
                )


async def keep_sent(
    store: Store, session_id: str, interaction_id: str, *, execution_id: str, body: bytes = b'{"messages":[]}'
) -> str:
    """As if this had left for a model; the id of the request."""
    request_id = new_id()
    async with store.connect() as tx:
        await tx.execute(
            "INSERT INTO outbound_requests (sent_at, size, tail, session_id, execution_id, request_id, interaction_id, "
            "sha256, provider, model, host, path, heads, literal) "
            "VALUES (clock_timestamp(), $1, 0, $2, $3, $4, $5, $6, 'main', 'model', 'localhost', '/v1', '{}', $7)",
            len(body),
            UUID(session_id),
            UUID(execution_id),
            request_id,
            UUID(interaction_id),
            sha256(body).digest(),
            body,
        )
    return str(request_id)


async def wait_for_end(edge: Edge, session_id: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        session = await edge.show(session_id)
        return session if SessionStatus(session["status"]).is_terminal else None

    return await eventually(look)
