"""Stages and executions, and what a resumed run needs to read of them: the rows alone tell how far it got."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from midwatch.domain.errors import NotFound
from midwatch.domain.messages import AssistantMessage, Message, Role, SystemMessage, ToolMessage, UserMessage
from midwatch.domain.selection import McpSelection
from midwatch.domain.session import ParallelType, SessionStatus, StageType, SuccessPolicy, WorkStatus
from midwatch.domain.timeline import EventType
from midwatch.domain.tools import CallState, ToolCall
from midwatch.kit import json
from midwatch.store.approvals import withdraw_questions
from midwatch.store.driver import Row, Tx
from midwatch.store.fence import Event, Fence, Passed, pass_fence
from midwatch.store.parking import describe_decision


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredExecution:
    execution_id: UUID
    stage_id: UUID
    agent_index: int
    agent_name: str
    status: WorkStatus
    error_message: str | None
    final_text_id: UUID | None
    final_text: str | None
    llm_provider: str
    """The one in use, which need not be the one it began with."""
    switches: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredStage:
    stage_id: UUID
    stage_index: int
    stage_name: str
    status: WorkStatus
    error_message: str | None
    executions: tuple[StoredExecution, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    session_id: UUID
    alert_type: str
    alert_data: str
    chain_id: str
    chain: dict[str, Any]
    selection: McpSelection | None
    selected_resources: tuple[str, ...]
    """Ids that an authenticated person has picked when submitting it."""
    runbook_url: str | None
    status: SessionStatus
    created_at: datetime
    stages: tuple[StoredStage, ...]

    def find_execution(self, stage_id: UUID, *, agent_index: int) -> StoredExecution | None:
        executions = (each for stage in self.stages if stage.stage_id == stage_id for each in stage.executions)
        return next((each for each in executions if each.agent_index == agent_index), None)


async def load_run(tx: Tx, session_id: UUID) -> StoredRun:
    session = await tx.fetchrow(
        "SELECT session_id, alert_type, alert_data, chain_id, chain, mcp_selection, selected_resources, runbook_url, "
        "status, created_at FROM alert_sessions WHERE session_id = $1",
        session_id,
    )
    if session is None:
        raise NotFound("session", session_id)
    stages = await tx.fetch(
        "SELECT stage_id, stage_index, stage_name, status, error_message FROM stages "
        "WHERE session_id = $1 ORDER BY stage_index",
        session_id,
    )
    executions = await tx.fetch(
        """
        SELECT e.execution_id, e.stage_id, e.agent_index, e.agent_name, e.status, e.error_message, e.final_text_id,
               t.content AS final_text, e.llm_provider, coalesce(e.fallback_attempt, 0) AS switches
        FROM agent_executions e LEFT JOIN texts t ON t.session_id = e.session_id AND t.text_id = e.final_text_id
        WHERE e.session_id = $1 ORDER BY e.agent_index
        """,
        session_id,
    )
    return StoredRun(
        session_id=session_id,
        alert_type=session["alert_type"],
        alert_data=session["alert_data"],
        chain_id=session["chain_id"],
        chain=json.decode(session["chain"]),
        selection=_selection(session["mcp_selection"]),
        selected_resources=tuple(session["selected_resources"]),
        runbook_url=session["runbook_url"],
        status=SessionStatus(session["status"]),
        created_at=session["created_at"],
        stages=tuple(_stage(row, executions) for row in stages),
    )


def _selection(stored: str | None) -> McpSelection | None:
    return None if stored is None else McpSelection.from_json(json.decode(stored))


def _stage(row: Row, executions: Sequence[Row]) -> StoredStage:
    return StoredStage(
        stage_id=row["stage_id"],
        stage_index=row["stage_index"],
        stage_name=row["stage_name"],
        status=WorkStatus(row["status"]),
        error_message=row["error_message"],
        executions=tuple(_execution(e) for e in executions if e["stage_id"] == row["stage_id"]),
    )


def _execution(row: Row) -> StoredExecution:
    return StoredExecution(
        execution_id=row["execution_id"],
        stage_id=row["stage_id"],
        agent_index=row["agent_index"],
        agent_name=row["agent_name"],
        status=WorkStatus(row["status"]),
        error_message=row["error_message"],
        final_text_id=row["final_text_id"],
        final_text=row["final_text"],
        llm_provider=row["llm_provider"],
        switches=row["switches"],
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewStage:
    stage_id: UUID
    stage_index: int
    stage_name: str
    stage_type: StageType = StageType.INVESTIGATION
    expected_agent_count: int = 1
    parallel_type: ParallelType | None = None
    success_policy: SuccessPolicy | None = None
    referenced_stage_id: UUID | None = None
    """Of a synthesis: the stage whose analyses it makes one of."""


async def begin_stage(tx: Tx, *, fence: Fence, stage: NewStage) -> int:
    await tx.execute(
        """
        WITH session AS (
            UPDATE alert_sessions SET current_stage_index = $3, current_stage_id = $1 WHERE session_id = $2
        )
        INSERT INTO stages (stage_id, session_id, stage_index, stage_name, stage_type, status, expected_agent_count,
                            parallel_type, success_policy, referenced_stage_id, started_at)
        VALUES ($1, $2, $3, $4, $5, 'active', $6, $7, $8, $9, clock_timestamp())
        """,
        stage.stage_id,
        fence.session_id,
        stage.stage_index,
        stage.stage_name,
        stage.stage_type,
        stage.expected_agent_count,
        stage.parallel_type,
        stage.success_policy,
        stage.referenced_stage_id,
    )
    return await pass_fence(tx, fence, [_stage_event(stage, "started")])


async def finish_stage(tx: Tx, *, fence: Fence, stage: NewStage, status: WorkStatus, error: str | None) -> int:
    """Told once, even if it is tried again because the answer to the first attempt was lost."""
    ended = await tx.fetchval(
        """
        UPDATE stages SET status = $2, error_message = $3, completed_at = clock_timestamp(),
            duration_ms = (extract(epoch FROM clock_timestamp() - started_at) * 1000)::bigint
        WHERE stage_id = $1 AND status = 'active' RETURNING true
        """,
        stage.stage_id,
        status,
        error,
    )
    return await pass_fence(tx, fence, [_stage_event(stage, status)] if ended else ())


def _stage_event(stage: NewStage, status: str) -> Event:
    referenced = stage.referenced_stage_id
    return Event(
        type=EventType.STAGE_STATUS,
        payload={
            "stage_id": str(stage.stage_id),
            "stage_name": stage.stage_name,
            "stage_index": stage.stage_index,
            "stage_type": stage.stage_type,
            "status": status,
        }
        | ({} if referenced is None else {"referenced_stage_id": str(referenced)}),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NewExecution:
    execution_id: UUID
    stage_id: UUID
    agent_name: str
    agent_index: int
    llm_provider: str
    llm_backend: str | None
    model_name: str


async def begin_execution(tx: Tx, *, fence: Fence, execution: NewExecution) -> int:
    await _insert_execution(tx, fence, execution)
    return await pass_fence(tx, fence, ())


async def keep_execution(tx: Tx, *, fence: Fence, execution: NewExecution) -> None:
    """For one that ends early, perhaps before it began. Whoever calls this passes the fence."""
    await _insert_execution(tx, fence, execution, unless_there=True)


async def _insert_execution(tx: Tx, fence: Fence, execution: NewExecution, *, unless_there: bool = False) -> None:
    await tx.execute(
        f"""
        INSERT INTO agent_executions (execution_id, stage_id, session_id, agent_name, agent_index, status, llm_provider,
                                      llm_backend, model_name, started_at)
        VALUES ($1, $2, $3, $4, $5, 'active', $6, $7, $8, clock_timestamp())
        {"ON CONFLICT (execution_id) DO NOTHING" if unless_there else ""}
        """,  # noqa: S608 -- nothing but words of ours
        execution.execution_id,
        execution.stage_id,
        fence.session_id,
        execution.agent_name,
        execution.agent_index,
        execution.llm_provider,
        execution.llm_backend,
        execution.model_name,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenExecution:
    execution_id: UUID
    stage_id: UUID
    agent_index: int


async def list_open_executions(tx: Tx, session_id: UUID) -> tuple[OpenExecution, ...]:
    rows = await tx.fetch(
        """
        SELECT execution_id, stage_id, agent_index FROM agent_executions
        WHERE session_id = $1 AND status IN ('pending', 'active') ORDER BY execution_id
        """,
        session_id,
    )
    return tuple(OpenExecution(**dict(row)) for row in rows)


async def finish_execution(
    tx: Tx, fence: Fence, execution_id: UUID, *, status: WorkStatus, error: str | None, final_text_id: UUID | None
) -> Passed:
    """Children first: an execution's open streams end as it does, and nobody learns what became of its open calls."""
    withdrawn = await withdraw_questions(tx, fence.session_id, execution_id=execution_id)
    streams = await tx.fetch(
        """
        WITH closed AS (
            UPDATE timeline_events SET status = $3::text::timeline_state, updated_at = clock_timestamp()
            WHERE session_id = $1 AND execution_id = $2 AND status = 'streaming' RETURNING event_id, call_id
        ), calls AS (
            UPDATE tool_calls c SET state = 'unknown' FROM closed
            WHERE c.call_id = closed.call_id AND c.state IN ('requested', 'waiting_approval', 'started')
        )
        SELECT event_id FROM closed
        """,
        fence.session_id,
        execution_id,
        status,
    )
    await tx.execute(
        """
        UPDATE agent_executions SET status = $2, error_message = $3, final_text_id = $4,
            completed_at = clock_timestamp(),
            duration_ms = (extract(epoch FROM clock_timestamp() - started_at) * 1000)::bigint
        WHERE execution_id = $1
        """,
        execution_id,
        status,
        error,
        final_text_id,
    )
    closed = [Event(type=EventType.TIMELINE_COMPLETED, ref=row["event_id"]) for row in streams]
    events = [*closed, *map(describe_decision, withdrawn)]
    return Passed(seq=await pass_fence(tx, fence, events), events=events)


