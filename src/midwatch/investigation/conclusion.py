"""What an agent concluded, as it is stored: its words as far as the record bears them out."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from midwatch.agent.outcome import Concluded
from midwatch.safety.claims.findings import Inspection
from midwatch.store.driver import Tx
from midwatch.store.journal import Batch, commit_batch
from midwatch.timeline.record import ExecutionRecorder


@dataclass(frozen=True, slots=True, kw_only=True)
class Conclusion:
    batch: Batch
    text_id: UUID | None
    claims: Inspection | None
    was_corrected: bool

    @property
    def has_phantom(self) -> bool:
        return self.claims is not None and self.claims.has_phantom

    async def write(self, tx: Tx, recorder: ExecutionRecorder) -> None:
        """A reply that claims what nobody did is not left standing beside what is concluded from it."""
        if self.claims is not None and self.has_phantom:
            await recorder.withdraw(tx, self.claims)
        await commit_batch(
            tx, recorder.run.fence, self.batch, stage_id=recorder.stage_id, execution_id=recorder.execution_id
        )

    def count(self, recorder: ExecutionRecorder) -> None:
        """Once it is stored."""
        if self.claims is not None and self.has_phantom:
            recorder.tally.count_phantom(self.claims)
        elif self.was_corrected:
            recorder.tally.count_correction()


def build_conclusion(outcome: Concluded, recorder: ExecutionRecorder, *, owed: tuple[str, ...]) -> Conclusion:
    """`owed` are things that were changed, and that nobody has looked at since."""
    batch = Batch()
    claims = outcome.claims
    text_id = recorder.add_conclusion(
        batch, metadata=_describe(outcome, owed), text=None if claims is None else outcome.text
    )
    return Conclusion(batch=batch, text_id=text_id, claims=claims, was_corrected=outcome.was_corrected)


def _describe(outcome: Concluded, owed: tuple[str, ...]) -> dict[str, Any]:
    forced = outcome.used_up is not None
    metadata: dict[str, Any] = {"forced_conclusion": forced, "iterations_used": outcome.iterations}
    if forced:
        metadata["forced_conclusion_reason"] = f"{outcome.used_up} used up"
    if owed:
        metadata["unverified_targets"] = list(owed)
    return metadata | ({} if outcome.claims is None else outcome.claims.describe())
