"""Sessions in lists, in the names of the wire."""

from collections.abc import Mapping
from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, Field

from midwatch.api.costs import CostCompleteness, CostEstimationEnabled, EstimatedCost, UnpricedCount
from midwatch.api.queue_bodies import LeaseOut
from midwatch.domain.session import SessionStatus
from midwatch.store.lists import ActiveSessions, Listing, SessionPage
from midwatch.store.queues import LeaseReading


class SessionItem(BaseModel):
    id: UUID
    alert_type: str
    chain_id: str
    status: SessionStatus
    author: str | None
    created_at: datetime
    started_at: datetime | None
    completed_at: datetime | None
    duration_ms: int | None
    error_message: str | None
    executive_summary: str | None
    waiting_for: str | None
    current_stage_index: int | None
    current_stage_id: UUID | None
    total_stages: int
    completed_stages: int
    failed_stages: int
    has_parallel_stages: bool
    has_sub_agents: bool
    provider_fallback_count: int = Field(description="How often a provider gave way to another")
    llm_interaction_count: int
    mcp_interaction_count: int
    input_tokens: int
    output_tokens: int
    total_tokens: int
    estimated_cost_usd: EstimatedCost
    cost_completeness: CostCompleteness
    unpriced_interaction_count: UnpricedCount
    chat_message_count: int
    matched_in_content: bool = Field(description="The search was answered by the timeline alone")


class Pagination(BaseModel):
    page: int
    page_size: int
    total_pages: int
    total_items: int
    total_is_capped: bool = Field(description="There are more than were counted")


class SessionsOut(BaseModel):
    sessions: list[SessionItem]
    pagination: Pagination
    cost_estimation_enabled: CostEstimationEnabled

    @classmethod
    def from_page(cls, page: SessionPage, listing: Listing, *, priced: bool) -> Self:
        return cls(
            sessions=[SessionItem.model_validate(dict(row)) for row in page.rows],
            pagination=Pagination(
                page=listing.offset // listing.limit + 1,
                page_size=listing.limit,
                total_pages=-(-page.total // listing.limit),
                total_items=page.total,
                total_is_capped=page.is_capped,
            ),
            cost_estimation_enabled=priced,
        )


class ActiveItem(BaseModel):
    id: UUID
    alert_type: str
    chain_id: str
    status: SessionStatus
    author: str | None
    created_at: datetime
    started_at: datetime | None
    current_stage_index: int | None
    current_stage_id: UUID | None
    waiting_for: str | None
    lease: LeaseOut | None = Field(description="Who has it in hand; null when nobody has")


class QueuedItem(BaseModel):
    id: UUID
    alert_type: str
    chain_id: str
    status: SessionStatus
    author: str | None
    created_at: datetime
    queue_position: int = Field(description="Counted from one")


class ActiveOut(BaseModel):
    active: list[ActiveItem]
    queued: list[QueuedItem] = Field(description="The next in line; a long queue is not shown to its end")

    @classmethod
    def from_rows(cls, sessions: ActiveSessions, leases: Mapping[UUID, LeaseReading]) -> Self:
        held = {session_id: LeaseOut.from_reading(lease) for session_id, lease in leases.items()}
        return cls(
            active=[ActiveItem.model_validate({**row, "lease": held.get(row["id"])}) for row in sessions.active],
            queued=[QueuedItem.model_validate(dict(row)) for row in sessions.queued],
        )


class FilterOptionsOut(BaseModel):
    alert_types: list[str]
    chain_ids: list[str]
    statuses: list[SessionStatus] = list(SessionStatus)
