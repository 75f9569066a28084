"""Questions about a session that has ended."""

from http import HTTPStatus
from uuid import UUID

from fastapi import APIRouter, Request

from midwatch.api.approver import shows_secret
from midwatch.api.author import read_author
from midwatch.api.body import StrictJsonRoute
from midwatch.api.chat_bodies import QuestionAccepted, QuestionIn, QuestionsOut
from midwatch.api.description import WITH_BODY, Answers, refusals
from midwatch.api.schemas import ErrorOut
from midwatch.api.selected_resources import admit_selected
from midwatch.api.state import TheConfig, TheQuestions, TheStore
from midwatch.domain.errors import NotFound
from midwatch.intake.ask_question import Question
from midwatch.queue.places import find_chat_standing
from midwatch.store.chats import list_questions
from midwatch.store.readings import session_exists

_BUSY: Answers = {
    409: {"model": ErrorOut, "description": "Another question about the session is being answered"},
    503: {"model": ErrorOut, "description": "The database does not answer, or this replica is stopping; try again"},
}

router = APIRouter(
    prefix="/api/v1/sessions/{session_id}/chat", route_class=StrictJsonRoute, responses=refusals(400, 404, 503)
)


@router.post(
    "/messages",
    status_code=HTTPStatus.ACCEPTED,
    summary="Ask about a session",
    responses=refusals(401, 408) | WITH_BODY | _BUSY,
)
async def ask_question(
    session_id: UUID, body: QuestionIn, request: Request, questions: TheQuestions
) -> QuestionAccepted:
    """Stores the question and answers at once; an agent that knows the investigation works on it, with the same tools.

    The session must be completed, failed or timed_out, and one question is answered at a time. Follow the answer as
    the stage's entries in the session's timeline. With the approver's secret as `Authorization: Bearer`, what the
    question names with @ is meant, and no call goes to its host instead. So is what comes selected, which takes the
    secret.
    """
    accepted = await questions.ask(
        Question(
            session_id=session_id,
            content=body.content,
            author=read_author(request),
            is_authenticated=shows_secret(request),
            selected_resources=admit_selected(body.selected_resources, request),
        )
    )
    return QuestionAccepted.model_validate(accepted, from_attributes=True)


@router.get("", summary="List the questions about a session")
async def list_questions_asked(session_id: UUID, store: TheStore, config: TheConfig) -> QuestionsOut:
    """In the order they were asked. The answers stand in the timeline, under the stage of each."""
    async with store.connect() as tx:
        if not await session_exists(tx, session_id):
            raise NotFound("session", session_id)
        questions = await list_questions(tx, session_id)
        standing = await find_chat_standing(tx, session_id)
    return QuestionsOut.from_questions(questions, standing, cap=config.queue.max_concurrent_sessions)
