"""Rows for tests of the store: sessions, claims, executions, and the whole database at a glance."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from midwatch.domain.timeline import EventType
from midwatch.domain.tools import ToolCall, ToolKind
from midwatch.kit.ids import new_id
from midwatch.safety.approvals import Approval, Subject, ask, describe_identity, describe_request
from midwatch.safety.questions import NewApproval
from midwatch.store.approvals import insert_approval
from midwatch.store.driver import Tx
from midwatch.store.engine import Store
from midwatch.store.fence import Event, Fence, pass_fence
from midwatch.store.journal import Batch, RequestedCall, commit_batch
from midwatch.store.leases import Claim, claim_pending, lock_claims, take_over
from midwatch.store.runs import NewExecution, NewStage, begin_execution, begin_stage
from midwatch.store.sessions import NewSession, insert_session

LEASE = timedelta(seconds=30)


async def add_session(store: Store, alert: str = "The pump is hot.") -> UUID:
    session_id = new_id()
    new = NewSession(
        session_id=session_id, alert_type="test", alert_data=alert, chain_id="chain", chain={"stages": []}, author=None
    )
    async with store.connect() as tx:
        await insert_session(tx, new)
    return session_id


async def claim_next(store: Store, *, cap: int = 5, owner: str = "pod:1") -> Claim | None:
    async with store.begin() as tx:
        await lock_claims(tx)
        return await take_over(tx, owner=owner, pod_id="pod", lease=LEASE) or await claim_pending(
            tx, owner=owner, pod_id="pod", lease=LEASE, cap=cap
        )


async def claim_one(store: Store, *, cap: int = 5) -> Claim:
    claim = await claim_next(store, cap=cap)
    assert claim is not None
    return claim


async def add_running(store: Store) -> Fence:
    await add_session(store)
    return (await claim_one(store, cap=1_000)).fence


async def expire_lease(store: Store, session_id: UUID) -> None:
    async with store.connect() as tx:
        await tx.execute(
            "UPDATE session_leases SET expires_at = clock_timestamp() WHERE session_id = $1 AND expires_at IS NOT NULL",
            session_id,
        )


async def add_execution(store: Store, fence: Fence) -> NewExecution:
    stage = NewStage(stage_id=new_id(), stage_index=1, stage_name="look")
    execution = NewExecution(
        execution_id=new_id(),
        stage_id=stage.stage_id,
        agent_name="watch",
        agent_index=1,
        llm_provider="model",
        llm_backend="langchain",
        model_name="model",
    )
    async with store.begin() as tx:
        await begin_stage(tx, fence=fence, stage=stage)
        await begin_execution(tx, fence=fence, execution=execution)
    return execution


async def request_call(store: Store, fence: Fence, execution: NewExecution, *, index: int = 0) -> ToolCall:
    call = ToolCall(call_id=new_id(), provider_id="call_1", name="deck.restart", arguments="{}")
    batch = Batch()
    batch.requested.append(
        RequestedCall(
            call_id=call.call_id,
            message_sequence=2,
            call_index=index,
            provider_call_id=call.provider_id,
            tool_name=call.name,
            arguments=call.arguments,
            event_id=new_id(),
        )
    )
    async with store.connect() as tx:
        await commit_batch(tx, fence, batch, stage_id=execution.stage_id, execution_id=execution.execution_id)
    return call


async def add_question(
    store: Store, fence: Fence, execution: NewExecution, *, expire_after: timedelta = timedelta(minutes=15)
) -> UUID:
    """A call that waits for a person. One for each execution, since calls share a place."""
    call = await request_call(store, fence, execution)
    async with store.begin() as tx:
        now = await tx.fetchval("SELECT clock_timestamp()")
        new = build_question(call, now=now, expire_after=expire_after)
        await insert_approval(tx, fence, new)
        await pass_fence(tx, fence, ())
    return new.approval.approval_id


def build_question(call: ToolCall, *, now: datetime, expire_after: timedelta) -> NewApproval:
    server, _, tool = call.name.partition(".")
    target = f"mcp:{server}"
    subject = Subject(
        call_id=call.call_id, server=server, tool=tool, definition="first", arguments={}, targets=(target,)
    )
    approval = ask(subject, approval_id=new_id(), now=now, expire_after=expire_after)
    assert isinstance(approval, Approval)
    verdict = {"kind": "write", "policy_rule": "level:controlled"}
    return NewApproval(
        approval=approval,
        request=describe_request(
            subject, approval, verdict=verdict, kind=ToolKind.WRITE, risk=None, models_words="I act."
        ),
        targets=[{"identity": describe_identity(target), "origin": None}],
        target_ids=[target],
        verdict=verdict,
    )


async def commit_events(store: Store, fence: Fence, count: int = 1) -> int:
    """Events that say nothing much. Returns the feed's new sequence number."""
    events = [Event(type=EventType.SESSION_STATUS, payload={"status": "in_progress"})] * count
    async with store.begin() as tx:
        return await pass_fence(tx, fence, events)


async def read_everything(tx: Tx) -> dict[str, list[dict[str, Any]]]:
    """Every row of every table, to see that nothing was written."""
    tables = await tx.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY tablename")
    return {
        row["tablename"]: [dict(r) for r in await tx.fetch(f"SELECT * FROM {row['tablename']} ORDER BY 1, 2")]
        for row in tables
        if row["tablename"] != "alembic_version"
    }
