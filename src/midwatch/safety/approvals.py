"""A person's yes: to one call and everything that decides its effect, used once, and not for ever."""

import hashlib
import json
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, cast
from uuid import UUID

from midwatch.domain.tools import Refusal, ToolKind
from midwatch.safety.refusals import Code, build_refusal
from midwatch.safety.resources import Resource
from midwatch.safety.shell.verdict import Risk

FORMAT: Final = 1
"""Of what is hashed. A yes that was given to another format is stale."""
_LONGEST_REASON: Final = 2000
_BIDI_AND_HIDDEN: Final = ("Cc", "Cf", "Co", "Cs", "Zl", "Zp")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedFile:
    """A file whose content is part of what a call does."""

    path: str
    digest: str | None
    """Of its content; None when it could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Everything that decides what a call does. A yes is given to this, not to words about it."""

    call_id: UUID
    server: str
    tool: str
    definition: str
    """The fingerprint of the tool as its server describes it."""
    arguments: Mapping[str, Any]
    targets: tuple[Resource | str, ...]
    """As they were resolved; a target that is no resource, by its id."""
    executor: str = ""
    user: str = ""
    folder: str = ""
    files: tuple[NamedFile, ...] = ()


class ApprovalState(StrEnum):
    WAITING = "waiting"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


