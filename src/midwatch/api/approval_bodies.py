"""Questions to a person over the wire, what is decided, and the emergency stop."""

from datetime import datetime
from typing import Any, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from midwatch.domain.tools import CallState
from midwatch.intake.decide_approval import LONGEST_REASON
from midwatch.kit import json
from midwatch.masking.mask import mask_shown
from midwatch.safety.approvals import ApprovalState
from midwatch.store.driver import Row
from midwatch.store.stops import Stop


class DecisionIn(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    reason: str = Field(default="", max_length=LONGEST_REASON, description="The model reads it when the answer is no")


class StopIn(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    reason: str = Field(
        max_length=LONGEST_REASON, description="Why, for whoever finds it stopped", json_schema_extra={"pattern": r"\S"}
    )


class LiftIn(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    reason: str = Field(default="", max_length=LONGEST_REASON)


class RunsAs(BaseModel):
    executor: str = Field(description="What runs the call, such as mcp:<server>")
    user: str = Field(description="Empty: as the operator's configuration has it")
    folder: str


class NamedFileOut(BaseModel):
    """A file that decides what the call does. The yes is void when it has changed by then."""

    path: str
    sha256: str


class ModelsWords(BaseModel):
    text: str = Field(description="What the model said when it asked for the call. A claim, and no fact")
    trusted: bool


class ApprovalOut(BaseModel):
    """A call that a person is asked about, whole, as it would run."""

    approval_id: UUID
    session_id: UUID
    stage_id: UUID
    execution_id: UUID
    call_id: UUID
    call_state: CallState
    state: ApprovalState
    server_name: str
    tool_name: str
    arguments: dict[str, Any] = Field(description="With secrets masked; what is sent is what the digest was taken of")
    has_hidden_characters: bool = Field(description="Something in the arguments does not look like what it is")
    kind: str
    risk: str = Field(description="low, medium, high or unknown; read_only for what only reads")
    rule: str | None = Field(description="What decided that a person is asked")
    verdict: dict[str, Any]
    targets: list[dict[str, Any]] = Field(description="What it acts on, as it was resolved")
    runs_as: RunsAs
    files: list[NamedFileOut]
    models_words: ModelsWords
    digest: str = Field(description="Of everything that decides the effect")
    requested_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    reason: str | None
    consumed_at: datetime | None = Field(description="When the call was started with this yes")

    @classmethod
    def from_row(cls, row: Row) -> Self:
        request: dict[str, Any] = _mask(json.decode(row["request"]))
        own = ("approval_id", "session_id", "stage_id", "execution_id", "call_id", "call_state")
        decided = ("requested_at", "expires_at", "decided_at", "decided_by", "reason", "consumed_at")
        return cls.model_validate(
            request
            | {name: row[name] for name in (*own, *decided)}
            | {"state": _state_of(row), "rule": request["verdict"].get("policy_rule")}
        )


class ApprovalsOut(BaseModel):
    approvals: list[ApprovalOut]


class StopOut(BaseModel):
    active: bool
    reason: str | SkipJsonSchema[None] = None
    declared_by: str | SkipJsonSchema[None] = None
    declared_at: datetime | SkipJsonSchema[None] = None

    @classmethod
    def from_stop(cls, stop: Stop | None) -> Self:
        if stop is None:
            return cls(active=False)
        return cls(active=True, reason=stop.reason, declared_by=stop.declared_by, declared_at=stop.declared_at)


class StoppedOut(StopOut):
    cancelled_calls: list[UUID] = Field(description="Changes that were on their way, and are given up on")


def _mask(request: dict[str, Any]) -> dict[str, Any]:
    words: dict[str, Any] = request["models_words"]
    arguments = mask_shown(json.encode_text(request["arguments"]))
    try:
        shown = json.decode(arguments)
    except ValueError:
        shown = {"masked": arguments}
    files = [file | {"path": mask_shown(file["path"])} for file in request["files"]]
    return request | {"arguments": shown, "files": files, "models_words": words | {"text": mask_shown(words["text"])}}


def _state_of(row: Row) -> ApprovalState:
    """Silence is a no, also before anybody has written it down."""
    state = ApprovalState(row["state"])
    is_late = state is ApprovalState.WAITING and row["now"] >= row["expires_at"]
    return ApprovalState.EXPIRED if is_late else state
