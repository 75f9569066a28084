"""The timeline in the names of the wire."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, Field
from pydantic.json_schema import SkipJsonSchema

from midwatch.domain.timeline import TimelineStatus, TimelineType


class TimelineEntry(BaseModel):
    id: UUID
    event_id: UUID = Field(description="The same as `id`; so it is called over the WebSocket")
    session_id: UUID
    stage_id: UUID | None
    execution_id: UUID | None
    parent_execution_id: UUID | SkipJsonSchema[None] = Field(default=None, description="Of a sub-agent only")
    sequence_number: int = Field(description="Orders the timeline; of a text that still streams, where it may stand")
    event_type: TimelineType
    status: TimelineStatus
    content: str
    metadata: dict[str, Any] = Field(description="Of a tool call, which tool it is and how it went")
    llm_interaction_id: UUID | None
    mcp_interaction_id: UUID | None
    created_at: datetime
    updated_at: datetime
