"""What becomes of a stage follows from the ends of its agents and from its policy."""

import pytest

from midwatch.domain.session import SuccessPolicy, WorkStatus
from midwatch.investigation.verdict import AgentEnd, Verdict, judge

ALL, ANY = SuccessPolicy.ALL, SuccessPolicy.ANY
DONE, FAILED, LATE, STOPPED = WorkStatus.COMPLETED, WorkStatus.FAILED, WorkStatus.TIMED_OUT, WorkStatus.CANCELLED


def end(agent: str, status: WorkStatus, error: str | None = None) -> AgentEnd:
    return AgentEnd(agent=agent, status=status, error=error)


@pytest.mark.parametrize(
    ("policy", "statuses", "expected"),
    [
        (ANY, [DONE], DONE),
        (ALL, [DONE], DONE),
        (ANY, [DONE, FAILED], DONE),
        (ANY, [LATE, STOPPED, DONE], DONE),
        (ALL, [DONE, DONE], DONE),
        (ALL, [DONE, FAILED], FAILED),
        (ALL, [DONE, LATE], LATE),
        (ALL, [DONE, STOPPED], STOPPED),
        (ANY, [LATE], LATE),
        (ANY, [LATE, LATE], LATE),
        (ANY, [STOPPED, STOPPED], STOPPED),
        (ANY, [LATE, STOPPED], FAILED),
        (ANY, [LATE, FAILED], FAILED),
        (ALL, [STOPPED, LATE, DONE], FAILED),
    ],
)
def test_only_agents_that_failed_alike_make_a_stage_that_ended_alike(
    policy: SuccessPolicy, statuses: list[WorkStatus], expected: WorkStatus
) -> None:
    ends = [end(f"A-{number}", status, "why") for number, status in enumerate(statuses)]
    assert judge(policy, ends).status is expected


def test_every_agent_without_success_is_listed_with_its_status_and_its_reason() -> None:
    ends = [end("A", FAILED, "no key"), end("B", DONE), end("C", LATE, "it fell silent"), end("D", STOPPED)]
    told = (
        "3 of 4 agents did not succeed: A failed: no key; C timed_out: it fell silent; D cancelled: no reason is known"
    )
    assert judge(ALL, ends) == Verdict(status=FAILED, error=told)


def test_one_agent_speaks_for_its_stage() -> None:
    assert judge(ANY, [end("A", FAILED, "no key")]) == Verdict(status=FAILED, error="no key")


def test_a_stage_that_completes_has_no_error_although_some_of_its_agents_do() -> None:
    assert judge(ANY, [end("A", FAILED, "no key"), end("B", DONE)]) == Verdict(status=DONE)
