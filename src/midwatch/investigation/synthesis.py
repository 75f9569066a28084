"""Several analyses made one, by an agent that reads how each was come by. Without it the chain cannot go on."""

from functools import partial
from uuid import UUID

from midwatch.config.builtins import SYNTHESIS_AGENT
from midwatch.config.chains import Stage, Synthesis
from midwatch.config.resolve import resolve_synthesis
from midwatch.domain.session import StageType
from midwatch.investigation.case import Case
from midwatch.investigation.openings import SynthesisOpening
from midwatch.investigation.plan import Step
from midwatch.investigation.stage import Job, StageEnding, StageWork, run_stage


async def run_synthesis(case: Case, step: Step, *, stage: Stage, stage_id: UUID) -> StageEnding:
    """Of the stage with this id, whose agents have ended."""
    name = (stage.synthesis or Synthesis()).agent or SYNTHESIS_AGENT
    work = StageWork(
        index=step.index,
        name=step.name,
        stage_type=StageType.SYNTHESIS,
        jobs=[
            Job(
                agent_name=name,
                resolve=partial(resolve_synthesis, case.means.config, case.chain, stage=stage),
                opening=SynthesisOpening(case=case, agent_name=name, stage_id=stage_id),
            )
        ],
        referenced_stage_id=stage_id,
    )
    return await run_stage(case, work)
