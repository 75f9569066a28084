"""A reply compared with what its session has done and read, in two steps: the second, with all of it, only in doubt."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from midwatch.agent.claims import gather_evidence
from midwatch.domain.messages import Message
from midwatch.safety.claims.deeds import Deed
from midwatch.safety.claims.findings import Inspection
from midwatch.safety.claims.inspection import inspect
from midwatch.store.deeds import list_deeds, list_readings
from midwatch.store.engine import Store

_MOST_READ: Final = 4_000_000
_LONG: Final = 200_000
"""So many characters take longer than the loop should wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimCheck:
    store: Store
    session_id: UUID
    tools: Callable[[], Collection[str]]
    """Names of those that were offered."""

    async def __call__(self, text: str, messages: Sequence[Message]) -> Inspection:
        """Raises StoreUnavailable: nothing is concluded that could not be looked up."""
        evidence = gather_evidence(messages)
        inspection = await self._inspect(text, evidence)
        if not inspection.findings:
            return inspection
        async with self.store.connect() as tx:
            deeds = await list_deeds(tx, self.session_id)
            evidence += await list_readings(tx, self.session_id, most=_MOST_READ)
        return await self._inspect(text, evidence, deeds)

    async def _inspect(self, text: str, evidence: Sequence[str], deeds: Sequence[Deed] = ()) -> Inspection:
        tools = tuple(self.tools())
        if len(text) + sum(map(len, evidence)) < _LONG:
            return inspect(text, deeds=deeds, evidence=evidence, tools=tools)
        return await asyncio.to_thread(inspect, text, deeds=deeds, evidence=evidence, tools=tools)
