"""What sessions have used up: for whoever takes one over, and for whoever reads of them."""

from dataclasses import dataclass
from uuid import UUID

from midwatch.store.driver import Tx

COST_COLUMNS = """
    CASE WHEN count(*) = count(estimated_cost_usd) OR sum(estimated_cost_usd) > 0
         THEN round(sum(estimated_cost_usd)::numeric, 9)::double precision END AS estimated_cost_usd,
    CASE WHEN count(*) = count(estimated_cost_usd) AND count(*) > 0 THEN 'complete'
         WHEN sum(estimated_cost_usd) > 0 THEN 'partial' ELSE 'none' END AS cost_completeness,
    count(*) - count(estimated_cost_usd) AS unpriced_interaction_count
"""
"""Of any group of `llm_interactions`. Nothing known beside something unknown is unknown, not zero."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    tokens: int
    usd: float
    """Of the calls whose price is known."""


async def read_spending(tx: Tx, session_id: UUID, *, stage_id: UUID | None = None) -> Spending:
    """Of the session, or of one of its stages."""
    row = await tx.fetchrow(
        """
        SELECT coalesce(sum(input_tokens + output_tokens), 0)::bigint AS tokens,
               coalesce(sum(estimated_cost_usd), 0) AS usd
        FROM llm_interactions WHERE session_id = $1 AND ($2::uuid IS NULL OR stage_id = $2)
        """,
        session_id,
        stage_id,
    )
    return Spending(tokens=0, usd=0.0) if row is None else Spending(tokens=row["tokens"], usd=row["usd"])
