"""What safety remembers of a session, taken up from its journal by whoever runs it next."""

from midwatch.investigation.means import Means
from midwatch.safety.machine import Machine
from midwatch.safety.session import SessionSafety
from midwatch.store.calls import load_recorded_calls
from midwatch.store.runs import StoredRun


async def recall_safety(stored: StoredRun, means: Means) -> SessionSafety:
    """What is left to verify is as it was, and what came selected with the alert is meant.

    What had been found is to be found again.
    """
    async with means.store.connect() as tx:
        calls = await load_recorded_calls(tx, stored.session_id)
    safety = SessionSafety(machine=Machine.rebuild(calls), is_strict=means.config.safety.strict_resolution)
    safety.context.select(stored.selected_resources)
    return safety
