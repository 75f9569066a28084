"""How alerts begin, for lists that people read."""

from collections.abc import Sequence
from uuid import UUID

from midwatch.store.driver import Tx

_BEGINNING = 400


async def read_beginnings(tx: Tx, sessions: Sequence[UUID]) -> dict[UUID, str]:
    rows = await tx.fetch(
        "SELECT session_id, left(alert_data, $2) AS beginning FROM alert_sessions WHERE session_id = ANY($1)",
        list(sessions),
        _BEGINNING,
    )
    return {row["session_id"]: row["beginning"] for row in rows}