async def withdraw_reply(
    tx: Tx, fence: Fence, execution_id: UUID, *, text_id: UUID | None, metadata: Mapping[str, Any]
) -> list[Event]:
    """What was shown as a reply, and is none any more. Whoever calls this passes the fence with what is to be told."""
    rows = await tx.fetch(
        """
        UPDATE timeline_events SET status = 'withdrawn', updated_at = clock_timestamp(),
               metadata = coalesce(metadata, '{}') || $4::jsonb
        WHERE session_id = $1 AND execution_id = $2 AND text_id = $3 AND event_type = 'llm_response'
        RETURNING event_id
        """,
        fence.session_id,
        execution_id,
        text_id,
        json.encode_text(metadata),
    )
    return [Event(type=EventType.TIMELINE_COMPLETED, ref=row["event_id"]) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCall:
    """A call of the last assistant message that has no result yet."""

    call: ToolCall
    event_id: UUID
    state: CallState
    sequence_number: int
    """The place that was reserved for its tool message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    messages: tuple[Message, ...]
    open_calls: tuple[OpenCall, ...]
    next_sequence: int
    last_text_id: UUID | None
    """The text of the last assistant message, by reference."""


async def load_conversation(tx: Tx, session_id: UUID, execution_id: UUID) -> Conversation:
    rows = await tx.fetch(
        """
        SELECT m.sequence_number, m.role, m.tool_call_id, m.tool_name, m.is_error, m.provider_state, m.text_id,
               t.content
        FROM messages m LEFT JOIN texts t ON t.session_id = m.session_id AND t.text_id = m.text_id
        WHERE m.execution_id = $2 AND m.session_id = $1 ORDER BY m.sequence_number
        """,
        session_id,
        execution_id,
    )
    calls = await tx.fetch(
        """
        SELECT call_id, message_sequence, call_index, provider_call_id, tool_name, arguments, event_id, state
        FROM tool_calls WHERE execution_id = $1 ORDER BY message_sequence, call_index
        """,
        execution_id,
    )
    by_message: dict[int, list[Row]] = {}
    for call in calls:
        by_message.setdefault(call["message_sequence"], []).append(call)
    answered = {row["sequence_number"] for row in rows if row["role"] == Role.TOOL}
    open_calls = [
        OpenCall(
            call=_call(call),
            event_id=call["event_id"],
            state=CallState(call["state"]),
            sequence_number=call["message_sequence"] + 1 + call["call_index"],
        )
        for call in calls
        if call["message_sequence"] + 1 + call["call_index"] not in answered
    ]
    assistants = [row for row in rows if row["role"] == Role.ASSISTANT]
    return Conversation(
        messages=tuple(_message(row, by_message.get(row["sequence_number"], [])) for row in rows),
        open_calls=tuple(open_calls),
        next_sequence=_next_sequence(rows, by_message),
        last_text_id=assistants[-1]["text_id"] if assistants else None,
    )


def _next_sequence(rows: Sequence[Row], by_message: dict[int, list[Row]]) -> int:
    after_messages = max((row["sequence_number"] + 1 for row in rows), default=0)
    after_reserved = max((number + 1 + len(calls) for number, calls in by_message.items()), default=0)
    return max(after_messages, after_reserved)


def _call(row: Row) -> ToolCall:
    return ToolCall(
        call_id=row["call_id"],
        provider_id=row["provider_call_id"],
        name=row["tool_name"],
        arguments=row["arguments"],
    )


def _message(row: Row, calls: Sequence[Row]) -> Message:
    text = row["content"] or ""
    match Role(row["role"]):
        case Role.SYSTEM:
            return SystemMessage(text=text)
        case Role.USER:
            return UserMessage(text=text)
        case Role.ASSISTANT:
            return AssistantMessage(
                text=text, calls=tuple(_call(call) for call in calls), provider_state=row["provider_state"]
            )
        case Role.TOOL:
            return ToolMessage(
                provider_id=row["tool_call_id"],
                name=row["tool_name"],
                content=text,
                is_error=bool(row["is_error"]),
            )
