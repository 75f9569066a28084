"""The words that open a conversation, for each kind of work in a chain."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from midwatch.agent.prompts.render import (
    render_executive_summary,
    render_investigation,
    render_synthesis,
    render_system,
)
from midwatch.config.resolve import ExecutionSettings
from midwatch.domain.runbook import Runbook
from midwatch.domain.session import StageType
from midwatch.investigation.assignment import FirstWords
from midwatch.investigation.case import Case
from midwatch.investigation.stories import fit_stories, measure_room
from midwatch.store.stories import load_stage_story
from midwatch.tools.workbench import Workbench


@dataclass(frozen=True, slots=True, kw_only=True)
class InvestigationOpening:
    case: Case
    agent_name: str
    earlier: Sequence[tuple[str, str]]
    """Names of finished stages and what came of them."""

    async def __call__(self, settings: ExecutionSettings, workbench: Workbench) -> FirstWords:
        stored = self.case.stored
        runbook = await self.case.means.runbooks.resolve(stored.runbook_url)
        role = StageType.ACTION if settings.agent_type == "action" else StageType.INVESTIGATION
        user = render_investigation(
            alert_type=stored.alert_type,
            alert_data=stored.alert_data,
            selected=stored.selected_resources,
            runbook=runbook.text,
            missed_runbook=runbook.missed,
            earlier=self.earlier,
        )
        system = _render_system(self.case, settings, workbench=workbench, role=role, agent_name=self.agent_name)
        return FirstWords(system=system, user=user, warnings=_warn(runbook))


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisOpening:
    case: Case
    agent_name: str
    stage_id: UUID
    """Whose analyses are made one."""

    async def __call__(self, settings: ExecutionSettings, workbench: Workbench) -> FirstWords:
        means, stored = self.case.means, self.case.stored
        runbook = await means.runbooks.resolve(stored.runbook_url)
        async with means.store.connect() as tx:
            story = await load_stage_story(tx, stored.session_id, self.stage_id)
        (fitting,) = fit_stories((story,), characters=measure_room(settings, means))
        user = render_synthesis(
            alert_data=stored.alert_data,
            selected=stored.selected_resources,
            runbook=runbook.text,
            missed_runbook=runbook.missed,
            stage=fitting,
        )
        system = _render_system(
            self.case, settings, workbench=workbench, role=StageType.SYNTHESIS, agent_name=self.agent_name
        )
        return FirstWords(system=system, user=user, warnings=_warn(runbook))


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryOpening:
    case: Case
    agent_name: str
    analysis: str

    async def __call__(self, settings: ExecutionSettings, workbench: Workbench) -> FirstWords:
        system = _render_system(
            self.case, settings, workbench=workbench, role=StageType.EXEC_SUMMARY, agent_name=self.agent_name
        )
        unverified = self.case.safety.machine.unverified_targets
        user = render_executive_summary(analysis=self.analysis, unverified=unverified)
        return FirstWords(system=system, user=user)


def _render_system(
    case: Case, settings: ExecutionSettings, *, workbench: Workbench, role: StageType, agent_name: str
) -> str:
    has_tools = role not in (StageType.SYNTHESIS, StageType.EXEC_SUMMARY)
    return render_system(
        agent=agent_name,
        role=role,
        instructions=settings.server_instructions,
        unavailable=workbench.unavailable,
        custom_instructions=settings.custom_instructions,
        budget=case.purse.describe_left() if has_tools else "",
        holidays={holiday.date: holiday.name for holiday in case.means.config.system.holidays},
    )


def _warn(runbook: Runbook) -> tuple[str, ...]:
    return () if runbook.warning is None else (runbook.warning,)
