"""Behind the timeline: every interaction with a model or a tool."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from fastapi import APIRouter
from starlette.responses import PlainTextResponse, Response

from midwatch.api.description import Answers, refusals
from midwatch.api.state import TheStore
from midwatch.api.trace_bodies import LlmDetail, McpDetail, TraceOut
from midwatch.domain.errors import Gone, NotFound
from midwatch.store.driver import Row, Tx
from midwatch.store.ledger import Outbound, find_last, read_outbound, rebuild_one
from midwatch.store.readings import session_exists
from midwatch.store.results import KEPT, read_interaction_result
from midwatch.store.traces import read_llm_interaction, read_mcp_interaction, read_trace

_TEXT: Answers = {
    200: {"description": "The result", "content": {"text/plain": {"schema": {"type": "string"}}}},
}

router = APIRouter(prefix="/api/v1/sessions/{session_id}/trace", responses=refusals(400, 404, 503))


@router.get("", summary="List the interactions of a session")
async def show_trace(session_id: UUID, store: TheStore) -> TraceOut:
    """Every call of a model and of a tool, by stage and execution, without what was said in it."""
    async with store.connect() as tx:
        await _check_session(tx, session_id)
        return TraceOut.from_trace(await read_trace(tx, session_id))


@router.get("/llm/{interaction_id}", summary="Show one call of a model")
async def show_llm_interaction(session_id: UUID, interaction_id: UUID, store: TheStore) -> LlmDetail:
    """One call of a model, with the conversation as it was sent."""
    async with store.connect() as tx:
        await _check_session(tx, session_id)
        reading = await read_llm_interaction(tx, session_id, interaction_id)
        if reading is None:
            raise NotFound("LLM interaction", interaction_id)
        sent = await read_outbound(tx, session_id, execution_id=reading.interaction["execution_id"])
    return LlmDetail.from_reading(reading, outbound=await _rebuild_last(sent, interaction_id))


@router.get("/mcp/{interaction_id}", summary="Show one call of a tool")
async def show_mcp_interaction(session_id: UUID, interaction_id: UUID, store: TheStore) -> McpDetail:
    """One call of a tool with its arguments and its result, or one listing of a server's tools."""
    async with store.connect() as tx:
        await _check_session(tx, session_id)
        row = await read_mcp_interaction(tx, session_id, interaction_id)
    if row is None:
        raise NotFound("MCP interaction", interaction_id)
    return McpDetail.from_row(row)


@router.get(
    "/mcp/{interaction_id}/result",
    summary="Show all that a tool answered",
    response_class=Response,
    responses=_TEXT | refusals(410),
)
async def show_result(session_id: UUID, interaction_id: UUID, store: TheStore) -> Response:
    """The whole result of a call, masked, as the journal has it. A long one is kept for 7 days."""
    async with store.connect() as tx:
        await _check_session(tx, session_id)
        stored = await read_interaction_result(tx, session_id, interaction_id)
    if stored is None:
        raise NotFound("result of MCP interaction", interaction_id)
    if not stored.is_whole:
        raise Gone(f"a long result is kept for {KEPT.days} days; the trace shows what is left of it")
    return PlainTextResponse(await asyncio.to_thread(stored.unpack))


async def _rebuild_last(rows: Sequence[Row], interaction_id: UUID) -> Outbound | None:
    request_id = find_last(rows, interaction_id)
    return None if request_id is None else await asyncio.to_thread(rebuild_one, rows, request_id)


async def _check_session(tx: Tx, session_id: UUID) -> None:
    if not await session_exists(tx, session_id):
        raise NotFound("session", session_id)