_NOS: Final[Mapping[ApprovalState, tuple[Code, str]]] = {
    ApprovalState.WAITING: (Code.APPROVAL_REQUIRED, "nobody has decided yet"),
    ApprovalState.DENIED: (Code.APPROVAL_DENIED, "a person said no"),
    ApprovalState.EXPIRED: (Code.APPROVAL_EXPIRED, "nobody said yes in time"),
    ApprovalState.CANCELLED: (Code.APPROVAL_DENIED, "the question was taken back before anybody answered"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """Times are the database's."""

    approval_id: UUID
    call_id: UUID
    parts: Mapping[str, str]
    """What was hashed, piece by piece, so that it can be said what has changed."""
    digest: bytes
    requested_at: datetime
    expires_at: datetime
    state: ApprovalState = ApprovalState.WAITING
    decided_at: datetime | None = None
    decided_by: str | None = None
    reason: str | None = None
    consumed_at: datetime | None = None

    def state_at(self, now: datetime) -> ApprovalState:
        """Silence is a no, also before anybody has written it down."""
        is_late = self.state is ApprovalState.WAITING and now >= self.expires_at
        return ApprovalState.EXPIRED if is_late else self.state

    @property
    def usable_until(self) -> datetime | None:
        """A yes lasts as long as the question did, from when it was given."""
        if self.state is not ApprovalState.APPROVED or self.decided_at is None:
            return None
        return self.decided_at + (self.expires_at - self.requested_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecidable:
    """The question is no longer open."""

    state: ApprovalState


def refuse_unapprovable(subject: Subject) -> Refusal | None:
    """Nobody can say yes to what they cannot be shown, or to what may be another thing by the time it runs."""
    unread = [file.path for file in subject.files if file.digest is None]
    if not unread:
        return None
    return build_refusal(
        Code.NOT_APPROVABLE,
        f"the content of {', '.join(unread)} decides what this call does, and it cannot be shown",
        details={"files": unread},
    )


def take_parts(subject: Subject) -> dict[str, str]:
    """A hash of each thing that decides the effect. Raises ValueError for what is not approvable."""
    if refuse_unapprovable(subject) is not None:
        raise ValueError("not approvable: the content of a file is not known")
    pieces: dict[str, Any] = {
        "call": str(subject.call_id),
        "server": subject.server,
        "tool": subject.tool,
        "definition": subject.definition,
        "arguments": dict(subject.arguments),
        "executor": subject.executor,
        "user": subject.user,
        "folder": subject.folder,
        "targets": sorted((describe_identity(target) for target in subject.targets), key=lambda each: each["id"]),
        "files": sorted((file.path, file.digest) for file in subject.files),
    }
    return {name: _hash(piece).hex() for name, piece in pieces.items()}


def take_digest(parts: Mapping[str, str]) -> bytes:
    return _hash({"format": FORMAT, "parts": dict(parts)})


def describe_identity(target: Resource | str) -> dict[str, Any]:
    """What must be the same thing when the call runs: kept with the approval, resolved again by code before."""
    if isinstance(target, str):
        return {"id": target}
    return {"id": target.id, "kind": target.kind, "uid": target.uid, "host": target.host, "parent": target.parent}


def describe_origin(target: Resource | str) -> dict[str, str] | None:
    """The call by which code can look the target up again, beside its identity."""
    origin = None if isinstance(target, str) else target.origin
    return None if origin is None else {"tool": origin.tool, "arguments": origin.arguments}


def ask(subject: Subject, *, approval_id: UUID, now: datetime, expire_after: timedelta) -> Approval | Refusal:
    refusal = refuse_unapprovable(subject)
    if refusal is not None:
        return refusal
    parts = take_parts(subject)
    return Approval(
        approval_id=approval_id,
        call_id=subject.call_id,
        parts=parts,
        digest=take_digest(parts),
        requested_at=now,
        expires_at=now + expire_after,
    )


def decide(
    approval: Approval, *, is_approved: bool, by: str, now: datetime, reason: str = ""
) -> Approval | Undecidable:
    """Once, in time, by somebody who has a name."""
    if not by.strip():
        raise ValueError("a decision has somebody who made it")
    state = approval.state_at(now)
    if state is not ApprovalState.WAITING:
        return Undecidable(state=state)
    decided = ApprovalState.APPROVED if is_approved else ApprovalState.DENIED
    return replace(approval, state=decided, decided_at=now, decided_by=by, reason=reason)


def use(approval: Approval, subject: Subject, *, now: datetime) -> Approval | Refusal:
    """The approval as used up, if it is a yes to this very call as it would run now."""
    refusal = refuse_answer(approval, now=now) or refuse_unapprovable(subject) or _refuse_changed(approval, subject)
    return replace(approval, consumed_at=now) if refusal is None else refusal


def describe_request(
    subject: Subject,
    approval: Approval,
    *,
    verdict: Mapping[str, Any],
    kind: ToolKind,
    risk: Risk | None,
    models_words: str,
) -> dict[str, Any]:
    """What a person is shown: the whole call as it will run, and the model's words as just that."""
    return {
        "approval_id": str(approval.approval_id),
        "call_id": str(approval.call_id),
        "server_name": subject.server,
        "tool_name": subject.tool,
        "arguments": dict(subject.arguments),
        "has_hidden_characters": _has_hidden(subject.arguments),
        "kind": kind,
        "risk": "unknown" if risk is None else risk,
        "verdict": dict(verdict),
        "targets": [describe_identity(target) | {"name": _name_of(target)} for target in subject.targets],
        "runs_as": {"executor": subject.executor, "user": subject.user, "folder": subject.folder},
        "files": [{"path": file.path, "sha256": file.digest} for file in subject.files],
        "models_words": {"text": show_plainly(models_words)[:_LONGEST_REASON], "trusted": False},
        "digest": approval.digest.hex(),
        "requested_at": approval.requested_at.isoformat(),
        "expires_at": approval.expires_at.isoformat(),
    }


def show_plainly(text: str) -> str:
    """Characters that cannot be seen, or that turn the writing round, as their numbers."""
    return "".join(character if _is_plain(character) else f"\\u{{{ord(character):x}}}" for character in text)


def _has_hidden(arguments: Mapping[str, Any]) -> bool:
    """Whether something in the call does not look like what it is."""
    return any(show_plainly(text) != text for text in _texts_in(arguments))


def _texts_in(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, Any]", value)
        return [*fields, *(text for item in fields.values() for text in _texts_in(item))]
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [text for item in items for text in _texts_in(item)]


def _is_plain(character: str) -> bool:
    return character in "\n\t" or unicodedata.category(character) not in _BIDI_AND_HIDDEN


def _name_of(target: Resource | str) -> str:
    return show_plainly(target if isinstance(target, str) else target.shown_as)


def refuse_answer(approval: Approval, *, now: datetime) -> Refusal | None:
    """Whatever the call would do by now: the answer is no, or none, or no longer a yes."""
    state = approval.state_at(now)
    if state is ApprovalState.APPROVED:
        return _refuse_spent(approval, now)
    code, reason = _NOS[state]
    return build_refusal(code, f"{reason}{_quote(approval.reason)}")


def _refuse_spent(approval: Approval, now: datetime) -> Refusal | None:
    if approval.consumed_at is not None:
        return build_refusal(Code.APPROVAL_STALE, "the yes was used before", details={"changed": ["used"]})
    if approval.usable_until is None or now >= approval.usable_until:
        return build_refusal(Code.APPROVAL_EXPIRED, "the yes is too old to be used")
    return None


def _refuse_changed(approval: Approval, subject: Subject) -> Refusal | None:
    parts = take_parts(subject)
    if take_digest(parts) == approval.digest:
        return None
    changed = [name for name, digest in parts.items() if approval.parts.get(name) != digest]
    return build_refusal(
        Code.APPROVAL_STALE,
        f"what was approved is not what would run: {', '.join(changed) or 'format'}",
        details={"changed": changed},
    )


def _quote(reason: str | None) -> str:
    return f": {show_plainly(reason)[:_LONGEST_REASON]}" if reason else ""


def _hash(value: Any) -> bytes:
    """The same for the same meaning, in whatever order keys are written, and for nothing else."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).digest()
