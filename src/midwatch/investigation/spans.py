"""Runs, stages and executions as spans, and whose a line of the log is."""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from uuid import UUID

import structlog

from midwatch.investigation.assignment import Assignment
from midwatch.store.leases import Claim
from midwatch.telemetry.tracing import RunIdentity, Span, Tracer, open_span, trace_run


def open_run_span(tracer: Tracer, claim: Claim, *, doing: str) -> AbstractContextManager[Span]:
    session_id, epoch = claim.fence.session_id, claim.fence.epoch
    return trace_run(
        tracer,
        f"{doing} {claim.alert_type}",
        identity=RunIdentity(session_id=session_id, epoch=epoch, goes_on=claim.resumed),
        attributes={
            "gen_ai.conversation.id": str(session_id),
            "midwatch.session.id": str(session_id),
            "midwatch.alert_type": claim.alert_type,
            "midwatch.epoch": epoch,
            "midwatch.resumed": claim.resumed,
        },
    )


def open_stage_span(name: str, *, stage_id: UUID, stage_type: str) -> AbstractContextManager[Span]:
    return open_span(f"stage {name}", {"midwatch.stage.id": str(stage_id), "midwatch.stage.type": stage_type})


@contextmanager
def open_execution_span(assignment: Assignment, *, execution_id: UUID) -> Generator[Span]:
    """Lines of the log say whose they are, too."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": assignment.agent_name,
        "gen_ai.agent.id": str(execution_id),
        "midwatch.execution.id": str(execution_id),
        "midwatch.resumed": assignment.before is not None,
    }
    with (
        structlog.contextvars.bound_contextvars(execution_id=str(execution_id)),
        open_span(f"invoke_agent {assignment.agent_name}", attributes) as span,
    ):
        yield span
