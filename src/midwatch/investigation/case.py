"""One session under investigation: what all of its stages share."""

from dataclasses import dataclass

from midwatch.agent.purse import Purse
from midwatch.config import selection as configured
from midwatch.config.chains import Chain
from midwatch.investigation.means import Means
from midwatch.investigation.plan import Step
from midwatch.safety.session import SessionSafety
from midwatch.store.runs import StoredRun, StoredStage
from midwatch.timeline.run import RunLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    chain: Chain
    """As it was when the alert came, whatever the configuration says by now."""
    steps: tuple[Step, ...]
    stored: StoredRun
    """As the last owner left it."""
    purse: Purse
    safety: SessionSafety
    means: Means
    run: RunLog

    @property
    def selection(self) -> configured.McpSelection | None:
        """The servers to use instead of the configured ones, as the resolver takes them: in the shape of the wire."""
        chosen = self.stored.selection
        return None if chosen is None else configured.McpSelection.model_validate(chosen.as_json())

    def find_stage(self, index: int) -> StoredStage | None:
        return next((stage for stage in self.stored.stages if stage.stage_index == index), None)
