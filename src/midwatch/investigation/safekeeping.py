"""What safety remembers of a session, taken up from its journal by whoever runs it next."""

from uuid import UUID

from midwatch.investigation.means import Means
from midwatch.safety.machine import Machine
from midwatch.safety.session import SessionSafety
from midwatch.store.calls import load_recorded_calls


async def recall_safety(session_id: UUID, means: Means) -> SessionSafety:
    """What is left to verify is as it was. What had been found is to be found again."""
    async with means.store.connect() as tx:
        calls = await load_recorded_calls(tx, session_id)
    return SessionSafety(machine=Machine.rebuild(calls), is_strict=means.config.safety.strict_resolution)
