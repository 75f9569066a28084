"""Request and response bodies, in the names of the wire."""

from datetime import datetime
from typing import Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from midwatch.api.costs import CostCompleteness, CostEstimationEnabled, EstimatedCost, UnpricedCount
from midwatch.api.queue_bodies import LeaseOut, PlaceOut, lease_of, place_of
from midwatch.domain.runbook import without_query
from midwatch.domain.session import SessionStatus, WorkStatus
from midwatch.queue.places import Standing
from midwatch.store.driver import Row
from midwatch.store.readings import SessionReading


class ErrorOut(BaseModel):
    message: str = Field(description="What is wrong, in a sentence")
    code: str = Field(description="Stable; programs branch on it")
    field: str | SkipJsonSchema[None] = Field(default=None, description="The field it is about")
    allowed: list[str] | SkipJsonSchema[None] = Field(default=None, description="What the field may be")


class CancelOut(BaseModel):
    session_id: UUID
    status: SessionStatus
    message: str


class ExecutionCancelOut(BaseModel):
    session_id: UUID
    execution_id: UUID
    message: str


class CallCancelOut(BaseModel):
    session_id: UUID
    call_id: UUID
    message: str


class ExecutionOut(BaseModel):
    execution_id: UUID
    agent_name: str
    agent_index: int
    status: WorkStatus
    llm_provider: str
    llm_backend: str | None
    model_name: str
    started_at: datetime | None
    completed_at: datetime | None
    duration_ms: int | None
    error_message: str | None
    input_tokens: int
    output_tokens: int
    total_tokens: int
    llm_interaction_count: int
    mcp_interaction_count: int
    estimated_cost_usd: EstimatedCost
    cost_completeness: CostCompleteness
    unpriced_interaction_count: UnpricedCount
    original_llm_provider: str | None = Field(description="The one it began with; null when that never changed")
    original_llm_backend: str | None = Field(description="Of the provider it began with")
    original_model_name: str | None = Field(description="Of the provider it began with")
    fallback_reason: str | None = Field(description="Why the provider changed last, in words of the one that gave way")
    fallback_error_code: str | None = Field(description="Why the provider changed last; programs branch on it")
    fallback_attempt: int | None = Field(description="How often the provider has changed")

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Self:
        return cls.model_validate(row | {"total_tokens": row["input_tokens"] + row["output_tokens"]})


class StageOut(BaseModel):
    id: UUID
    stage_name: str
    stage_index: int
    stage_type: str
    status: WorkStatus
    referenced_stage_id: UUID | None = Field(description="Of a synthesis: the stage whose analyses it makes one of")
    parallel_type: str | None
    expected_agent_count: int
    started_at: datetime | None
    completed_at: datetime | None
    duration_ms: int | None
    error_message: str | None
    attempts: int | None = Field(description="Of a question: take-overs in a row without progress between them")
    resumed_at: list[datetime] = Field(description="Of a question: when its answer went on after an interruption")
    executions: list[ExecutionOut]


