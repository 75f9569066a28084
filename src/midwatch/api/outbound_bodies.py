"""What left for a model, in the names of the wire."""

from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, Field

from midwatch.store.ledger import Outbound


class OutboundOut(BaseModel):
    id: UUID
    interaction_id: UUID | None = Field(
        description="The call it was sent for; null when the run was stopped before an answer came"
    )
    execution_id: UUID
    sent_at: datetime
    provider: str
    model: str
    host: str
    path: str = Field(description="Without its query")
    bytes: int = Field(description="Length of the body")
    sha256: str = Field(description="Hash of the body, hexadecimal")
    parts: int = Field(description="Of how many stored pieces the body is put together")
    rebuilt: bool = Field(description="Whether the stored pieces add up to exactly what was sent, by its hash")

    @classmethod
    def from_outbound(cls, outbound: Outbound) -> Self:
        return cls(
            id=outbound.request_id,
            interaction_id=outbound.interaction_id,
            execution_id=outbound.execution_id,
            sent_at=outbound.sent_at,
            provider=outbound.provider,
            model=outbound.model,
            host=outbound.host,
            path=outbound.path,
            bytes=outbound.size,
            sha256=outbound.sha256.hex(),
            parts=outbound.parts,
            rebuilt=outbound.body is not None,
        )


class LedgerOut(BaseModel):
    requests: list[OutboundOut]
