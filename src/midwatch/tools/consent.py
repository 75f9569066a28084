"""Asking a person: what the gate hands over when code alone may not let a call pass, and what it is told."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Protocol, final
from uuid import UUID

from midwatch.domain.tools import Refusal, ToolCall, ToolDefinition, ToolResult, Waiting
from midwatch.kit.ids import new_id
from midwatch.kit.json import encode_text
from midwatch.safety.approvals import (
    Approval,
    ApprovalState,
    NamedFile,
    Subject,
    ask,
    describe_identity,
    describe_origin,
    describe_request,
    refuse_answer,
    use,
)
from midwatch.safety.kinds import KindVerdict
from midwatch.safety.pins import take_fingerprint
from midwatch.safety.questions import AskedCall, NewApproval
from midwatch.safety.refusals import Code, build_refusal
from midwatch.safety.resources import Resource
from midwatch.safety.rules import Ask
from midwatch.safety.session import SessionSafety
from midwatch.safety.shell.verdict import Risk
from midwatch.safety.targets import Target
from midwatch.tools.contents import MOST, NamedContent, NamedContents, read_digest

_WHY_PINNED: Final = "approval"
_PLAINLY: Final = "Write the command more plainly, with each file by its name, or with the content itself in the call."


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentRequest:
    """A call as it would run."""

    call: ToolCall
    """Its arguments are those that would be sent."""
    tool: ToolDefinition
    arguments: Mapping[str, Any]
    targets: tuple[Target, ...]
    kind: KindVerdict
    risk: Risk | None
    decision: Ask
    safety: SessionSafety
    """Knows the resources behind the targets."""
    contents: NamedContents = field(default_factory=NamedContents)
    """Files that decide what it does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Granted:
    """A person said yes to this very call. It counts only once it is consumed with the call's start."""

    approval_id: UUID
    digest: bytes


Look = Callable[[ToolCall], Awaitable[ToolResult | None]]
"""Puts a call that code asks for through the gate: it must turn out to be a look, and what it finds is learnt.
No model reads its result, and whatever comes of it, nothing is raised but what ends the run. None when it was not sent.
"""


class Consent(Protocol):
    async def recall(self, call: ToolCall, safety: SessionSafety, *, look: Look) -> Waiting | Refusal | None:
        """Called first of all for every call, before its arguments are read and its targets are identified.

        For a call that was waiting for a person when this run began: that it waits still, the no that it was answered
        with, or None after a yes, when what the yes was given to has been looked up again. None for any other call.
        """
        ...

    async def seek(self, request: ConsentRequest, *, look: Look) -> Granted | Waiting | Refusal:
        """Finds what a person said to the call, or asks and says that it waits. Raises LeaseLost.

        Asked only about what nothing else stands against. Files that decide what it does are looked at each time.
        """
        ...


@final
class NoConsent:
    """There is nobody to ask."""

    async def recall(self, call: ToolCall, safety: SessionSafety, *, look: Look) -> Waiting | Refusal | None:
        """Nobody has said anything."""

    async def seek(self, request: ConsentRequest, *, look: Look) -> Granted | Waiting | Refusal:  # noqa: ARG002 - nobody asks
        return build_refusal(request.decision.code, request.decision.reason, details={"rule": request.decision.rule})