class SessionOut(BaseModel):
    id: UUID
    alert_type: str
    alert_data: str
    status: SessionStatus
    chain_id: str
    author: str | None
    error_message: str | None
    final_analysis: str | None
    executive_summary: str | None
    executive_summary_error: str | None
    runbook_url: str | None
    slack_message_fingerprint: str | None
    mcp_selection: dict[str, Any] | None
    selected_resources: list[str] = Field(description="What a person with the approver's secret has picked")
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    duration_ms: int | None
    current_stage_index: int | None
    current_stage_id: UUID | None
    waiting_for: str | None
    queue: PlaceOut | None = Field(description="While it waits for a slot: where it stands, and why it waits")
    lease: LeaseOut | None = Field(description="While it runs: who has it in hand; null when nobody has")
    attempts: int = Field(description="Take-overs in a row without progress between them")
    resumed_at: list[datetime] = Field(description="When it went on after an interruption")
    warnings: list[str]
    unverified_targets: list[str]
    chat_enabled: bool
    chat_id: UUID | None
    chat_message_count: int
    has_parallel_stages: bool
    cost_estimation_enabled: CostEstimationEnabled
    estimated_cost_usd: EstimatedCost
    cost_completeness: CostCompleteness
    unpriced_interaction_count: UnpricedCount
    total_stages: int
    completed_stages: int
    failed_stages: int
    input_tokens: int
    output_tokens: int
    total_tokens: int
    llm_interaction_count: int
    mcp_interaction_count: int
    stages: list[StageOut]

    @classmethod
    def from_reading(cls, reading: SessionReading, standing: Standing, *, priced: bool, cap: int) -> Self:
        stages = [_stage(row, reading) for row in reading.stages]
        executions = [execution for stage in stages for execution in stage.executions]
        runbook = reading.session["runbook_url"]
        return cls.model_validate(
            reading.session
            | {
                "id": reading.session["session_id"],
                "runbook_url": runbook and without_query(runbook),
                "queue": place_of(standing, cap=cap),
                "lease": lease_of(standing),
                "resumed_at": reading.resumed_at(),
                "cost_estimation_enabled": priced,
                "has_parallel_stages": any(stage.parallel_type is not None for stage in stages),
                "completed_stages": sum(stage.status is WorkStatus.COMPLETED for stage in stages),
                "failed_stages": sum(stage.status is WorkStatus.FAILED for stage in stages),
                "input_tokens": sum(e.input_tokens for e in executions),
                "output_tokens": sum(e.output_tokens for e in executions),
                "total_tokens": sum(e.total_tokens for e in executions),
                "llm_interaction_count": sum(e.llm_interaction_count for e in executions),
                "mcp_interaction_count": sum(e.mcp_interaction_count for e in executions),
                "stages": stages,
            }
        )


def _stage(row: dict[str, Any], reading: SessionReading) -> StageOut:
    executions = [e for e in reading.executions if e["stage_id"] == row["stage_id"]]
    return StageOut.model_validate(
        row
        | {
            "id": row["stage_id"],
            "resumed_at": reading.resumed_at(row["stage_id"]),
            "executions": [ExecutionOut.from_row(e) for e in executions],
        }
    )


class SessionStatusOut(BaseModel):
    id: UUID
    status: SessionStatus
    final_analysis: str | None
    executive_summary: str | None
    error_message: str | None


class ChainStatistics(BaseModel):
    total_stages: int
    completed_stages: int
    failed_stages: int
    current_stage_index: int | None


class SessionSummaryOut(BaseModel):
    session_id: UUID
    total_interactions: int
    llm_interactions: int
    mcp_interactions: int
    input_tokens: int
    output_tokens: int
    total_tokens: int
    cost_estimation_enabled: CostEstimationEnabled
    estimated_cost_usd: EstimatedCost
    cost_completeness: CostCompleteness
    unpriced_interaction_count: UnpricedCount
    total_duration_ms: int | None
    chain_statistics: ChainStatistics

    @classmethod
    def from_row(cls, row: Row, *, priced: bool) -> Self:
        return cls.model_validate(
            dict(row)
            | {
                "total_interactions": row["llm_interactions"] + row["mcp_interactions"],
                "total_tokens": row["input_tokens"] + row["output_tokens"],
                "cost_estimation_enabled": priced,
                "chain_statistics": dict(row),
            }
        )


class DatabaseCheck(BaseModel):
    status: Literal["healthy", "unhealthy"]
    message: str | None = None


class WorkerPoolCheck(BaseModel):
    status: Literal["healthy", "degraded", "stopping"]
    total_slots: int
    live_slots: int
    busy_slots: int


class HealthChecks(BaseModel):
    database: DatabaseCheck
    worker_pool: WorkerPoolCheck
    chat_pool: WorkerPoolCheck = Field(description="The slots in which questions are answered")


class HealthOut(BaseModel):
    status: Literal["healthy", "degraded", "unhealthy"]
    version: str
    checks: HealthChecks


class ReadyOut(BaseModel):
    ready: bool
    checks: HealthChecks
