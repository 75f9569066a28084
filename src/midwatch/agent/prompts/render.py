"""Prompts as a model reads them. What others wrote stands between the markers of a fence, a new one in each prompt.

The same inputs give the same text, save for the fence's word and the time; both can be handed in.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from types import MappingProxyType

from midwatch.agent.prompts.fences import Fence, inline
from midwatch.agent.prompts.moment import tell_moment
from midwatch.agent.prompts.templates import fill_template
from midwatch.domain.session import StageType, WorkStatus
from midwatch.domain.stories import Exchange, StageStory
from midwatch.safety.claims.findings import Finding

_MOST_FINDINGS = 10
_NO_HOLIDAYS: Mapping[str, str] = MappingProxyType({})


def render_system(
    *,
    agent: str,
    role: StageType = StageType.INVESTIGATION,
    instructions: Mapping[str, str],
    unavailable: Mapping[str, str],
    custom_instructions: str,
    budget: str = "",
    holidays: Mapping[str, str] = _NO_HOLIDAYS,
    now: datetime | None = None,
    fence: Fence | None = None,
) -> str:
    """`holidays` maps a month and a day, such as `12-25`, to a name."""
    return fill_template(
        "system",
        agent=agent,
        role=role,
        instructions=instructions,
        unavailable="\n".join(f"- {inline(server)}: {inline(reason, 500)}" for server, reason in unavailable.items()),
        custom_instructions=custom_instructions,
        budget=budget,
        moment=tell_moment(now, holidays=holidays),
        fence=fence or Fence(),
    )


def render_investigation(
    *,
    alert_type: str,
    alert_data: str,
    runbook: str,
    earlier: Sequence[tuple[str, str]],
    selected: Sequence[str] = (),
    missed_runbook: str | None = None,
    fence: Fence | None = None,
) -> str:
    """`earlier` holds the names of finished stages and their analyses; `missed_runbook` could not be read."""
    return fill_template(
        "investigation",
        alert_type=alert_type,
        alert_data=alert_data,
        selected=selected,
        runbook=runbook,
        missed_runbook=missed_runbook,
        earlier=earlier,
        fence=fence or Fence(),
    )


def render_synthesis(
    *,
    alert_data: str,
    runbook: str,
    stage: StageStory,
    selected: Sequence[str] = (),
    missed_runbook: str | None = None,
    fence: Fence | None = None,
) -> str:
    return fill_template(
        "synthesis",
        alert_type=None,
        alert_data=alert_data,
        selected=selected,
        runbook=runbook,
        missed_runbook=missed_runbook,
        stage=stage,
        succeeded=sum(agent.status is WorkStatus.COMPLETED for agent in stage.agents),
        fence=fence or Fence(),
    )


def render_executive_summary(*, analysis: str, unverified: Sequence[str] = (), fence: Fence | None = None) -> str:
    """`unverified` are things that were changed, and nobody has looked at since."""
    told = ", ".join(inline(target) for target in unverified)
    return fill_template("executive_summary", analysis=analysis, unverified=told, fence=fence or Fence())


def render_chat(
    *,
    alert_type: str,
    alert_data: str,
    runbook: str,
    stages: Sequence[StageStory],
    final_analysis: str | None,
    executive_summary: str | None,
    exchanges: Sequence[Exchange],
    question: str,
    author: str,
    selected: Sequence[str] = (),
    question_selected: Sequence[str] = (),
    missed_runbook: str | None = None,
    fence: Fence | None = None,
) -> str:
    return fill_template(
        "chat",
        alert_type=alert_type,
        alert_data=alert_data,
        selected=selected,
        runbook=runbook,
        missed_runbook=missed_runbook,
        stages=stages,
        final_analysis=final_analysis,
        executive_summary=executive_summary,
        exchanges=exchanges,
        question=question,
        question_selected=question_selected,
        author=author,
        fence=fence or Fence(),
    )


def render_summarizer(*, server: str, tool: str, max_tokens: int) -> str:
    return fill_template("summarizer", server=server, tool=tool, max_tokens=max_tokens)


def render_tool_output(*, conversation: str, output: str, fence: Fence | None = None) -> str:
    return fill_template("tool_output", conversation=conversation, output=output, fence=fence or Fence())


def render_conclude_now(iterations: int) -> str:
    return fill_template("conclude", iterations=iterations)


def read_used_up(prompt: str) -> str | None:
    """What was used up, of a prompt that asks for a conclusion; None of any other."""
    for unit, before, after in _concluding_prompts():
        if prompt.startswith(before) and prompt.endswith(after):
            return prompt.removeprefix(before).removesuffix(after) + unit
    return None


@cache
def _concluding_prompts() -> tuple[tuple[str, str, str], ...]:
    """What follows the amount that was used up, and the words before and after it."""
    mark = "\x00"
    said = {"": render_budget_spent(mark), " iterations": fill_template("conclude", iterations=mark)}
    return tuple((unit, *_split(prompt, mark)) for unit, prompt in said.items())


def _split(prompt: str, mark: str) -> tuple[str, str]:
    before, _, after = prompt.partition(mark)
    return before, after


def render_say_something(*, has_tools: bool = True) -> str:
    return fill_template("say_something", has_tools=has_tools)


def render_not_yet(*, reason: str, hint: str) -> str:
    """Facts of ours, and names that others may have given: those are no instructions, and are cut."""
    return fill_template("not_yet", reason=inline(reason, 500), hint=inline(hint, 500))


def render_unfounded(findings: Sequence[Finding], fence: Fence | None = None) -> str:
    """What a reply says that is not on record; the model's own words stand in the fence."""
    return fill_template("unfounded", findings=findings[:_MOST_FINDINGS], fence=fence or Fence())


def is_not_yet(prompt: str) -> bool:
    """Whether this is a prompt of `render_not_yet`."""
    return prompt.startswith(_not_yet_beginning())


@cache
def _not_yet_beginning() -> str:
    return fill_template("not_yet", reason="\0", hint="").partition("\0")[0]


def is_unfounded(prompt: str) -> bool:
    """Whether this is a prompt of `render_unfounded`."""
    return prompt.startswith(_unfounded_beginning())


@cache
def _unfounded_beginning() -> str:
    return fill_template("unfounded", findings=(), fence=Fence()).partition("\n")[0]


def render_budget_spent(spent: str) -> str:
    return fill_template("spent", spent=spent)


def render_budget_left(left: str) -> str:
    return fill_template("budget_left", left=left)


def render_be_direct() -> str:
    return fill_template("be_direct")


def render_broken_off(partial: str, fence: Fence | None = None) -> str:
    return fill_template("broken_off", partial=partial, fence=fence or Fence())
