"""Questions about a session over the wire, and what whoever asks is told."""

from collections.abc import Sequence
from datetime import datetime
from typing import Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from midwatch.api.queue_bodies import LeaseOut, PlaceOut, lease_of, place_of
from midwatch.api.selected_resources import SelectedResources
from midwatch.domain.session import WorkStatus
from midwatch.intake.ask_question import QUESTION_LIMIT
from midwatch.queue.places import Standing
from midwatch.store.chats import StoredQuestion


class QuestionIn(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    content: str = Field(
        description=f"The question: not blank, and at most {QUESTION_LIMIT} bytes", json_schema_extra={"pattern": r"\S"}
    )
    selected_resources: SelectedResources = None


class QuestionAccepted(BaseModel):
    chat_id: UUID
    message_id: UUID
    stage_id: UUID = Field(description="The stage in which the question is answered")


class QuestionOut(BaseModel):
    message_id: UUID
    stage_id: UUID
    status: WorkStatus = Field(description="Of the answer")
    content: str
    selected_resources: list[str] = Field(description="What whoever asked has picked besides")
    author: str
    created_at: datetime
    error_message: str | None = Field(description="Why there is no answer")
    attempts: int = Field(description="Take-overs of the answer in a row, without progress between them")
    resumed_at: list[datetime] = Field(description="When the answer went on after an interruption")
    queue: PlaceOut | None = Field(default=None, description="While it waits for a slot: where it stands, and why")
    lease: LeaseOut | None = Field(default=None, description="While it is answered: who has it in hand")


class QuestionsOut(BaseModel):
    chat_id: UUID | None = Field(description="Null when nobody has asked yet")
    messages: list[QuestionOut]

    @classmethod
    def from_questions(cls, questions: Sequence[StoredQuestion], standing: Standing, *, cap: int) -> Self:
        """At most one of them is open, and that one stands there."""
        messages = [QuestionOut.model_validate(each, from_attributes=True) for each in questions]
        stands = {"queue": place_of(standing, cap=cap), "lease": lease_of(standing)}
        return cls(
            chat_id=questions[0].chat_id if questions else None,
            messages=[each if each.status.is_terminal else each.model_copy(update=stands) for each in messages],
        )
