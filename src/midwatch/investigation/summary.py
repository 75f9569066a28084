"""A few lines about an investigation that is complete. It stands without them: what went wrong is told beside it."""

from dataclasses import dataclass
from functools import partial
from uuid import UUID

from midwatch.config.builtins import SUMMARY_AGENT
from midwatch.config.resolve import resolve_summary
from midwatch.domain.session import StageType
from midwatch.investigation.case import Case
from midwatch.investigation.openings import SummaryOpening
from midwatch.investigation.stage import Job, StageWork, run_stage


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryEnding:
    text_id: UUID | None = None
    error: str | None = None


async def run_summary(case: Case, analysis: str, *, seconds: float) -> SummaryEnding:
    step = case.steps[-1]
    work = StageWork(
        index=step.index,
        name=step.name,
        stage_type=StageType.EXEC_SUMMARY,
        jobs=[
            Job(
                agent_name=SUMMARY_AGENT,
                resolve=partial(resolve_summary, case.means.config, case.chain),
                opening=SummaryOpening(case=case, agent_name=SUMMARY_AGENT, analysis=analysis),
                seconds=seconds,
            )
        ],
    )
    ending = await run_stage(case, work)
    return SummaryEnding(text_id=ending.text_id) if ending.is_completed else SummaryEnding(error=ending.error)
