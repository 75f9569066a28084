"""A person asks about a session that has ended: the question is checked, masked and stored, and only then accepted."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from midwatch.domain.errors import Conflict, Invalid, NotFound, ReplicaStopping
from midwatch.domain.session import SessionStatus
from midwatch.intake.selected_resources import read_selected
from midwatch.intake.wake import Waker
from midwatch.kit.ids import new_id
from midwatch.masking.mask import MaskedAlert
from midwatch.store.chats import Asked, ChatGround, NewQuestion, insert_question, read_chat_ground
from midwatch.store.engine import Store
from midwatch.timeline.flush import Flusher

QUESTION_LIMIT = 100_000
"""Bytes."""
_ASKABLE = (SessionStatus.COMPLETED, SessionStatus.FAILED, SessionStatus.TIMED_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    session_id: UUID
    content: str
    author: str
    is_authenticated: bool = False
    """What it names with @ is meant: nobody else can have written it."""
    selected_resources: tuple[str, ...] = ()
    """What its author has picked besides; only of one who is authenticated."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedQuestion:
    chat_id: UUID
    message_id: UUID
    stage_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Questions:
    store: Store
    flusher: Flusher
    mask: Callable[[str], MaskedAlert]
    waker: Waker
    is_stopping: Callable[[], bool]

    async def ask(self, question: Question) -> AcceptedQuestion:
        """Raises Invalid, NotFound, Conflict while another question is open, ReplicaStopping, StoreUnavailable.

        Whatever is raised, nothing is stored; only after StoreUnavailable that is not certain.
        """
        _check_content(question.content)
        if self.is_stopping():
            raise ReplicaStopping
        new = self._prepare(question)
        async with self.store.begin() as tx:
            _check_ground(await read_chat_ground(tx, question.session_id), question.session_id)
            asked = await insert_question(tx, new)
        if asked is None:
            raise Conflict("a question about this session is being answered; ask again when it is, or cancel it")
        return self._tell(new, asked)

    def _prepare(self, question: Question) -> NewQuestion:
        masked = self.mask(question.content)
        return NewQuestion(
            session_id=question.session_id,
            chat_id=new_id(),
            message_id=new_id(),
            stage_id=new_id(),
            event_id=new_id(),
            text_id=new_id(),
            content=masked.text,
            author=question.author,
            is_authenticated=question.is_authenticated,
            selected_resources=read_selected(question.selected_resources, mask=self.mask),
            warnings=[f"masking pattern {name} failed on a question and was skipped" for name in masked.skipped],
        )

    def _tell(self, new: NewQuestion, asked: Asked) -> AcceptedQuestion:
        self.flusher.advance(new.session_id, asked.seq)
        self.waker.wake()
        return AcceptedQuestion(chat_id=asked.chat_id, message_id=new.message_id, stage_id=new.stage_id)


def _check_content(content: str) -> None:
    if not content.strip():
        raise Invalid("content must hold the question", field="content")
    size = len(content.encode("utf-8", "surrogatepass"))
    if size > QUESTION_LIMIT:
        raise Invalid(f"content has {size} bytes and may have {QUESTION_LIMIT}", field="content")


def _check_ground(ground: ChatGround | None, session_id: UUID) -> None:
    if ground is None:
        raise NotFound("session", session_id)
    if ground.status not in _ASKABLE:
        allowed = ", ".join(_ASKABLE)
        raise Invalid(f"questions can be asked about a session that is {allowed}; this one is {ground.status}")
    if not ground.chat_enabled:
        raise Invalid("chat is switched off for this session's chain")
