"""A question about a session that has ended: a run of one stage and one agent, which knows what was found before."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from uuid import UUID

import structlog

from midwatch.agent.prompts.render import render_chat, render_system
from midwatch.agent.purse import Allowance, Purse
from midwatch.config.builtins import CHAT_AGENT
from midwatch.config.chains import Chain
from midwatch.config.resolve import ExecutionSettings, resolve_budgets, resolve_chat
from midwatch.domain.errors import LeaseLost
from midwatch.domain.session import SessionStatus, StageType, WorkStatus
from midwatch.domain.stories import AgentStory, Deed, Exchange, StageStory
from midwatch.investigation.assignment import Assignment, FirstWords
from midwatch.investigation.case import Case
from midwatch.investigation.execution import run_execution
from midwatch.investigation.held import Course, HeldSession, run_held
from midwatch.investigation.means import Means
from midwatch.investigation.resume import announce_cut, announce_resume, close_cut_streams
from midwatch.investigation.safekeeping import recall_safety
from midwatch.investigation.stories import fit_stories, measure_room
from midwatch.safety.mentions import find_mentions
from midwatch.store.chats import (
    CHAT_STAGE,
    AnswerEnding,
    StoredQuestion,
    begin_answer,
    finish_answer,
    list_questions,
    read_question,
)
from midwatch.store.driver import Tx
from midwatch.store.fence import Passed
from midwatch.store.readings import read_session_status
from midwatch.store.runs import OpenExecution, StoredExecution, StoredRun, list_open_executions, load_run
from midwatch.store.sessions import Ending
from midwatch.store.spending import read_spending
from midwatch.store.stories import load_deeds, load_stories
from midwatch.timeline.run import RunLog
from midwatch.tools.workbench import Workbench

log = structlog.get_logger()


async def run_chat(held: HeldSession, means: Means) -> None:
    """Returns when the question has been dealt with, or when it is somebody else's to go on with."""
    await run_held(held, means, Course(what="the question", doing="answer", walk=_answer, finish=_finish))


async def _answer(held: HeldSession, means: Means, run: RunLog) -> Ending | None:
    async with means.store.connect() as tx:
        stored = await load_run(tx, run.session_id)
        question = await read_question(tx, run.session_id, _stage_of(held))
        questions = await list_questions(tx, run.session_id)
    if held.claim.resumed and not run.position:
        await announce_resume(run, held.claim)
    await run.transact(partial(begin_answer, fence=run.fence, question=question))
    chain = Chain.model_validate(stored.chain)
    purse = await _open_purse(held, chain, means)
    safety = await recall_safety(stored, means)
    for each in questions:
        if each.is_authenticated and not question.asked_before(each):
            safety.context.hear(find_mentions(each.content), selected=each.selected_resources)
    case = Case(chain=chain, steps=(), stored=stored, purse=purse, safety=safety, means=means, run=run)
    agent_name = (chain.chat and chain.chat.agent) or CHAT_AGENT
    assignment = Assignment(
        stage_id=question.stage_id,
        stage_type=StageType.CHAT,
        agent_name=agent_name,
        resolve=partial(resolve_chat, means.config, chain, selection=case.selection),
        opening=ChatOpening(case=case, question=question, agent_name=agent_name),
        purse=purse,
        safety=safety,
        before=_execution_of(stored, question),
    )
    ending = await run_execution(assignment, means=means, run=run)
    if ending.is_parked:
        return None
    return Ending(status=SessionStatus(ending.status), error_message=ending.error)


def _stage_of(held: HeldSession) -> UUID:
    stage_id = held.claim.chat_stage_id
    assert stage_id is not None  # noqa: S101 -- what is claimed here is a question
    return stage_id


def _execution_of(stored: StoredRun, question: StoredQuestion) -> StoredExecution | None:
    executions = (each for stage in stored.stages if stage.stage_id == question.stage_id for each in stage.executions)
    return next(executions, None)