class ApprovalJournal(Protocol):
    def has_waited(self, call_id: UUID) -> bool:
        """Whether the call was waiting for a person when this run took it up."""
        ...

    async def find(self, call_id: UUID) -> AskedCall: ...

    async def request(self, new: NewApproval) -> None:
        """Commits the question, and that the call waits for its answer. Raises LeaseLost."""
        ...

    def open_look(self, tool: str, arguments: str) -> ToolCall:
        """A call that code asks for: recorded, and read by no model."""
        ...


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalConsent:
    """Asks a person, who decides later and elsewhere: nobody stands by for the answer."""

    journal: ApprovalJournal
    expire_after: timedelta
    users: Mapping[str, str]
    """By server: as whom its program runs, where the operator said so."""

    async def recall(self, call: ToolCall, safety: SessionSafety, *, look: Look) -> Waiting | Refusal | None:
        if not self.journal.has_waited(call.call_id):
            return None
        asked = await self.journal.find(call.call_id)
        approval = asked.approval
        if approval is None:
            return None
        if approval.state_at(asked.now) is ApprovalState.WAITING:
            return Waiting(call_id=call.call_id, approval_id=approval.approval_id)
        refusal = refuse_answer(approval, now=asked.now)
        if refusal is None:
            await self._look_again(asked, safety, look=look)
        return refusal

    async def seek(self, request: ConsentRequest, *, look: Look) -> Granted | Waiting | Refusal:
        asked = await self.journal.find(request.call.call_id)
        approval = asked.approval
        if approval is not None and approval.state_at(asked.now) is ApprovalState.WAITING:
            return Waiting(call_id=request.call.call_id, approval_id=approval.approval_id)
        refusal = None if approval is None else refuse_answer(approval, now=asked.now)
        if refusal is not None:
            return refusal
        files = await self._read_files(request, look=look)
        if isinstance(files, Refusal):
            return files
        subject = self._describe(request, files)
        if approval is None:
            return await self._ask(request, subject, asked=asked)
        used = use(approval, subject, now=asked.now)
        return used if isinstance(used, Refusal) else Granted(approval_id=used.approval_id, digest=used.digest)

    async def _read_files(self, request: ConsentRequest, *, look: Look) -> tuple[NamedFile, ...] | Refusal:
        named = request.contents
        if named.unclear is not None or len(named.files) > MOST:
            part = named.unclear or f"it names more than {MOST} files"
            return build_refusal(
                Code.NOT_APPROVABLE,
                f"it cannot be told which files decide what the command does: {part}",
                hint=_PLAINLY,
                details={"files": [file.path for file in named.files]},
            )
        return tuple([await self._read_file(request, file, look=look) for file in named.files])

    async def _read_file(self, request: ConsentRequest, file: NamedContent, *, look: Look) -> NamedFile:
        if file.asking is None:
            return NamedFile(path=file.path, digest=None)
        call = self.journal.open_look(request.tool.full_name, encode_text(file.asking))
        return NamedFile(path=file.path, digest=read_digest(await look(call)))

    async def _look_again(self, asked: AskedCall, safety: SessionSafety, *, look: Look) -> None:
        """What was resolved when the question was asked is found anew by the same calls, or it is not there any more.

        What had been looked at by its name alone has been looked at still: a person has judged since.
        """
        origins = {(origin["tool"], origin["arguments"]): None for each in asked.targets if (origin := each["origin"])}
        for tool, arguments in origins:
            await look(self.journal.open_look(tool, arguments))
        ids = [each["identity"]["id"] for each in asked.targets]
        safety.machine.see(each["identity"]["id"] for each in asked.targets if "kind" not in each["identity"])
        for target in ids:
            safety.context.pin(target, why=_WHY_PINNED)

    async def _ask(self, request: ConsentRequest, subject: Subject, *, asked: AskedCall) -> Waiting | Refusal:
        question = _phrase(subject, now=asked.now, expire_after=self.expire_after)
        if isinstance(question, Refusal):
            return question
        shown = describe_request(
            subject,
            question,
            verdict=_describe_verdict(request),
            kind=request.kind.kind,
            risk=request.risk,
            models_words=asked.models_words,
        )
        for target in request.targets:
            request.safety.context.pin(target.id, why=_WHY_PINNED)
        await self.journal.request(
            NewApproval(
                approval=question,
                request=shown,
                targets=[
                    {"identity": describe_identity(each), "origin": describe_origin(each)} for each in subject.targets
                ],
                target_ids=[target.id for target in request.targets],
                verdict=_describe_verdict(request),
            )
        )
        return Waiting(call_id=question.call_id, approval_id=question.approval_id)

    def _describe(self, request: ConsentRequest, files: tuple[NamedFile, ...]) -> Subject:
        tool = request.tool
        return Subject(
            call_id=request.call.call_id,
            server=tool.server,
            tool=tool.name,
            definition=take_fingerprint(tool),
            arguments=request.arguments,
            targets=tuple(_resolve(target, request.safety) for target in request.targets),
            executor=f"mcp:{tool.server}",
            user=self.users.get(tool.server, ""),
            files=files,
        )


def _resolve(target: Target, safety: SessionSafety) -> Resource | str:
    found = safety.context.find(target.id)
    return found if isinstance(found, Resource) else target.id


def _phrase(subject: Subject, *, now: datetime, expire_after: timedelta) -> Approval | Refusal:
    try:
        return ask(subject, approval_id=new_id(), now=now, expire_after=expire_after)
    except (TypeError, ValueError):
        return build_refusal(
            Code.NOT_APPROVABLE,
            "its arguments cannot be written down exactly, so nobody can be asked",
            details={"files": []},
        )


def _describe_verdict(request: ConsentRequest) -> dict[str, Any]:
    kind, decision = request.kind, request.decision
    facts = {"kind": kind.kind, "proven": kind.proven, "rule": kind.rule, "risk": request.risk}
    asked = {"policy_rule": decision.rule, "policy_code": decision.code, "policy_reason": decision.reason}
    return {name: fact for name, fact in {**facts, **asked}.items() if fact is not None}
