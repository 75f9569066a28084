"""What left this machine for a model, byte for byte."""

import asyncio
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import Response

from midwatch.api.description import Answers, refusals
from midwatch.api.outbound_bodies import LedgerOut, OutboundOut
from midwatch.api.state import TheStore
from midwatch.domain.errors import Conflict, Gone, NotFound
from midwatch.store.driver import Tx
from midwatch.store.ledger import KEPT, Outbound, find_interaction, find_last, read_outbound, rebuild, rebuild_one
from midwatch.store.readings import session_exists

router = APIRouter(prefix="/api/v1/sessions/{session_id}", responses=refusals(400, 404, 503))

_JSON, _OTHER = "application/json", "application/octet-stream"
_BODY: Answers = {
    200: {
        "description": "The body as it was sent",
        "content": {_JSON: {"schema": {"type": "object"}}, _OTHER: {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.get("/outbound", summary="List what a session sent to models")
async def list_outbound(session_id: UUID, store: TheStore) -> LedgerOut:
    """Every request that left for a model, also those that failed, in order. It is kept for 30 days."""
    async with store.connect() as tx:
        await _check_session(tx, session_id)
        rows = await read_outbound(tx, session_id)
    rebuilt = await asyncio.to_thread(rebuild, rows)
    return LedgerOut(requests=[OutboundOut.from_outbound(each) for each in rebuilt])


@router.get(
    "/outbound/{request_id}",
    summary="Show one request as it was sent",
    response_class=Response,
    responses=_BODY | refusals(409),
)
async def show_outbound(session_id: UUID, request_id: UUID, store: TheStore) -> Response:
    """The exact bytes that were sent to a model. Keys are never among them: they are headers."""
    async with store.connect() as tx:
        await _check_session(tx, session_id)
        rows = await read_outbound(tx, session_id)
    outbound = await asyncio.to_thread(rebuild_one, rows, request_id)
    if outbound is None:
        raise NotFound("request", request_id)
    return _answer(outbound)


@router.get(
    "/trace/llm/{interaction_id}/outbound",
    summary="Show what one call of a model sent",
    response_class=Response,
    responses=_BODY | refusals(409, 410),
)
async def show_interaction_outbound(session_id: UUID, interaction_id: UUID, store: TheStore) -> Response:
    """The exact bytes that were sent for this call; of several attempts, those of the last."""
    async with store.connect() as tx:
        await _check_session(tx, session_id)
        interaction = await find_interaction(tx, session_id, interaction_id)
        if interaction is None:
            raise NotFound("LLM interaction", interaction_id)
        rows = await read_outbound(tx, session_id, execution_id=interaction["execution_id"])
    request_id = find_last(rows, interaction_id)
    if request_id is None and interaction["age"] > KEPT:
        raise Gone(f"what was sent is kept for {KEPT.days} days")
    outbound = request_id and await asyncio.to_thread(rebuild_one, rows, request_id)
    if not outbound:
        raise NotFound("request for LLM interaction", interaction_id)
    return _answer(outbound)


def _answer(outbound: Outbound) -> Response:
    if outbound.body is None:
        raise Conflict("what is stored does not add up to what was sent: the hash differs")
    # Providers are sent JSON; a gateway of ours that speaks another protocol is not.
    return Response(outbound.body, media_type=_JSON if outbound.body.startswith(b"{") else _OTHER)


async def _check_session(tx: Tx, session_id: UUID) -> None:
    if not await session_exists(tx, session_id):
        raise NotFound("session", session_id)