async def _open_purse(held: HeldSession, chain: Chain, means: Means) -> Purse:
    """Each question has a purse of its own, as full as the investigation's was."""
    budgets = resolve_budgets(means.config, chain)
    async with means.store.connect() as tx:
        spent = await read_spending(tx, held.session_id, stage_id=_stage_of(held))
    return Purse(
        allowance=Allowance(usd=budgets.usd, tokens=budgets.tokens, seconds=budgets.seconds),
        usd=spent.usd,
        tokens=spent.tokens,
        seconds_before=held.claim.ran.total_seconds(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatOpening:
    case: Case
    question: StoredQuestion
    agent_name: str

    async def __call__(self, settings: ExecutionSettings, workbench: Workbench) -> FirstWords:
        means, stored = self.case.means, self.case.stored
        runbook = await means.runbooks.resolve(stored.runbook_url)
        history = await self._recall(measure_room(settings, means))
        system = render_system(
            agent=self.agent_name,
            role=StageType.CHAT,
            instructions=settings.server_instructions,
            unavailable=workbench.unavailable,
            custom_instructions=settings.custom_instructions,
            budget=self.case.purse.describe_left(),
            holidays={holiday.date: holiday.name for holiday in means.config.system.holidays},
        )
        user = render_chat(
            alert_type=stored.alert_type,
            alert_data=stored.alert_data,
            selected=stored.selected_resources,
            runbook=runbook.text,
            missed_runbook=runbook.missed,
            stages=history.stages,
            final_analysis=history.final_analysis,
            executive_summary=history.executive_summary,
            exchanges=history.exchanges,
            question=self.question.content,
            question_selected=self.question.selected_resources,
            author=self.question.author,
        )
        return FirstWords(system=system, user=user, warnings=(runbook.warning,) if runbook.warning else ())

    async def _recall(self, characters: int) -> "_History":
        stored = self.case.stored
        session_id = stored.session_id
        async with self.case.means.store.connect() as tx:
            stages = await load_stories(tx, session_id)
            earlier = [each for each in await list_questions(tx, session_id) if each.asked_before(self.question)]
            answers = [_execution_of(stored, each) for each in earlier]
            deeds = await load_deeds(tx, session_id, [each.execution_id for each in answers if each is not None])
            outcome = await read_session_status(tx, session_id)
        exchanges = [
            _exchange(each, answer, () if answer is None else deeds.get(answer.execution_id, ()))
            for each, answer in zip(earlier, answers, strict=True)
        ]
        fitting, exchanges = _fit(stages, exchanges, characters=characters)
        return _History(
            stages=fitting,
            exchanges=exchanges,
            final_analysis=outcome and outcome["final_analysis"],
            executive_summary=outcome and outcome["executive_summary"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _History:
    stages: Sequence[StageStory]
    exchanges: Sequence[Exchange]
    final_analysis: str | None
    executive_summary: str | None


def _exchange(question: StoredQuestion, answer: StoredExecution | None, deeds: tuple[Deed, ...]) -> Exchange:
    return Exchange(
        question=question.content,
        selected=tuple(question.selected_resources),
        author=question.author,
        deeds=deeds,
        answer=None if answer is None else answer.final_text,
    )


def _fit(
    stages: tuple[StageStory, ...], exchanges: Sequence[Exchange], *, characters: int
) -> tuple[tuple[StageStory, ...], list[Exchange]]:
    """What was done for earlier questions gives way like the rest, as if they had been agents of one more stage."""
    told = tuple(
        AgentStory(
            agent=each.author,
            status=WorkStatus.COMPLETED,
            deeds=each.deeds,
            analysis=each.answer,
            error=None,
            provider="",
            model="",
        )
        for each in exchanges
    )
    chat = StageStory(name=CHAT_STAGE, status=WorkStatus.COMPLETED, agents=told)
    *fitting, chat = fit_stories((*stages, chat), characters=characters)
    cut = [replace(each, deeds=agent.deeds) for each, agent in zip(exchanges, chat.agents, strict=True)]
    return tuple(fitting), cut


async def _finish(held: HeldSession, run: RunLog, ending: Ending) -> None:
    """Only whoever still owns the question writes its end."""
    answered = AnswerEnding(status=WorkStatus(ending.status), error_message=ending.error_message)
    status = answered.status
    cut: Sequence[OpenExecution] = ()

    async def write(tx: Tx) -> Passed:
        nonlocal status, cut
        cut = await list_open_executions(tx, run.session_id)
        question = await read_question(tx, run.session_id, _stage_of(held))
        status, passed = await finish_answer(tx, run.fence, question, answered)
        return passed

    try:
        if status is not WorkStatus.COMPLETED:
            await close_cut_streams(run, status)
            await run.record_unanswered()
        await run.transact(write)
    except LeaseLost:
        log.info("run_stopped", reason="LeaseLost")
    else:
        announce_cut(run, SessionStatus(status), cut)
        log.info("question_ended", status=status)
    held.ended = True
